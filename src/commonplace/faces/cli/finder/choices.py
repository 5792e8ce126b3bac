"""The choices while a person types: the pages found, with the matching section and text of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Section
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.faces.cli.highlighter import marker
from commonplace.faces.cli.output import BOLD, PLAIN, shown
from commonplace.faces.cli.pages import path_of
from commonplace.services.collections import Collection, Collections
from commonplace.services.listing import list_documents
from commonplace.services.searches import FoundHit, search

MAX_CHOICES = 100
"""Maximum number of choices."""
MAX_PREVIEW_LINES = 400
"""Maximum number of lines in a preview."""
MAX_PREVIEW_CHARS = 1000
"""Maximum characters of a preview's line."""
MAX_SCANNED_BYTES = 200_000
"""Maximum number of bytes that are searched for the best line of a section."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A page that was found, and its best section."""

    collection: Collection
    address: Address
    path: str
    """The path in the form that commands accept."""
    title: str
    heading: tuple[str, ...] = ()
    """Heading of the section if it is not the title; empty for the page as a whole."""
    ordinal: int = 0
    """Position of the section in its document."""
    titled: bool = False
    """Whether the query matches the page's title or alias. Then the page as a whole is the match."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices, best first. For an empty query, the most recently changed pages."""

    found: tuple[Choice, ...] = ()
    total: int = 0
    """Number of all matching pages."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The text of a page around the match."""

    lines: tuple[str, ...] = ()
    """Lines without control characters; matched words are between `BOLD` and `PLAIN`."""
    first_line: int = 1
    """Number of the first of these lines in the file, from 1."""
    best: int = 0
    """Index of the line with most matched words."""

    @property
    def line(self) -> int:
        """Number of the line with most matched words in the file, from 1."""
        return self.first_line + self.best


@dataclass(frozen=True, slots=True)
class Finder:
    """Computes choices and previews.

    Args:
        collections: The collections to search.
        filter: The filter for pages.
        mode: Search by words, by meaning, or by both.
    """

    collections: Collections
    filter: Filter
    mode: SearchMode

    def choices(self, text: str) -> Choices:
        """The choices for a query.

        Raises:
            UnavailableError: the mode is by meaning alone, and no model is installed.
        """
        if not text.strip():
            return self._recent()
        query = SearchQuery(text=text, filter=self.filter, limit=MAX_CHOICES, snippet=0)
        answer = search(self.collections.members, query, self.mode)
        return Choices(tuple(map(self._found, answer.hits)), answer.total, answer.notice)

    def _recent(self) -> Choices:
        query = ListQuery(filter=self.filter, sort="updated", descending=True, limit=MAX_CHOICES)
        listing = list_documents(self.collections.members, query)
        found = (self._page(one.collection, one.record) for one in listing.found)
        return Choices(tuple(found), listing.total)

    def _found(self, found: FoundHit) -> Choice:
        page = self._page(found.collection, found.hit.record)
        if found.hit.titled or not found.hit.sections:
            return replace(page, titled=found.hit.titled)
        section = found.hit.sections[0]
        below = section.path[1:] if section.path[:1] == (page.title,) else section.path
        return replace(page, heading=tuple(below), ordinal=section.ordinal)

    def _page(self, collection: Collection, record: Record) -> Choice:
        path = path_of(self.collections, collection, record.address)
        return Choice(collection, record.address, path, record.title)

    def preview(self, choice: Choice, text: str) -> Preview:
        """The text of a page, starting at the choice's section; from the start of the page if the title matched `text`.

        Raises:
            NotFoundError: the page has been deleted.
            StorageError: the page cannot be read.
        """
        document = choice.collection.index.document(choice.address)
        raw = document.encoded
        section = _section(document, choice.ordinal)
        start = section.start if section.level else 0 if not text.strip() else document.sections[0].start
        span = raw[start : start + MAX_SCANNED_BYTES].decode("utf-8", "replace")
        lines = span.split("\n")
        own = raw.count(b"\n", start, max(start, section.end)) + 1
        first = raw.count(b"\n", 0, start) + 1
        mark = marker(text, lambda word: f"{BOLD}{word}{PLAIN}")
        best = _first_written(lines) if choice.titled else _best(lines[:own], mark)
        skipped = max(0, best - MAX_PREVIEW_LINES // 2)
        part = lines[skipped : skipped + MAX_PREVIEW_LINES]
        return Preview(tuple(mark(_safe(line)) for line in part), first + skipped, best - skipped)


def _best(lines: Sequence[str], mark: Callable[[str], str]) -> int:
    """The index of the line with most matched words; the first of equals."""
    counts = [mark(_safe(line)).count(BOLD) for line in lines]
    return max(range(len(counts)), key=counts.__getitem__, default=0)


def _first_written(lines: Sequence[str]) -> int:
    """The index of the first line with text."""
    return next((at for at, line in enumerate(lines) if line.strip()), 0)


def _section(document: Document, ordinal: int) -> Section:
    """The section; the first one if the document has changed since the search and has fewer sections."""
    sections = document.sections
    return sections[ordinal] if ordinal < len(sections) else sections[0]


def _safe(line: str) -> str:
    return shown(line.rstrip("\r")[:MAX_PREVIEW_CHARS].expandtabs(4))
