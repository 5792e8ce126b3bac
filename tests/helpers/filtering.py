"""Random documents and filters, and whether a record matches a filter."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from commonplace.domain.addresses import Address, fold
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, Record

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
    given_values: dict[str, object] = {}
    for maker in chance.sample(makers, chance.randrange(1, 4)):
        given_values |= maker()
    return replace(Filter(), **given_values)


def passes(record: Record, filter_: Filter) -> bool:
    """Whether a record matches a filter, exactly as documented in `Filter`."""
    tags = {fold(tag) for tag in record.tags}
    wanted_tags = [fold(tag.lstrip("#")) for tag in filter_.tags]
    any_wanted = {fold(tag.lstrip("#")) for tag in filter_.any_tags}
    return (
        record.address.path.startswith(filter_.prefix)
        and (not filter_.types or fold(record.type) in map(fold, filter_.types))
        and all(
            any(tag == wanted_tag or tag.startswith(f"{wanted_tag}/") for tag in tags) for wanted_tag in wanted_tags
        )
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
    found_item = next((item for name, item in values.items() if fold(name) == fold(outer)), None)
    if inner:
        return isinstance(found_item, Mapping) and _has(found_item, inner, value)
    items = found_item if isinstance(found_item, (list, tuple)) else [found_item]
    return any(item is not None and fold(_text(item)) == fold(value.strip()) for item in items)


def _text(item: Json) -> str:
    return str(item).lower() if isinstance(item, bool) else str(item).strip()
