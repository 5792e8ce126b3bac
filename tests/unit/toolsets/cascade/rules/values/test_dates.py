"""Dates as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

from cases import each_case
from commonplace.toolsets.cascade.rules.values import date_sort_key, is_later, partial_date_of


@each_case(
    ("text", "instant", "precision"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC), "year"),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC), "month"),
        ("2026/5/1", datetime(2026, 5, 1, tzinfo=UTC), "day"),
        (" 2026.05.01 ", datetime(2026, 5, 1, tzinfo=UTC), "day"),
        ("2026-05-01T10:30", datetime(2026, 5, 1, 10, 30, tzinfo=UTC), "time"),
        ("2026-05-01 10:30:15.123Z", datetime(2026, 5, 1, 10, 30, 15, tzinfo=UTC), "time"),
        ("2026-05-01T00:30+02:00", datetime(2026, 4, 30, 22, 30, tzinfo=UTC), "time"),
        ("2026-05-01 23:30 -0130", datetime(2026, 5, 2, 1, 0, tzinfo=UTC), "time"),
        ("2026-05-01T10:30 gmt".upper(), datetime(2026, 5, 1, 10, 30, tzinfo=UTC), "time"),
        ("1 May 2026", datetime(2026, 5, 1, tzinfo=UTC), "day"),
        ("2nd sept. 2026", datetime(2026, 9, 2, tzinfo=UTC), "day"),
        ("May 12, 2026", datetime(2026, 5, 12, tzinfo=UTC), "day"),
        ("may 2026", datetime(2026, 5, 1, tzinfo=UTC), "month"),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), "day"),
    ],
)
def test_a_date_has_an_instant_and_a_precision(text: str, instant: datetime, precision: str) -> None:
    date = partial_date_of(text)
    assert date is not None
    assert (date.instant, date.precision) == (instant, precision)


@each_case(
    "text",
    [
        None,
        "",
        "soon",
        "26",
        "2026-13",
        "2026-02-30",
        "2023-02-29",
        "31 June 2026",
        "2026-05/01",
        "2026-05-01x",
        "2026-05-01T25:00",
        "2026-05-01T10",
        "0000",
        "0001-01-01T00:00+02:00",
        "9999-12-31T23:59-01:00",
        "1 Mai 2026",
        "2026-05-01T10:30+24:00",
        "12345",
        "2026-05-01T10:30+99:99",
    ],
)
def test_other_texts_are_no_dates_and_never_a_failure(text: str | None) -> None:
    assert partial_date_of(text) is None
    assert date_sort_key(text) == ""
    assert not is_later(text, "2026")
    assert not is_later("2026", text)


@each_case(
    ("one", "other", "later"),
    [
        ("2026-05-02", "2026-05-01", True),
        ("2026-05-01", "2026-05-01", False),
        ("2026-05-02", "2026-05", False),
        ("2026-06", "2026-05-31", True),
        ("2027", "2026-12-31", True),
        ("2026-05-01T10:00:01", "2026-05-01T10:00", True),
        ("2026-05-01T10:00+02:00", "2026-05-01T09:00Z", False),
        ("2026-05-01T23:00-05:00", "2026-05-01", False),
        ("1 May 2026", "Apr 30, 2026", True),
    ],
)
def test_dates_are_compared_at_the_coarser_precision(one: str, other: str, later: bool) -> None:
    assert is_later(one, other) is later
    assert not (later and is_later(other, one))


def test_sort_keys_follow_the_calendar() -> None:
    dates = ["no date", "0999-12-31", "1999", "1 May 2026", "2026-05-01T00:00:01", "2026-05-02"]
    assert sorted(set(dates), key=date_sort_key) == dates
