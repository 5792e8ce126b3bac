"""Filters mean the same in lists and searches: both are held against a filter that looks at every record."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address, fold
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery, SortKey
from indexed import Indexed

TYPES = ["", "note", "Person", "Straße"]
TAGS = ["x", "x/y", "x/y/z", "Y", "ä/b", "xy", "work-log"]
FOLDERS = ["", "notes/", "notes/deep/", "Notes/", "a b/", "ünï/"]
STATUS = ["open", "Closed", "5", "true", "a=b", "long " * 60]
DAYS = ["", "2023-12-31", "2024-01-01", "2024-01-01T23:59:00Z", "2024-06-30"]
PLACES = [f"{folder}n{number:03}.md" for folder in FOLDERS for number in range(0, 150, 3)]
"""Some of the paths at which documents may lie."""
STATED = {
    "2024-01-01T10:00:00Z": 1_704_103_200,
    "2024-01-01T12:00:00+02:00": 1_704_103_200,
    "2024-01-01": 1_704_067_200,
    "1969-12-31T23:59:59Z": -1,
    "some day": None,
}
"""Dates as documents state them, with their time in unix seconds."""
SORTS: list[SortKey] = ["path", "title", "type", "date", "created", "updated"]


def documents(chance: random.Random, count: int) -> dict[str, str]:
    """Documents whose frontmatter holds a random choice of everything that filters look at."""
    made: dict[str, str] = {}
    for number in range(count):
        lines = [f"title: {chance.choice(['Alpha', 'beta', 'Ärger', 'zeta'])} {number % 9}"]
        lines += [f"type: {type_}" for type_ in [chance.choice(TYPES)] if type_]
        lines += [f"tags: [{', '.join(chance.sample(TAGS, chance.randrange(4)))}]"]
        lines += [f"status: '{chance.choice(STATUS)}'"] if chance.random() < 0.7 else []
        lines += [f"people: [Ann, {chance.choice(['Bob', 'ann', 'Zoë'])}]"] if chance.random() < 0.5 else []
        lines += [f"meta: {{place: {chance.choice(['Rome', 'rome', 'Oslo'])}}}"] if chance.random() < 0.5 else []
        for key in ("date", "created", "updated"):
            lines += [f"{key}: {day}" for day in [chance.choice(DAYS)] if day]
        for key in ("created_at", "updated_at"):
            lines += [f"{key}: '{moment}'" for moment in [chance.choice(["", *STATED])] if moment]
        words = " ".join(["word"] * chance.randrange(1, 4) + ["other"] * chance.randrange(3))
        path = f"{chance.choice(FOLDERS)}n{number:03}.md"
        made[path] = "---\n{}\n---\n{}\n".format("\n".join(lines), words)
    return made


def filters(chance: random.Random) -> Filter:
    """A filter with one to three parts."""
    seconds = [-2, -1, 0, 1_704_067_200, 1_704_103_199, 1_704_103_200, 1_704_103_201]
    makers: list[Callable[[], dict[str, object]]] = [
        lambda: {"prefix": chance.choice([*FOLDERS, "no", "notes", "notes/n0", "Notes/d"])},
        lambda: {"types": tuple(chance.sample([*TYPES, "NOTE", "strasse", "none"], 2))},
        lambda: {"tags": tuple(chance.sample([*TAGS, "X", "x/Y", "Ä", "work"], chance.randrange(1, 3)))},
        lambda: {"any_tags": tuple(chance.sample([*TAGS, "#x", "Ä/B", "none"], 2))},
        lambda: {"date_from": chance.choice(DAYS)[:10], "date_to": chance.choice(DAYS)[:10]},
        lambda: {"created_from": chance.choice(DAYS)[:10], "created_to": chance.choice(DAYS)[:10]},
        lambda: {"updated_from": chance.choice(DAYS)[:10], "updated_to": chance.choice(DAYS)[:10]},
        lambda: {"fields": ((chance.choice(["status", "Status"]), chance.choice([*STATUS, "OPEN", "ope"])),)},
        lambda: {"dates": (("created_at", chance.choice(seconds), None),)},
        lambda: {"dates": (("updated_at", None, chance.choice(seconds)), ("created_at", -10, 1_704_103_200))},
        lambda: {"fields": (("people", chance.choice(["ANN", "bob", "zoë"])), ("meta.place", "ROME"))},
    ]
    some = tuple(Address(path) for path in PLACES)
    makers += [
        lambda: {"among": tuple(chance.sample(some, chance.randrange(len(some))))},
        lambda: {"without": tuple(chance.sample(some, chance.randrange(len(some))))},
    ]
    given: dict[str, object] = {}
    for maker in chance.sample(makers, chance.randrange(1, 4)):
        given |= maker()
    return replace(Filter(), **given)


def passes(record: Record, filter_: Filter) -> bool:
    """Whether a record matches a filter, exactly as documented in `Filter`."""
    tags = {fold(tag) for tag in record.tags}
    wanted = [fold(tag.lstrip("#")) for tag in filter_.tags]
    any_wanted = {fold(tag.lstrip("#")) for tag in filter_.any_tags}
    return (
        record.address.path.startswith(filter_.prefix)
        and (not filter_.types or fold(record.type) in map(fold, filter_.types))
        and all(any(tag == one or tag.startswith(f"{one}/") for tag in tags) for one in wanted)
        and (not any_wanted or bool(tags & any_wanted))
        and _between(record.date, filter_.date_from, filter_.date_to)
        and _between(record.created, filter_.created_from, filter_.created_to)
        and _between(record.updated, filter_.updated_from, filter_.updated_to)
        and all(_has(record.frontmatter, key, value) for key, value in filter_.fields)
        and all(_states(record.frontmatter.get(key), first, last) for key, first, last in filter_.dates)
        and (filter_.among is None or record.address in filter_.among)
        and record.address not in filter_.without
    )


def _between(moment: str, first: str, last: str) -> bool:
    day = moment[:10]
    return not (first or last) or bool(day and (first or day) <= day <= (last or day))


def _states(value: Json, first: int | None, last: int | None) -> bool:
    moment = STATED.get(str(value))
    return moment is not None and (first is None or moment >= first) and (last is None or moment <= last)


def _has(values: Mapping[str, Json], key: str, value: str) -> bool:
    outer, _, inner = key.partition(".")
    found = next((item for name, item in values.items() if fold(name) == fold(outer)), None)
    if inner:
        return isinstance(found, Mapping) and _has(found, inner, value)
    items = found if isinstance(found, (list, tuple)) else [found]
    return any(item is not None and fold(_text(item)) == fold(value.strip()) for item in items)


def _text(item: Json) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item).strip()


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
        assert alike == sorted(sorted(alike, key=lambda one: one[1]), key=lambda one: one[0], reverse=descending)


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
