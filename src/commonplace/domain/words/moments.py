"""Parses moments as written by people and agents: a date, "yesterday", "3 days ago"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
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
    """A date or timestamp as `YYYY-MM-DD…`; "" if the value is neither, or may be one of two days."""
    if not isinstance(value, str):
        return ""
    text = value.strip()
    match = _WRITTEN_DAY.match(text)
    if not match:
        return _named_day(text)
    day = _iso_day(int(match[1]), int(match[2]), int(match[3]))
    return day and day + text[match.end() :]


def normal_day(value: Json, *, end: bool = False) -> str:
    """The day that a value names, as `YYYY-MM-DD`; "" if it names none, or may be one of two days.

    Args:
        value: A date, a timestamp or a month (`2026-11`, `11/2026`, `November 2026`).
        end: Whether a month means its last day instead of its first.
    """
    if day := normal_date(value)[:10]:
        return day
    parts = _parts_of(value, _MONTH_FORMS) if isinstance(value, str) else None
    if parts is None or not (first := _iso_day(*parts)):
        return ""
    return _iso_day(*parts[:2], monthrange(*parts[:2])[1]) if end else first


_MONTH_NAMES = (
    "jan january januar janvier enero gennaio", "feb february februar février febrero febbraio",
    "mar march märz maerz mrz mars marzo", "apr april avril avr abril aprile", "may mai mayo maggio",
    "jun june juni juin junio giugno", "jul july juli juillet juil julio luglio", "aug august août agosto",
    "sep sept september septembre septiembre settembre", "oct october okt oktober octobre octubre ottobre",
    "nov november novembre noviembre", "dec december dez dezember décembre diciembre dicembre",
)  # fmt: skip
_MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_MONTHS = 12
_NAME = r"(?P<n>[^\W\d_]{3,10})\.?"
_NAMED_DAYS = (
    re.compile(rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: (?:of|de))? {_NAME}(?: de)?,? (?P<y>\d{{4}})"),
    re.compile(rf"{_NAME} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})"),
    re.compile(r"(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]"),
    re.compile(r"(?P<y>\d{4})년 ?(?P<m>\d{1,2})월 ?(?P<d>\d{1,2})일"),
    re.compile(r"(?P<d>\d{1,2})\. ?(?P<m>\d{1,2})\. ?(?P<y>\d{4})"),
)
_EITHER_ORDER = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})")
_MONTH_FORMS = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})"),
    re.compile(r"(?P<m>\d{1,2})[/.](?P<y>\d{4})"),
    re.compile(r"(?P<y>\d{4})年(?P<m>\d{1,2})月"),
    re.compile(rf"{_NAME},? (?P<y>\d{{4}})"),
)
_MAX_DAY_CHARS = 40


def _month_number(name: str) -> int:
    """The number of a month by its name in English, German, French, Spanish or Italian, or a short form; else 0."""
    return _MONTH_NUMBERS.get(name.casefold(), 0)


def _named_day(text: str) -> str:
    """The day of a text such as `29 November 2026` or `30.11.2026`; "" for `3/4/2026`, which may be one of two."""
    if either := _EITHER_ORDER.fullmatch(text):
        first, second, year = int(either[1]), int(either[3]), int(either[4])
        if first != second and max(first, second) <= _MONTHS:
            return ""
        return _iso_day(year, min(first, second), max(first, second))
    parts = _parts_of(text, _NAMED_DAYS)
    return _iso_day(*parts) if parts else ""


def _parts_of(text: str, forms: Sequence[re.Pattern[str]]) -> tuple[int, int, int] | None:
    """The year, month and day in a text of one of these forms; day 1 in a form without it, month 0 for no name."""
    words = " ".join(text.split()) if len(text) <= _MAX_DAY_CHARS else ""
    match = next(filter(None, (form.fullmatch(words) for form in forms)), None)
    if match is None:
        return None
    parts = match.groupdict()
    return int(parts["y"]), int(parts.get("m") or 0) or _month_number(parts.get("n") or ""), int(parts.get("d") or 1)


def _iso_day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
