"""Filters mean the same in lists and searches: both are held against a filter that looks at every record."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from commonplace.domain.addresses import fold
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery, SortKey
from filtering import documents, filters, passes
from indexed import Indexed

SORTS: list[SortKey] = ["path", "title", "type", "date", "created", "updated"]


@pytest.mark.parametrize("fresh", [False, True], ids=["settled", "fresh"])
def test_lists_and_searches_keep_exactly_what_the_filter_says(tmp_path: Path, *, fresh: bool) -> None:
    chance = random.Random(7)
    files = documents(chance, 250)
    with Indexed(tmp_path, files) as base:
        if fresh:
            changed = dict(zip(chance.sample(sorted(files), 12), documents(chance, 12).values(), strict=True))
            for path, content in changed.items():
                base.update(path, content)
        every = base.index.list(ListQuery(limit=1000)).records
        for _ in range(150):
            filter_ = filters(chance)
            expected = [record.address.path for record in every if passes(record, filter_)]
            assert base.listed(filter_) == expected, filter_
            assert sorted(base.found("word", filter_, limit=1000)) == expected, filter_
            page = base.index.search(SearchQuery(text="word", filter=filter_, limit=3))
            assert (page.total, len(page.hits)) == (len(expected), min(len(expected), 3)), filter_


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("descending", [False, True])
def test_pages_of_a_list_are_the_whole_list_in_order(tmp_path: Path, sort: SortKey, *, descending: bool) -> None:
    with Indexed(tmp_path, documents(random.Random(11), 120)) as base:
        whole = base.listed(sort=sort, descending=descending)
        pages = [
            p for at in range(0, 120, 13) for p in base.listed(sort=sort, descending=descending, offset=at, limit=13)
        ]
        assert pages == whole
        by_path = {record.address.path: record for record in base.index.list(ListQuery(limit=1000)).records}
        keys = [_sort_key(by_path[path], sort) for path in whole]
        assert keys == sorted(keys, reverse=descending)
        alike = [(key, path) for key, path in zip(keys, whole, strict=True)]
        assert alike == sorted(sorted(alike, key=lambda pair: pair[1]), key=lambda pair: pair[0], reverse=descending)


def _sort_key(record: Record, sort: SortKey) -> str:
    values: dict[SortKey, str] = {
        "path": record.address.path,
        "title": record.title.casefold(),
        "type": fold(record.type),
        "date": record.date,
        "created": record.created,
        "updated": record.updated,
    }
    return values[sort]


def test_tags_are_counted_within_a_filter_and_by_prefix(tmp_path: Path) -> None:
    files = {
        "a/1.md": "---\ntags: [Work, work/log, x]\n---\n",
        "a/2.md": "---\ntags: [work, y]\n---\n",
        "b/3.md": "---\ntags: [work, x]\n---\n",
    }
    with Indexed(tmp_path, files) as base:
        assert base.index.tags(Filter()) == [("work", 3), ("x", 2), ("work/log", 1), ("y", 1)]
        assert base.index.tags(Filter(prefix="a/"), "WORK") == [("work", 2), ("work/log", 1)]
        assert base.index.tags(Filter(tags=("y",))) == [("work", 1), ("y", 1)]


@pytest.mark.parametrize("sort", ["path", "title", "updated"])
def test_an_offset_beyond_every_number_of_the_database_is_an_empty_page(tmp_path: Path, sort: SortKey) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        assert base.listed(sort=sort, offset=10**22, limit=5) == []
        assert base.index.list(ListQuery(sort=sort, offset=10**22, limit=5)).total == 1
