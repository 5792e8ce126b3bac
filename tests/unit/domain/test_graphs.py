"""Names of pages and blocks in graphs of Logseq and Dendron."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.graphs import Graph, block_around, graph_from, read_graph, shown_title, title_case, written_day

LOGSEQ = Graph("___")
BLOCK = "60531c23-238e-4748-9b19-27088f9c3771"


@pytest.mark.parametrize(
    ("graph", "path", "name"),
    [
        (LOGSEQ, "pages/term___bullet.md", "term/bullet"),
        (LOGSEQ, "pages/a%2Fb%3F.md", "a/b?"),
        (LOGSEQ, "pages/a___.md", "a"),
        (Graph("."), "pages/a.b.md", "a/b"),
        (Graph("."), "pages/a%2Fb.md", "a/b"),
        (Graph(journal_title=""), "notes/a.b___c.md", "a.b___c"),
    ],
)
def test_a_file_names_its_page_as_its_program_has_it(graph: Graph, path: str, name: str) -> None:
    assert graph.page_name(Address(path)) == name


def test_all_names_of_a_day_are_one_name_and_others_count_in_any_case() -> None:
    names = ("Nov 29th, 2026", "nov 29th, 2026", "2026-11-29", "2026_11_29")
    assert {LOGSEQ.key(name) for name in names} == {"2026-11-29"}
    assert LOGSEQ.day("Nov 31st, 2026") is None
    assert LOGSEQ.key("/Term/Bullet") == LOGSEQ.key("term/bullet")
    assert Graph(journal_title="").key("2026-11-29") != Graph(journal_title="").key("2026_11_29")


@pytest.mark.parametrize("form", ["MMM do, yyyy", "EEEE, dd.MM.yyyy", "yyyy/MM/dd", "do MMMM yy", "E, M-d-yyyy"])
def test_a_day_is_read_as_it_is_written(form: str) -> None:
    for day in (date(2026, 11, 1), date(2026, 2, 22), date(2028, 2, 29), date(2026, 8, 13)):
        assert Graph("___", journal_title=form).day(written_day(day, form)) == day


def test_the_configuration_is_read_without_its_comments() -> None:
    config = (
        '{;; :file/name-format :legacy\n :file/name-format :triple-lowbar\n :hidden ["/x" "y.md"] ; ["z"]\n'
        ' :journal/page-title-format "EEE; yyyy"}'
    )
    graph = read_graph(config)
    assert graph == Graph("___", journal_title="EEE; yyyy", hidden=("x", "y.md"))
    assert graph.hides(Address("sub/x/a.md"), "sub")
    assert not graph.hides(Address("sub/xx.md"), "sub")
    assert read_graph("{}").slashes == "."
    assert graph_from({"slashes": "___", "hidden": ["a"]}) == Graph("___", hidden=("a",))


def test_a_block_is_its_bullet_with_the_bullets_below_it() -> None:
    text = f"- one\n- two\n  id:: {BLOCK}\n\t- three\n\n\t  still three\n- four\n".encode()
    start, end = block_around(text, text.index(b"  id::"))
    assert text[start:end].decode() == f"- two\n  id:: {BLOCK}\n\t- three\n\n\t  still three\n"
    page = f"id:: {BLOCK}\n\n- one\n".encode()
    assert block_around(page, 0) == (0, len(page))
    found = Fragments(read_document(Address("a.md"), text)).find(f"^{BLOCK.upper()}")
    assert found is not None
    assert found[:2] == (start, end)


def test_a_name_gets_the_file_that_names_it() -> None:
    for graph in (LOGSEQ, Graph(".")):
        for name in ("a/b", "What? 100%", "v1.2", "Nov 29th, 2026"):
            path = graph.path_of(name)
            assert graph.key(graph.page_name(Address(f"{path}.md"))) == graph.key(name), path
    assert LOGSEQ.path_of("a/b") == "pages/a___b"
    assert LOGSEQ.path_of("2026-11-29") == "journals/2026_11_29"


def test_the_names_above_a_name_are_stubs_in_dendron_alone() -> None:
    assert list(Graph(journal_title="").stubs(Address("a.b.c.md"))) == ["a.b", "a"]
    assert list(LOGSEQ.stubs(Address("a.b.c.md"))) == []
    assert "pages/a___b.org" in LOGSEQ.other_files("a/b", "")


SHOWN = {
    "actors/iran": "Actors/Iran",
    "lang/c#": "Lang/C#",
    "it's so": "It's So",
    "'tis": "'tis",
    "straße und ßx": "Straße Und ßx",
    "o'neil's 2nd page": "O'neil's 2Nd Page",
    "my-page_two": "My-Page_Two",
    "ﬁnd": "Find",
    "ǆ x": "ǅ X",
    "actors/API design": "Actors/API design",
    "3d 日本 page": "3D 日本 Page",
}
"""What `otterwiki.helper.get_pagename(…, full=True)` of Otterwiki 2.26.1 returned."""


def test_the_rule_is_that_of_otterwiki() -> None:
    assert {path: title_case(path) for path in SHOWN} == SHOWN


def test_a_title_is_shown_in_title_case_if_it_is_the_name_of_the_file() -> None:
    assert shown_title("iran", "actors/iran.md") == "Iran"
    assert shown_title("south egypt", "middle east/south egypt.markdown") == "South Egypt"
    assert shown_title("IRAN", "actors/iran.md") == "IRAN"
    assert shown_title("the old land", "egypt.md") == "the old land"
