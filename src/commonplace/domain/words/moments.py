"""Parses moments as written by people and agents: a date, "yesterday", "3 days ago"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from commonplace.domain.json import Json

_WRITTEN_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_WORDS, 1)}}
_AGO = re.compile(
    rf"(?:(?:the )?(?:last|past) )?(?:(\d{{1,4}}) ?|({'|'.join(_NUMBERS)}) )"
    r"(s|sec|seconds?|min|minutes?|h|hours?|d|days?|w|weeks?|months?|years?)(?: ago)?"
)
_SECONDS = {"s": 1, "se": 1, "mi": 60, "h": 3600, "ho": 3600}
"""Seconds of a unit shorter than a day, by its first two letters; `_DAYS` by the first one."""
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_NAMED = {"today": 0, "yesterday": 1, "week": 7, "month": 30, "year": 365}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Since:
    """A moment since which changes are asked for.

    New is what came into the branch since: the commits that are not in the history of the one that it had then. A
    commit's own date does not count, so that an older branch that was merged since is new, and a picked commit, too.
    """

    when: float
    """The moment in Unix seconds; that of the commit if one is named."""
    commits: Mapping[str, str]
    """The commit that the branch had then, by the collection's name; "" for none. A collection that lacks a named
    commit has no entry.
    """
    name: str = ""
    """The commit with the words that name it, such as `1a2b3c4d5e (HEAD~3)`; "" for a date or time."""


def parse_moment(text: str, now: datetime | None = None, *, end: bool = False) -> datetime | None:
    """The moment that a text names, in UTC; None if the text is not a moment.

    Args:
        text: `2026-03-01`, an ISO 8601 time with or without a zone (UTC without one), `today`, `yesterday`,
            `last week`, `7 days`, `two weeks`, `3 hours ago`, `an hour ago`; `monday` and `last monday` are the last
            one before today.
        now: The current time; None for the clock's.
        end: Whether a day means its end instead of its beginning.
    """
    now = now or datetime.now(UTC)
    words = " ".join(text.strip().lower().split())
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    name = words.removeprefix("last ")
    if name in _NAMED:
        return _day(midnight - timedelta(days=_NAMED[name]), end=end)
    if name in _WEEKDAYS:
        return _day(midnight - timedelta(days=(now.weekday() - _WEEKDAYS.index(name) - 1) % 7 + 1), end=end)
    if ago := _AGO.fullmatch(words):
        return _ago(now, int(ago[1] or _NUMBERS[ago[2]]), ago[3], end=end)
    try:
        found_moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    given_moment = found_moment if found_moment.tzinfo else found_moment.replace(tzinfo=UTC)
    is_day = len(text.strip()) <= len("2026-03-01")
    try:
        moment = given_moment.astimezone(UTC)
    except OverflowError:
        return None
    return _day(moment, end=end) if is_day else moment


def _ago(now: datetime, amount: int, unit: str, *, end: bool) -> datetime | None:
    """The moment that many units ago, of days and longer ones their beginning; None before the year 1."""
    if seconds := _SECONDS.get(unit[:2]):
        return now - timedelta(seconds=amount * seconds)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return _day(midnight - timedelta(days=amount * _DAYS[unit[0]]), end=end)
    except OverflowError:
        return None


def _day(moment: datetime, *, end: bool) -> datetime:
    return moment + timedelta(days=1, seconds=-1) if end else moment


def normal_date(value: Json) -> str:
    """A date or timestamp as `YYYY-MM-DD…`; "" if the value is neither."""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    match = _WRITTEN_DAY.match(text)
    if not match:
        return ""
    try:
        day = date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    except ValueError:
        return ""
    return day + text[match.end() :]
