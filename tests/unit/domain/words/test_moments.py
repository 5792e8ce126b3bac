"""Moments as people and agents write them."""

from __future__ import annotations

from datetime import UTC, datetime

from cases import each_case
from commonplace.domain.words.moments import parse_moment

NOW = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)


@each_case(
    ("text", "expected"),
    [
        ("today", "2026-03-10T00:00:00"),
        ("Yesterday", "2026-03-09T00:00:00"),
        ("7 days", "2026-03-03T00:00:00"),
        ("2 weeks ago", "2026-02-24T00:00:00"),
        ("3 hours ago", "2026-03-10T09:30:00"),
        ("30 seconds ago", "2026-03-10T12:29:30"),
        ("5min", "2026-03-10T12:25:00"),
        ("20 minutes ago", "2026-03-10T12:10:00"),
        ("1 min", "2026-03-10T12:29:00"),
        ("last week", "2026-03-03T00:00:00"),
        ("Two weeks", "2026-02-24T00:00:00"),
        ("the last  three days", "2026-03-07T00:00:00"),
        ("an hour ago", "2026-03-10T11:30:00"),
        ("last year", "2025-03-10T00:00:00"),
        ("last Monday", "2026-03-09T00:00:00"),
        ("tuesday", "2026-03-03T00:00:00"),
        ("wednesday", "2026-03-04T00:00:00"),
        ("2026-01-31", "2026-01-31T00:00:00"),
        ("2026-01-31T10:00", "2026-01-31T10:00:00"),
        ("2026-01-31T10:00:00+02:00", "2026-01-31T08:00:00"),
        ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00"),
    ],
)
def test_a_moment_is_read_in_utc(text: str, expected: str) -> None:
    moment = parse_moment(text, NOW)
    assert moment
    assert moment.replace(tzinfo=None).isoformat() == expected
    assert moment.tzinfo is UTC


def test_a_day_can_stand_for_its_end() -> None:
    assert parse_moment("2026-01-31", NOW, end=True) == datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)


@each_case(
    "text", ["", "soon", "adays", "9999 years ago", "2026-13-01", "31.01.2026", "9999-12-31T23:59:59-14:00", "abc1234"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    assert parse_moment(text, NOW) is None
