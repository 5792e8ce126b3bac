"""Lists over one collection and several: one order, whole totals, and counts by property."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from cases import each_case
from commonplace.domain.query import Filter, ListQuery, Record, SortKey
from commonplace.services import listing
from commonplace.services.collections import Collection
from commonplace.services.listing import (
    MAX_NAMED,
    every_document,
    facets,
    list_documents,
    list_tags,
    nearest,
    property_values,
    unknown_values,
)
from indexed import Indexed


def page(title: str, day: str, *more: str) -> str:
    return "\n".join(["---", f"title: {title}", f"updated: {day}", *more, "---", "Text.", ""])


FIRST = {
    "b.md": page("Beta", "2026-01-02", "type: note", "tags: [x, y]", "status: open"),
    "a.md": page("alpha", "2026-01-02", "type: Note", "date: 2024-05-06"),
    "in/deep/z.md": page("Ärger", "2026-01-01", "tags: [X]", "status: [open, late]"),
}
SECOND = {"c.md": page("Alpha", "2026-01-02", "type: task", "tags: [x/sub]", "created: 2020-01-01"), "a.md": "# 文\n"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Collection]]:
    with ExitStack() as stack:
        bases = [stack.enter_context(Indexed(tmp_path_factory.mktemp("list"), files)) for files in (FIRST, SECOND)]
        yield [replace(base.collection, name=name) for base, name in zip(bases, ("one", "two"), strict=True)]


def shown(match: listing.DocumentList) -> list[tuple[str, str]]:
    return [(document.collection.name, document.record.address.path) for document in match.found]


def test_a_list_of_one_collection_is_that_of_its_index(both: list[Collection]) -> None:
    document_list = list_documents(both[:1], ListQuery(sort="title", limit=2))
    assert shown(document_list) == [("one", "a.md"), ("one", "b.md")]
    assert document_list.total == 3


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["path", "title", "type", "date", "created", "updated", "updated_day", "score"])
def test_several_collections_are_sorted_as_each_index_sorts_its_own(
    both: list[Collection], sort: SortKey, descending: bool
) -> None:
    query = ListQuery(sort=sort, descending=descending)
    found_pairs = shown(list_documents(both, query))
    assert len(found_pairs) == 5
    for collection in both:
        own = [record.address.path for record in collection.index.list(query).records]
        assert [path for name, path in found_pairs if name == collection.name] == own


def test_pages_of_several_collections_follow_each_other_without_gap_or_repetition(both: list[Collection]) -> None:
    whole = shown(list_documents(both, ListQuery(sort="updated")))
    paged = [list_documents(both, ListQuery(sort="updated", offset=offset, limit=2)) for offset in (0, 2, 4, 6)]
    assert [element for page in paged for element in shown(page)] == whole
    assert {page.total for page in paged} == {5}


def test_no_collections_have_no_documents() -> None:
    assert list_documents([], ListQuery()) == listing.DocumentList((), 0)
    assert list_tags([]) == []


def test_every_document_is_read_in_batches_whatever_limit_the_query_names(
    both: list[Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "BATCH_DOCUMENTS", 2)
    assert [record.address.path for record in every_document(both[0], ListQuery(limit=1, offset=2))] == [
        "a.md",
        "b.md",
        "in/deep/z.md",
    ]
    assert list(every_document(both[0], ListQuery(filter=Filter(types=("none",))))) == []


def test_tags_of_several_collections_are_counted_together(both: list[Collection]) -> None:
    assert list_tags(both, prefix="x/") == [("x/sub", 1)]
    assert sum(count for _, count in list_tags(both)) == 4


def records(both: list[Collection]) -> list[Record]:
    return [record for collection in both for record in every_document(collection)]


def test_a_document_counts_once_for_each_of_its_values_and_one_without_under_the_empty_one(
    both: list[Collection],
) -> None:
    counted = {
        facet.name: dict(facet.values)
        for facet in facets(records(both), ["type", "tags", "folder", "year", "status", "nowhere"])
    }
    assert counted["folder"] == {".": 4, "in": 1}
    assert counted["status"] == {"open": 2, "late": 1, "": 3}
    assert counted["nowhere"] == {"": 5}
    assert counted["type"] == {"note": 1, "Note": 1, "task": 1, "": 2}
    assert counted["year"]["2024"] == 1
    assert counted["year"]["2020"] == 1


def test_values_come_most_frequent_first_and_then_by_name(both: list[Collection]) -> None:
    (facet,) = facets(records(both), ["status"])
    assert facet.values == (("", 3), ("open", 2), ("late", 1))
    assert facets([], ["type"])[0].values == ()


def test_a_property_of_another_kind_than_text_has_the_value_that_is_written(both: list[Collection]) -> None:
    record = replace(records(both)[0], frontmatter={"n": 7, "m": {"a": 1}, "l": ["a", 2, None], "empty": ""})
    assert [list(property_values(record, name)) for name in ("n", "m", "empty")] == [["7"], [], []]
    assert "a" in property_values(record, "l")


DECLARED = {
    "notes/a.md": "---\ntype: Note\ntags: [Project/alpha, tea]\nstatus: open\n---\n# A\n",
    "plans/b.md": "---\ntype: plan\ndate: 2026-01-05T10:00:00\nstatus: [done, open]\n---\n# B\n",
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Indexed(tmp_path_factory.mktemp("suggested"), DECLARED) as base:
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
        (Filter(date_from="2026-01-05", date_to="2026-01-05"), []),
        (
            Filter(date_from="2026-01-06"),
            [
                (
                    "The date of a page is the one in its front matter, not that of a change; "
                    "that of 1 page is from 2026-01-05 to 2026-01-05."
                )
            ],
        ),
    ],
)
def test_each_part_of_a_filter_that_no_page_passes_is_named(
    declared: Collection, asked: Filter, lines: list[str]
) -> None:
    assert list(unknown_values([declared], asked)) == lines


def test_where_nothing_is_near_the_known_names_are_listed(declared: Collection) -> None:
    (line,) = unknown_values([declared], Filter(types=("xyz",)))
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
