"""Records, dates and filter terms."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, Record
from commonplace.domain.records import (
    build_record,
    day_number,
    filter_terms,
    iso_timestamp,
    normal_timestamp,
    wanted_terms,
)
from commonplace.domain.words.moments import normal_date


def record(text: str, path: str = "notes/page.md") -> Record:
    return build_record(read_document(Address(path), text.encode()), "0" * 40)


def test_a_record_says_what_the_frontmatter_says() -> None:
    made = record(
        "---\nid: p1\ntitle: The Page\ncategory: Guide\ntags: [a, b/c]\naliases: [One, Two words]\n"
        "summary: short\ndate: 2024-05-01\ncreated: 2024-01-02T03:04:05+02:00\nupdated_at: 2024-02-03\n---\nsome text\n"
    )
    assert (made.id, made.title, made.type, made.description) == ("p1", "The Page", "Guide", "short")
    assert (made.tags, made.aliases, made.date) == (("a", "b/c"), ("One", "Two words"), "2024-05-01")
    assert (made.created, made.updated) == ("2024-01-02T01:04:05Z", "2024-02-03T00:00:00Z")


def test_a_record_without_frontmatter_takes_its_names_from_path_and_text() -> None:
    made = record("# Heading\n\ntext\n")
    assert (made.id, made.title, made.type, made.created, made.updated) == ("notes/page", "Heading", "", "", "")


def test_one_alias_may_hold_blanks_and_several_may_be_separated_by_commas() -> None:
    assert record("---\naliases: My Page\n---\n").aliases == ("My Page",)
    assert record("---\nalias: One, Two\n---\n").aliases == ("One", "Two")


def test_odd_values_give_odd_records_and_no_exception() -> None:
    made = record("---\nid: [1]\ntitle: {a: b}\ntype: 7\ntags: 3\naliases: {x: y}\ndate: soon\ncreated: []\n---\n")
    assert (made.id, made.type, made.date, made.created) == ("notes/page", "7", "", "")


@each_case(
    ("given", "date"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-5-1", "2024-05-01"),
        ("2024/05/01", "2024-05-01"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01 10:00", "2024-05-01 10:00"),
        ("30.11.2026", "2026-11-30"),
        ("29. November 2026", "2026-11-29"),
        ("November 29th, 2026", "2026-11-29"),
        ("1er mars 2026", "2026-03-01"),
        ("3 de mayo de 2026", "2026-05-03"),
        ("30/11/2026", "2026-11-30"),
        ("11/30/2026", "2026-11-30"),
        ("2026年11月30日", "2026-11-30"),
        ("3/4/2026", ""),
        ("31.2.2026", ""),
        ("29 Foo 2026", ""),
        ("2026-11", ""),
        ("2024-13-01", ""),
        ("2024-02-30", ""),
        ("0000-01-01", ""),
        ("yesterday", ""),
        ("2024-05-011", ""),
        (20240501, ""),
        (None, ""),
        (["2024-05-01"], ""),
    ],
)
def test_dates_are_read_from_what_looks_like_one(given: Json, date: str) -> None:
    assert normal_date(given) == date


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("2024-05-01", "2024-05-01T00:00:00Z"),
        ("2024-05-01T10:00:00+05:30", "2024-05-01T04:30:00Z"),
        ("2024-05-01T10:00:00.5Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01 at noon", "2024-05-01T00:00:00Z"),
        ("0001-01-01T00:00:00+10:00", ""),
        ("no", ""),
    ],
)
def test_moments_are_utc_with_seconds(given: Json, moment: str) -> None:
    assert normal_timestamp(given) == moment


@pytest.mark.parametrize("seconds", [-1e18, -62135596801, 0, 1.5, 1e18])
def test_every_time_of_a_file_system_can_be_shown(seconds: float) -> None:
    assert len(iso_timestamp(seconds)) == len("1970-01-01T00:00:00Z")


@pytest.mark.parametrize(("text", "number"), [("2024-05-01T1", 20240501), ("", 0), ("2024", 0), ("20-24-05-01", 0)])
def test_a_day_is_a_number_that_sorts(text: str, number: int) -> None:
    assert day_number(text) == number


def passes(made: Record, filter_: Filter) -> bool:
    terms = filter_terms(made)
    return all(not group.isdisjoint(terms) for group in wanted_terms(filter_))


@each_case(
    ("filter_", "expected"),
    [
        (Filter(types=("guide", "other")), True),
        (Filter(types=("other",)), False),
        (Filter(tags=("B",)), True),
        (Filter(tags=("b/c", "a")), True),
        (Filter(tags=("b", "missing")), False),
        (Filter(any_tags=("missing", "A")), True),
        (Filter(any_tags=("b",)), False),
        (Filter(fields=(("Status", "OPEN"),)), True),
        (Filter(fields=(("status", "ope"),)), False),
        (Filter(fields=(("people", "ann"),)), True),
        (Filter(fields=(("count", "3"),)), True),
        (Filter(fields=(("done", "true"),)), True),
        (Filter(fields=(("meta.place", "Rome"),)), True),
        (Filter(fields=(("long", "x" * 500),)), True),
        (Filter(fields=(("long", "x" * 501),)), False),
    ],
)
def test_filters_compare_whole_values_without_regard_to_case(filter_: Filter, expected: bool) -> None:
    made = record(
        "---\ntype: Guide\ntags: [a, b/c]\nstatus: Open\npeople: [Ann, Bob]\ncount: 3\ndone: true\n"
        f"meta: {{place: Rome}}\nlong: {'x' * 500}\n---\n"
    )
    assert passes(made, filter_) is expected


@each_case(
    ("block", "known"),
    [
        # Docusaurus
        ("id: intro\nslug: /\nsidebar_label: Start", {"id": "intro", "aliases": ("Start",)}),
        (
            "slug: /guide/setup\nlast_update: {date: 2024-05-01}",
            {"aliases": ("/guide/setup",), "updated": "2024-05-01"},
        ),
        # Hugo
        ("linkTitle: Short\nlastmod: 2024-05-02\ncategories: [News, Old]", {"type": "News", "updated": "2024-05-02"}),
        ("aliases: [/old/path/, /older/]\npublishDate: 2024-01-02", {"date": "2024-01-02", "created": "2024-01-02"}),
        # Jekyll
        ("permalink: /about/\nredirect_from: [/us/]", {"aliases": ("/us/", "/about")}),
        ("categories: news\nlast_modified_at: 2024-06-01", {"type": "news", "updated": "2024-06-01"}),
        # MkDocs, VitePress, Astro
        ("nav_title: Home\ndescription: All of it", {"aliases": ("Home",), "description": "All of it"}),
        ("lastUpdated: true\noutline: deep", {"updated": ""}),
        ("pubDate: 2023-03-04\nupdatedDate: 2023-04-05", {"date": "2023-03-04", "updated": "2023-04-05"}),
        ("url: https://example.org/x", {"aliases": ()}),
    ],
)
def test_the_keys_of_generators_are_known(block: str, known: dict[str, object]) -> None:
    record = build_record(read_document(Address("a.md"), f"---\n{block}\n---\n# A\n".encode()), "0" * 40)
    for name, value in known.items():
        found_value = getattr(record, name)
        assert (found_value[:10] if name in {"updated", "created"} else found_value) == value
