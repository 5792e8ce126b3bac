"""Parts of documents, their outlines, and commits as people read them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, Commit
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.faces.web.messages import ENGLISH_WORDS
from commonplace.faces.web.shown import (
    MAX_OUTLINE,
    PART_BYTES,
    has_title_heading,
    local_graph,
    outline,
    parts,
    shown_commit,
)
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collection
from commonplace.services.site.documents import neighbours
from indexed import Indexed


def of(text: str | bytes) -> Document:
    return read_document(Address("a.md"), text.encode() if isinstance(text, str) else text)


def test_a_large_document_is_cut_before_headings() -> None:
    text = "".join(f"## Heading {number}\n\n{'word ' * 200}\n\n" for number in range(500))
    document = read_document(Address("large.md"), text.encode())

    document_parts = parts(document)

    assert document_parts[0].start == 0
    assert document_parts[-1].end == len(document.raw)
    assert all(a.end == b.start for a, b in pairwise(document_parts))
    assert all(part.end - part.start <= PART_BYTES for part in document_parts)
    assert all(document.raw[part.start :].startswith(b"## Heading") for part in document_parts)


@pytest.mark.parametrize("text", ["word\n\n" * 60_000, "word\n" * 70_000, "x" * 350_000, "\n\n" * 170_000])
def test_a_large_document_without_headings_is_cut_where_it_can_be(text: str) -> None:
    document_parts = parts(of(text))
    assert len(document_parts) >= 2
    assert "".join(text[part.start : part.end] for part in document_parts) == text
    assert all(0 < part.end - part.start <= PART_BYTES for part in document_parts)


def test_a_large_document_is_never_cut_inside_of_a_character() -> None:
    raw = ("x" + "潮🌊é" * 40_000).encode()
    document_parts = parts(of(raw))
    assert len(document_parts) > 2
    assert all(raw[part.start : part.end].decode() for part in document_parts)


@pytest.mark.parametrize("text", ["", "---\ntitle: x\n---\n", "short"])
def test_a_short_document_is_one_part_without_its_front_matter(text: str) -> None:
    document = of(text)
    (part,) = parts(document)
    assert (part.number, part.start, part.end) == (1, document.body_start, len(document.raw))


def test_an_outline_leads_to_the_part_that_holds_the_heading() -> None:
    document = of("# a\n\n## One\n\n" + "x\n\n" * 60_000 + "## Two\n\n### Deep\n")
    all_parts = parts(document)
    rows = outline(document, all_parts, 1, "/p/a")
    assert [(row.level, row.heading) for row in rows][-2:] == [
        (len(rows) and rows[-2].level, "Two"),
        (rows[-2].level + 1, "Deep"),
    ]
    assert rows[-2].url == f"/p/a?part={len(all_parts)}#two"
    assert outline(document, all_parts, len(all_parts), "/p/a")[-2].url == "#two"


def test_an_outline_of_very_many_headings_is_cut_and_says_so() -> None:
    document = of("".join(f"## H{number}\n\n" for number in range(MAX_OUTLINE + 1_000)))
    rows = outline(document, parts(document), 1, "/p/a")
    assert len(rows) == MAX_OUTLINE + 1
    assert rows[-1].heading == "\u2026 1,000 more"


@pytest.mark.parametrize(("text", "has"), [("# T\n", True), ("text\n\n# T\n", True), ("## T\n", False), ("", False)])
def test_a_title_that_the_text_has_is_not_added(text: str, has: bool) -> None:
    assert has_title_heading(of(text)) is has


def test_a_commit_is_shown_with_its_programs_apart() -> None:
    message = "Subject\n\nBody.\n\nCo-authored-by: Claude <c@x.example>\nco-authored-by:  Other \nAssisted-by: Third\n"
    shown = shown_commit(Commit("ab", Author("Ada", "a@x"), 5, message))
    assert (shown.subject, shown.body, shown.programs) == (
        "Subject",
        "Body.",
        ("with Claude", "with Other", "with Third"),
    )
    assert shown_commit(Commit("ab", Author("Ada", "a@x"), 5, "")).subject == ""


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Lotse", "Lotse"),
        ("Database outage in February", "Database outage…"),
        ("Donaudampfschifffahrt", "Donaudampfschifff…"),
    ],
)
def test_a_name_that_is_too_long_for_the_local_graph_ends_with_a_whole_word(
    tmp_path: Path, title: str, named: str
) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n\n[[b]]\n", "b.md": f"# {title}\n"}) as base:
        collection = Collection("base", base.store, base.index)
        record = base.index.find("a")
        assert record
        svg = local_graph(Urls("base"), collection, record, neighbours(collection, record.address), ENGLISH_WORDS)

    assert f">{named}</text>" in svg
    assert f"<title>{title}</title>" in svg
