"""Suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cases import each_case
from commonplace.domain.query import Filter
from commonplace.faces.cli.filters import MAX_NAMED, nearest, unknown_values
from commonplace.services.collections import Collection
from indexed import Indexed

FILES = {
    "notes/a.md": "---\ntype: Note\ntags: [Project/alpha, tea]\nstatus: open\n---\n# A\n",
    "plans/b.md": "---\ntype: plan\nstatus: [done, open]\n---\n# B\n",
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Indexed(tmp_path_factory.mktemp("suggested"), FILES) as base:
        yield Collection("base", base.store, base.index)


@each_case(
    ("given", "known", "near"),
    [
        ("serach", ["search", "serve"], "search"),
        ("SEARCH", ["Search"], "Search"),
        ("caf\u00e9", ["cafe"], "cafe"),
        ("zzz", ["search"], ""),
        ("", ["a"], ""),
        ("a", [], ""),
    ],
)
def test_the_nearest_name_is_the_most_similar_one(given: str, known: list[str], near: str) -> None:
    assert nearest(given, known) == near


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        (Filter(), []),
        (Filter(types=("NOTE", "plan"), tags=("project", "#tea"), prefix="notes/", fields=(("Status", "OPEN"),)), []),
        (Filter(types=("noet",)), ["No page is of type 'noet'. Did you mean 'Note'?"]),
        (Filter(tags=("#prject/alpha",)), ["No page has the tag '#prject/alpha'. Did you mean 'Project/alpha'?"]),
        (Filter(prefix="note/"), ["No page is under 'note/'. Did you mean 'notes/'?"]),
        (Filter(fields=(("statsu", "open"),)), ["No page has the key 'statsu'. Did you mean 'status'?"]),
        (Filter(fields=(("status", "dne"),)), ["No page has status=dne. Did you mean 'done'?"]),
    ],
)
def test_each_part_of_a_filter_that_no_page_passes_is_named(
    collection: Collection, asked: Filter, lines: list[str]
) -> None:
    assert list(unknown_values([collection], asked)) == lines


def test_where_nothing_is_near_the_known_names_are_listed(collection: Collection) -> None:
    (line,) = unknown_values([collection], Filter(types=("xyz",)))
    assert line.startswith("No page is of type 'xyz'. There are: ")
    assert "Note" in line
    assert "plan" in line


def test_of_very_many_names_some_are_listed(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {f"{number}.md": f"---\ntype: kind{number}\n---\n" for number in range(MAX_NAMED + 3)}
    with Indexed(tmp_path_factory.mktemp("many"), files) as base:
        (line,) = unknown_values([Collection("base", base.store, base.index)], Filter(types=("q",)))
    assert line.count("kind") == MAX_NAMED
    assert line.endswith(", \u2026.")


def test_an_empty_folder_has_nothing_to_list(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Indexed(tmp_path_factory.mktemp("empty")) as base:
        lines = list(unknown_values([Collection("base", base.store, base.index)], Filter(types=("q",), tags=("t",))))
    assert lines == ["No page is of type 'q'.", "No page has the tag 't'."]
