"""The overview and links of a folder in few lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import IndexingError, InvalidInputError, NotFoundError
from commonplace.domain.tokens import tokens_of
from commonplace.faces.mcp.toolset import Call
from commonplace.services.collections import Collections
from commonplace.services.findings import collection_issues
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp.orientation import links, overview
from commonplace.toolsets.notes.mcp.parameters import NotesLinks, NotesOverview
from indexed import Indexed

FILES = {
    "README.md": "# Tea\n\nAll about tea.\n",
    "kinds/green.md": "---\ntype: Tea\ntags: [hot]\n---\n# Green tea\n\nLike [[black]] and [[missing]].\n",
    "kinds/black.md": "# Black tea\n\nSee [[white]].\n",
    "kinds/white.md": "# White tea\n",
    "notes.md": "# Notes\n\nToday green tea again.\n",
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Indexed]]:
    with ExitStack() as stack:
        places: list[Path] = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
        yield [stack.enter_context(Indexed(place, files)) for place, files in zip(places, (FILES, {}), strict=True)]


def call_on(*bases: tuple[str, Indexed]) -> Call:
    members = [replace(base.collection, name=name) for name, base in bases]
    services = Services(collections=Collections(lambda: members))
    return Call(services=services, tier="read", progress=lambda _done, _total: None)


@pytest.fixture
def call(bases: list[Indexed]) -> Call:
    return call_on(("tea", bases[0]))


def told(call: Call, **more: object) -> str:
    return str(overview(call, NotesOverview.model_validate(more)))


def linked(call: Call, **more: object) -> list[str]:
    return str(links(call, NotesLinks.model_validate(more))).splitlines()[:-1]


def test_a_folder_is_told_by_its_purpose_its_parts_and_what_is_to_be_mended(call: Call) -> None:
    found_text = told(call)
    assert found_text.startswith("tea: 5 pages")
    for line in ("About (README.md): All about tea.", "Types: Tea 1", "Tags: hot 1", "broken_link 1"):
        assert line in found_text


def test_a_part_of_a_folder_is_told_alone_and_an_empty_one_says_so(call: Call, bases: list[Indexed]) -> None:
    assert told(call, folder="kinds").startswith("kinds/: 3 pages")
    with pytest.raises(NotFoundError, match="There is no folder 'none/'"):
        told(call, folder="none")
    assert "No pages yet." in told(call_on(("empty", bases[1]))) or "empty: 0 pages" in told(
        call_on(("empty", bases[1]))
    )


def test_each_of_several_folders_has_its_share(bases: list[Indexed]) -> None:
    found_text = told(call_on(("tea", bases[0]), ("more", bases[0])), max_tokens=200)
    assert "tea: 5 pages" in found_text
    assert "more: 5 pages" in found_text
    assert tokens_of(found_text) <= 200


def test_links_of_a_page_go_out_come_in_are_wanted_or_only_named(call: Call) -> None:
    found_texts = linked(call, page="kinds/green")
    assert any(line.startswith("-> kinds/black.md") for line in found_texts)
    assert "?? missing (not there)" in found_texts
    assert any(line.startswith("~ notes.md names it without a link") for line in found_texts)
    assert linked(call, page="kinds/black", kind="in")[1].startswith("<- kinds/green.md")
    assert linked(call, page="notes", kind="out") == ["notes.md: links", "none"]


def test_wanted_pages_of_the_whole_base_name_who_wants_them(call: Call) -> None:
    assert linked(call) == ["Wanted pages (linked to, not there): 1", "missing <- kinds/green.md"]
    with pytest.raises(InvalidInputError, match="needs a page"):
        linked(call, kind="in")


def test_the_shortest_path_and_the_neighbours_are_told(call: Call) -> None:
    assert linked(call, page="kinds/green", to="kinds/white") == [
        "kinds/green.md",
        "-> kinds/black.md",
        "-> kinds/white.md",
    ]
    assert linked(call, page="kinds/green", to="notes") == ["No links lead from one page to the other."]
    assert linked(call, page="kinds/white", depth=2)[1:] == [
        "1 kinds/black.md (Black tea)",
        "2 kinds/green.md (Green tea)",
    ]


def test_pages_of_two_folders_have_no_path(bases: list[Indexed]) -> None:
    call = call_on(("tea", bases[0]), ("more", bases[0]))
    with pytest.raises(InvalidInputError, match="different folders"):
        linked(call, page="tea:notes", to="more:notes")


def test_broken_links_are_counted_as_the_checks_count_them(tmp_path: Path) -> None:
    files = {"a.md": "# A\n\n[[no]] [[No]] [[no#part]] [x](no.md)\n\n[[other]]\n", "b.md": "# B\n\n[[no]] [[a]]\n"}
    with Indexed(tmp_path, files) as base:
        collections = Collections(lambda: [base.collection])
        issues = [issue for issue in collection_issues(collections, base.collection) if issue.rule == "broken_link"]
        assert len(issues) == 4
        assert "broken_link 4 (a.md:3)" in told(call_on(("links", base)))


def test_a_page_that_has_only_some_words_of_a_title_does_not_name_it(tmp_path: Path) -> None:
    files = {
        "plan.md": "---\naliases: [Garden beds of spring]\n---\n# Garden plan 2024/25: beds\n",
        "words.md": "# Words\n\nThe garden plan of 2024 has beds.\n",
    }
    with Indexed(tmp_path, files) as base:
        assert linked(call_on(("garden", base)), page="plan", kind="mentions")[1:] == ["none"]
        base.update("named.md", "# Named\n\nSee the garden plan 2024/25: beds.\n")
        found_texts = linked(call_on(("garden", base)), page="plan", kind="mentions")[1:]
        assert found_texts == ["~ named.md names it without a link: See the garden plan 2024/25: beds."]


def test_an_overview_of_an_unfinished_index_says_how_far_it_is(
    bases: list[Indexed], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[overview.__module__]  # the package has a placeholder of that name
    monkeypatch.setattr(module, "BUILDING_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(module, "PAST_READY_SECONDS", 0.01)
    collection = replace(bases[0].collection, name="tea", index=bases[0].another())  # not synchronized yet
    services = Services(collections=Collections(lambda: [collection]))
    call = Call(services=services, tier="read", progress=lambda _done, _total: None)
    found_text = told(call)
    assert found_text.startswith("tea: The index is still being built")
    assert "\nFolders: kinds\nPages at the top: README.md, notes.md\nNext: overview {}" in found_text
    with pytest.raises(IndexingError):
        overview(call, NotesOverview(at="yesterday"))
    collection.index.close()


def test_links_to_a_heading_that_is_gone_are_marked(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "[[b#Gone]] and [[b#Here]]\n", "b.md": "# B\n\n## Here\n\nx\n"}) as base:
        for page, line in (("a", "-> b.md [not there: #Gone]"), ("b", "<- a.md [not there: #Gone]")):
            assert line in str(links(call_on(("base", base)), NotesLinks(page=page)))
