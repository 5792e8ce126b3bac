"""Queries of a space's pages, and their results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from heapq import nsmallest
from typing import Literal, Protocol, TypeAlias, TypeVar

from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.pages.rules.page import Page, UnusablePage, fold_label

T = TypeVar("T")

Sort: TypeAlias = Literal["created_at", "-created_at", "updated_at", "-updated_at"]
"""Sort key; `-` sorts the newest first. Pages without the date are last in both orders."""

MAX_PAGE_LIMIT = 100
MIN_SNIPPET_CHARS = 56
"""Minimum length of a snippet in characters."""
SNIPPET_CHARS = 200

DAY_SECONDS = 86_400
"""Seconds in a day."""
_UNITS = {"d": DAY_SECONDS, "w": 7 * DAY_SECONDS, "m": 30 * DAY_SECONDS, "y": 365 * DAY_SECONDS}
_DURATION = re.compile(r"([1-9][0-9]{0,5})([dwmy])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range of time in unix seconds; None for an open end."""

    first: int | None = None
    before: int | None = None
    """The first second after the range."""

    def holds(self, moment: int | None) -> bool:
        """Whether a time is in the range. An unknown time is only in the unbounded range."""
        if self.first is None and self.before is None:
            return True
        if moment is None:
            return False
        return (self.first is None or moment >= self.first) and (self.before is None or moment < self.before)


