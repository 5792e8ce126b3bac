"""What can be asked of a space's pages, and what comes back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias, TypeVar

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.pages.page import Page, UnusablePage

T = TypeVar("T")

Sort: TypeAlias = Literal["created_at", "-created_at", "updated_at", "-updated_at"]
"""With `-` the newest first; pages without the date come last either way."""

MAX_PAGE_LIMIT = 100
SNIPPET_CHARS = 200

DAY_SECONDS = 86_400
"""Seconds."""
_UNITS = {"d": DAY_SECONDS, "w": 7 * DAY_SECONDS, "m": 30 * DAY_SECONDS, "y": 365 * DAY_SECONDS}
_DURATION = re.compile(r"([1-9][0-9]{0,5})([dwmy])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time in unix seconds; None where it is open."""

    first: int | None = None
    before: int | None = None
    """The first second that no longer belongs to it."""

    def holds(self, moment: int | None) -> bool:
        """Whether a moment lies in it; an unknown one only where nothing is asked."""
        if self.first is None and self.before is None:
            return True
        if moment is None:
            return False
        return (self.first is None or moment >= self.first) and (self.before is None or moment < self.before)


ANY_TIME = TimeRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages are meant; every given part must hold."""

    labels: tuple[str, ...] = ()
    """At least one of these, whole, without regard to case."""
    author: str = ""
    """E-mail address or name of the author, whole, without regard to case."""
    created: TimeRange = ANY_TIME
    updated: TimeRange = ANY_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """A search for pages."""

    text: str
    filter: PageFilter = PageFilter()
    sort: Sort | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that answers, and why."""

    page: Page
    snippet: str
    """At most `SNIPPET_CHARS` of plain text."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The best hits, and how many pages answer in all."""

    hits: tuple[PageHit, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a search index was made of."""

    pages: int
    unusable: Sequence[UnusablePage] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFilters:
    """The parts of a question that are about time, as callers write them; None where they say nothing."""

    created_after: str | None = None
    created_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    created_within: str | None = None
    updated_within: str | None = None
    stale: str | None = None

    def created(self, now: float) -> TimeRange:
        """When the pages that are meant were made.

        Args:
            now: Unix seconds, from which durations count back.

        Raises:
            InvalidInputError: a part cannot be read.
        """
        return _bounds(
            (_first_second(self.created_after, "created_after"), _ago(self.created_within, "created_within", now)),
            (_next_day(self.created_before, "created_before"),),
        )

    def updated(self, now: float) -> TimeRange:
        """When they were last changed; arguments and errors as for `created`."""
        if self.updated_within is not None and self.stale is not None:
            raise InvalidInputError("updated_within and stale exclude each other", kind="argument")
        return _bounds(
            (_first_second(self.updated_after, "updated_after"), _ago(self.updated_within, "updated_within", now)),
            (_next_day(self.updated_before, "updated_before"), _ago(self.stale, "stale", now)),
        )


def checked(query: PageQuery) -> PageQuery:
    """The same search, checked.

    Raises:
        InvalidInputError: it says nothing at all.
    """
    if not query.text.strip() and query.filter == PageFilter() and query.sort is None:
        raise InvalidInputError("query is empty; give words to search for, a filter or a sort", kind="argument")
    return query


def parse_day(text: str) -> date:
    """A day as `YYYY-MM-DD`.

    Raises:
        ValueError: it is none; the message says what is.
    """
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise ValueError("must be a day such as 2024-05-31")
    return day


def parse_duration(text: str) -> int:
    """Seconds of `30d`, `2w`, `6m` (of 30 days) or `1y` (of 365).

    Raises:
        ValueError: it is none; the message says what is.
    """
    found = _DURATION.fullmatch(text)
    if not found:
        raise ValueError("must be a duration such as 30d, 2w, 6m or 1y")
    return int(found[1]) * _UNITS[found[2]]


def _bounds(firsts: Sequence[int | None], befores: Sequence[int | None]) -> TimeRange:
    """The stretch in which all of these hold."""
    return TimeRange(
        max((one for one in firsts if one is not None), default=None),
        min((one for one in befores if one is not None), default=None),
    )


def _first_second(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    day = _read(parse_day, text, name)
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _next_day(text: str | None, name: str) -> int | None:
    first = _first_second(text, name)
    return None if first is None else first + DAY_SECONDS


def _ago(text: str | None, name: str, now: float) -> int | None:
    return None if text is None else int(now) - _read(parse_duration, text, name)


def _read(parse: Callable[[str], T], text: str, name: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} {error}; got {text[:60]!r}", kind="argument") from None
