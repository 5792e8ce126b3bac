"""Dates as people write them in documents, compared with one another.

Known forms: ISO 8601 (a year, a month, a day, or a time with or without zone; `-`, `/` or `.` between the numbers),
`1 May 2026`, `1st May 2026`, `May 12, 2026` and `May 2026`. A time without a zone is UTC. Other texts are no dates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

Precision: TypeAlias = Literal["year", "month", "day", "time"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_NUMBERS = re.compile(r"(\d{4})(?:([-/.])(\d{1,2})(?:\2(\d{1,2}))?)?")
_TIME = re.compile(
    r"[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:([Zz]|UTC|GMT)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?"
)
_DAY_FIRST = re.compile(r"(?:(\d{1,2})(?:st|nd|rd|th)?\.?\s+)?([A-Za-z]+)\.?,?\s+(\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date with its precision."""

    written: tuple[int, int, int]
    """Year, month and day as written, in the writer's zone; 1 for a part that is not written."""
    instant: datetime
    """The beginning of the period, in UTC."""
    precision: Precision


def partial_date_of(text: str | None) -> PartialDate | None:
    """The date that a text states; None if it states none."""
    words = (text or "").strip()
    try:
        return _numeric(words) or _named(words)
    except (ValueError, OverflowError):  # such as June 31, or a zone that leads beyond year 9999
        return None


def is_later(element: str | None, other: str | None) -> bool:
    """Whether one date is later than another, compared at the coarser precision of the two.

    False if either is no date.
    """
    first, second = partial_date_of(element), partial_date_of(other)
    if first is None or second is None:
        return False
    if first.precision == second.precision == "time":
        return first.instant > second.instant
    parts = min(_PARTS[first.precision], _PARTS[second.precision])
    return first.written[:parts] > second.written[:parts]


def date_sort_key(date: str | None) -> str:
    """Sort key of dates: a later date has a greater key; a text that is not a date has the key ""."""
    partial_date = partial_date_of(date)
    return partial_date.instant.strftime("%Y-%m-%dT%H:%M:%S").zfill(19) if partial_date else ""


_PARTS: dict[Precision, int] = {"year": 1, "month": 2, "day": 3, "time": 3}
"""Leading parts of `PartialDate.written` that a precision states."""


def _numeric(words: str) -> PartialDate | None:
    match = _NUMBERS.match(words)
    if not match:
        return None
    year, _, month, day = match.groups("0")
    rest = words[match.end() :]
    if not rest:
        return _moment(int(year), int(month), int(day))
    time = _TIME.fullmatch(rest)
    if not time or not match[4]:
        return None
    hour, minute, second, _, sign, hours, minutes = time.groups("0")
    local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    instant = local + offset if sign == "-" else local - offset
    return PartialDate((local.year, local.month, local.day), instant, "time")


def _named(words: str) -> PartialDate | None:
    match = _MONTH_FIRST.fullmatch(words)
    name, day, year = (match[1], match[2], match[3]) if match else ("", None, "")
    if not match:
        other = _DAY_FIRST.fullmatch(words)
        if not other:
            return None
        day, name, year = other[1], other[2], other[3]
    month = _MONTHS.get(name.lower())
    return _moment(int(year), month, int(day or 0)) if month else None


def _moment(year: int, month: int, day: int) -> PartialDate:
    """The beginning of a year, month or day; 0 for a part that is not written."""
    instant = datetime(year, month or 1, day or 1, tzinfo=UTC)
    precision: Precision = "day" if day else "month" if month else "year"
    return PartialDate((year, month or 1, day or 1), instant, precision)
