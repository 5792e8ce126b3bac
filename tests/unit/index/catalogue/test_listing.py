"""Lists, tags and totals out of the catalogue, for any filter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, ListQuery, SortKey
from indexed import PERMISSIONS, Indexed, permissions_hold

FILES = {
    "a.md": "---\ntype: Task\ntags: [x, Proj/One]\ndate: 2024-02-29\nupdated: 2026-01-02\n---\n# Zebra\n",
    "b.md": "---\ntype: task\ntags: [X, proj]\ndate: 2024-03-01\nupdated: 2026-01-02\n---\n# apple\n",
    "in/c.md": "---\ncategory: Straße\ntags: [projection]\nupdated: 2026-01-01\n---\n# Äpfel\n",
    "in/deep/d.md": "# 文\n\n#inline text\n",
    "In.md": "# In\n",
    "in-other/e.md": "# E\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("listing"), FILES) as indexed:
        yield indexed


@pytest.mark.parametrize(
    ("filter_", "paths"),
    [
        (Filter(), sorted(FILES)),
        (Filter(prefix="in/"), ["in/c.md", "in/deep/d.md"]),
        (Filter(prefix="in"), ["in-other/e.md", "in/c.md", "in/deep/d.md"]),
        (Filter(prefix="IN", prefix_any_case=True), ["In.md", "in-other/e.md", "in/c.md", "in/deep/d.md"]),
        (Filter(prefix="in%"), []),
        (Filter(types=("TASK",)), ["a.md", "b.md"]),
        (Filter(types=("strasse", "none")), ["in/c.md"]),
        (Filter(tags=("#x",)), ["a.md", "b.md"]),
        (Filter(tags=("PROJ",)), ["a.md", "b.md"]),
        (Filter(tags=("proj", "x")), ["a.md", "b.md"]),
        (Filter(tags=("proj/one",)), ["a.md"]),
        (Filter(any_tags=("proj", "inline")), ["b.md", "in/deep/d.md"]),
        (Filter(date_from="2024-02-29", date_to="2024-02-29"), ["a.md"]),
        (Filter(date_from="2024-03-01"), ["b.md"]),
        (Filter(date_to="2024-02-29"), ["a.md"]),
        (Filter(date_from="2025-01-01", date_to="2024-01-01"), []),
        (Filter(updated_to="2026-01-01"), ["in/c.md"]),
        (Filter(among=(Address("b.md"), Address("none.md"), Address("a.md"))), ["a.md", "b.md"]),
        (Filter(among=()), []),
        (Filter(without=(Address("a.md"), Address("In.md")), types=("task",)), ["b.md"]),
        (Filter(types=("task' OR 1 --",)), []),
        (Filter(tags=("a\0b", "")), []),
    ],
)
def test_a_filter_selects_the_documents_that_match_every_part(base: Indexed, filter_: Filter, paths: list[str]) -> None:
    assert sorted(base.listed(filter_)) == sorted(paths)
    assert base.index.list(ListQuery(filter=filter_, limit=0)).total == len(paths)


@pytest.mark.parametrize(
    ("sort", "descending", "first"),
    [
        ("title", False, ["b.md", "in-other/e.md"]),
        ("title", True, ["in/deep/d.md", "in/c.md"]),
        ("date", True, ["b.md", "a.md"]),
        ("path", False, ["In.md", "a.md"]),
        ("path", True, ["in/deep/d.md", "in/c.md"]),
        ("score", False, ["In.md", "a.md"]),
        ("updated", False, ["in/c.md", "a.md"]),
    ],
)
def test_a_sort_orders_by_its_value_and_then_by_path(
    base: Indexed, sort: SortKey, descending: bool, first: list[str]
) -> None:
    assert base.listed(sort=sort, descending=descending)[:2] == first


@pytest.mark.parametrize("sort", ["path", "title", "type", "date", "created", "updated", "updated_day"])
@pytest.mark.parametrize("filter_", [Filter(), Filter(prefix="in"), Filter(types=("task",))])
def test_pages_of_a_list_join_without_gap_whatever_the_sort(base: Indexed, sort: SortKey, filter_: Filter) -> None:
    for descending in (False, True):
        whole = base.listed(filter_, sort=sort, descending=descending)
        query = ListQuery(filter=filter_, sort=sort, descending=descending, limit=1)
        for at, path in enumerate(whole):
            assert base.listed(filter_, sort=sort, descending=descending, limit=1, offset=at) == [path]
        assert base.index.list(query).total == len(whole)


def test_limits_out_of_range_give_an_empty_page_or_the_first(base: Indexed) -> None:
    assert base.listed(limit=0) == base.listed(limit=-1) == base.listed(offset=100) == []
    assert base.listed(offset=-5, limit=1) == ["In.md"]


def test_tags_are_counted_in_their_most_frequent_spelling(base: Indexed) -> None:
    counted = dict(base.index.tags(Filter()))
    assert {tag.casefold(): count for tag, count in counted.items()} == {
        "x": 2,
        "proj": 1,
        "proj/one": 1,
        "projection": 1,
        "inline": 1,
    }
    assert [tag for tag, _ in base.index.tags(Filter(), "#PROJ")] == ["Proj/One", "proj", "projection"]
    assert base.index.tags(Filter(types=("task",)), "proj/") == [("Proj/One", 1)]
    assert base.index.tags(Filter(), "none") == []


def test_totals_count_every_document_and_its_type(base: Indexed) -> None:
    counts = base.index.counts()
    assert (counts.documents, counts.tags, dict(counts.types)) == (6, 5, {"": 3, "Task": 1, "task": 1, "Straße": 1})


@PERMISSIONS
def test_a_file_that_cannot_be_read_is_a_finding_that_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Indexed(tmp_path_factory.mktemp("shut"), {"bad.md": "---\na: [\n---\n"}) as shut:
        shut.write("shut.md", "# S\n")
        (shut.folder / "shut.md").chmod(0)
        with permissions_hold():
            shut.index.sync()
        rules = {record.address.path: [finding.rule for finding in record.findings] for record in shut.index.findings()}
    assert list(rules) == ["bad.md", "shut.md"]
    assert rules["shut.md"] == ["unreadable"]