ANY_TIME = TimeRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """A selection of pages; every given part must match."""

    labels: tuple[str, ...] = ()
    """Labels of which a page must have at least one; compared as a whole, case-insensitively."""
    author: str = ""
    """E-mail address or name of the author; compared as a whole, case-insensitively."""
    created: TimeRange = ANY_TIME
    updated: TimeRange = ANY_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class PageQuery:
    """A search for pages."""

    text: str
    filter: PageFilter = PageFilter()
    sort: Sort | None = None
    limit: int = 10
    shared_snippets: int | None = None
    """Number of characters that the snippets of all hits share; None if each may have `SNIPPET_CHARS`."""

    def snippet_chars(self, hits: int) -> int:
        """Maximum length of a snippet in characters, `MIN_SNIPPET_CHARS` to `SNIPPET_CHARS`."""
        if self.shared_snippets is None:
            return SNIPPET_CHARS
        return min(SNIPPET_CHARS, max(MIN_SNIPPET_CHARS, self.shared_snippets // max(1, hits)))


@dataclass(frozen=True, slots=True)
class PageHit:
    """A matching page with its snippet."""

    page: Page
    snippet: str
    """Plain text of at most `SNIPPET_CHARS` characters."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The best hits, and the number of all matching pages."""

    hits: tuple[PageHit, ...] = ()
    total: int = 0
    notice: str = ""
    """A sentence about parts of the search that failed; "" if there are none."""


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """The contents of a rebuilt search index."""

    pages: int
    unusable: Sequence[UnusablePage] = ()
    """Files that were skipped."""
    flawed: Sequence[Page] = ()
    """Pages whose frontmatter cannot be read completely; they are indexed with the readable values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFilters:
    """The time filters of a query as callers write them; None if absent."""

    created_after: str | None = None
    created_before: str | None = None
    updated_after: str | None = None
    updated_before: str | None = None
    created_within: str | None = None
    updated_within: str | None = None
    stale: str | None = None

    def created(self, now: float) -> TimeRange:
        """The range of creation times.

        Args:
            now: The current time in unix seconds, from which durations are subtracted.

        Raises:
            InvalidInputError: a value cannot be parsed.
        """
        return _bounds(
            (_first_second(self.created_after, "created_after"), _ago(self.created_within, "created_within", now)),
            (_next_day(self.created_before, "created_before"),),
        )

    def updated(self, now: float) -> TimeRange:
        """The range of modification times; arguments and errors as for `created`."""
        if self.updated_within is not None and self.stale is not None:
            raise InvalidInputError("updated_within and stale exclude each other", kind="argument")
        return _bounds(
            (_first_second(self.updated_after, "updated_after"), _ago(self.updated_within, "updated_within", now)),
            (_next_day(self.updated_before, "updated_before"), _ago(self.stale, "stale", now)),
        )


def checked(query: PageQuery) -> PageQuery:
    """The unchanged query, validated.

    Raises:
        InvalidInputError: the query has no text, filter or sort.
    """
    if not query.text.strip() and query.filter == PageFilter() and query.sort is None:
        raise InvalidInputError("query is empty; give words to search for, a filter or a sort", kind="argument")
    return query


def parse_day(text: str) -> date:
    """A day as `YYYY-MM-DD`.

    Raises:
        ValueError: the text is not a day; the message gives the valid form.
    """
    try:
        day = date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        raise ValueError("must be a day such as 2024-05-31")
    return day


def parse_duration(text: str) -> int:
    """The duration in seconds of `30d`, `2w`, `6m` (months of 30 days) or `1y` (365 days).

    Raises:
        ValueError: the text is not a duration; the message gives the valid form.
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError("must be a duration such as 30d, 2w, 6m or 1y")
    return int(match[1]) * _UNITS[match[2]]


def _bounds(firsts: Sequence[int | None], befores: Sequence[int | None]) -> TimeRange:
    """The intersection of these bounds."""
    return TimeRange(
        max((element for element in firsts if element is not None), default=None),
        min((element for element in befores if element is not None), default=None),
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


# Filters and sorts pages by their frontmatter.


class PageFilterIndex:
    """Index of pages by label and author, so that a filter examines few of them.

    Args:
        pages: Pages in path order, which all results preserve.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = list(pages)
        self._by_label: dict[str, list[int]] = {}
        self._by_author: dict[str, list[int]] = {}
        self._orders: dict[Sort, Sequence[int]] = {}
        self._undated: dict[Sort, Sequence[Page]] = {}
        for place, page in enumerate(self._pages):
            for label in {fold_label(label) for label in page.labels}:
                self._by_label.setdefault(label, []).append(place)
            for author in {fold_label(who) for who in (page.author_email, page.author_name) if who}:
                self._by_author.setdefault(author, []).append(place)

    def matching(self, filter_: PageFilter) -> Sequence[Page]:
        """The pages that match a filter."""
        kept_numbers = self._kept(filter_)
        return self._pages if len(kept_numbers) == len(self._pages) else [self._pages[place] for place in kept_numbers]

    def undated(self, sort: Sort) -> Sequence[Page]:
        """All pages without the date of a sort."""
        if sort not in self._undated:
            self._undated[sort] = [page for page in self._pages if sort_date(page, sort) is None]
        return self._undated[sort]

    def first(self, filter_: PageFilter, sort: Sort | None, limit: int) -> tuple[list[Page], int]:
        """The first pages that match a filter in the order of a sort, and the number of all matches.

        Pages of the same second are in path order. Pages without the date are last, in path order.

        Args:
            filter_: The filter.
            sort: The sort; None for path order.
            limit: Maximum number of pages.
        """
        rest = self._kept(filter_)
        best = rest[:limit] if sort is None else nsmallest(limit, rest, key=self._order(sort).__getitem__)
        return [self._pages[place] for place in best], len(rest)

    def _kept(self, filter_: PageFilter) -> Sequence[int]:
        """Positions of the pages that match a filter, in order."""
        position: Sequence[int] = range(len(self._pages))
        if filter_.labels or filter_.author:
            labelled = self._places(self._by_label, filter_.labels)
            written = self._places(self._by_author, (filter_.author,))
            position = sorted(labelled & written if filter_.labels and filter_.author else labelled | written)
        for name, bounds in (("created", filter_.created), ("updated", filter_.updated)):
            if bounds != ANY_TIME:
                position = [place for place in position if bounds.holds(getattr(self._pages[place], name))]
        return position

    def _order(self, sort: Sort) -> Sequence[int]:
        """Rank of every page in a sort. Cached, because comparing thousands of dates is slow."""
        if sort not in self._orders:
            sign = -1 if sort.startswith("-") else 1
            moments = [sort_date(page, sort) for page in self._pages]
            keys = [(moment is None, sign * (moment or 0)) for moment in moments]
            order = [0] * len(keys)
            for rank, place in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
                order[place] = rank
            self._orders[sort] = order
        return self._orders[sort]

    @staticmethod
    def _places(label: dict[str, list[int]], values: Iterable[str]) -> set[int]:
        return set[int]().union(*(label.get(fold_label(value), ()) for value in values))


def sort_date(page: Page, sort: Sort) -> int | None:
    """The date of a page for a sort."""
    return page.created if sort.endswith("created_at") else page.updated


# The port of a space's search, as a protocol that every search engine implements.


class PageEngine(Protocol):
    """Searches the pages of one space. Every method is thread-safe."""

    @property
    def name(self) -> str:
        """The engine's name for people."""
        ...

    @property
    def url(self) -> str | None:
        """The engine's URL; None if the engine runs in this process."""
        ...

    def connect(self) -> str:
        """Check that the engine responds. Returns a few words for people that confirm the connection.

        Raises:
            UnavailableError: kind "engine": the engine does not respond.
            UnauthenticatedError: the engine rejects the key.
        """
        ...

    def count(self, timeout: float) -> int:
        """Number of pages that can be searched.

        Args:
            timeout: Seconds to wait for an index that is being built.

        Raises:
            NotFoundError: kind "search_index": the space has no index.
            IndexingError: the index is not ready in time.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def rebuild(self, *, afresh: bool = False, dry_run: bool = False) -> RebuildReport:
        """Update the index to the current files. Searches are answered during the update.

        Args:
            afresh: Whether to rebuild the index from nothing.
            dry_run: Whether to only report.

        Raises:
            StorageError: kind "search_index": the index could not be built; the old one is unchanged.
            UnavailableError, UnauthenticatedError: as for `connect`.
        """
        ...

    def search(self, query: PageQuery) -> PageAnswer:
        """The best matching pages. A non-empty text without a letter or digit matches nothing.

        Raises:
            NotFoundError, UnavailableError, UnauthenticatedError: as for `count`.
        """
        ...

    def path_of(self, identifier: str) -> str | None:
        """The path of a page id in the engine's index, not validated; None if it is unknown."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...
