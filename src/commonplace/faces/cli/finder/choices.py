"""The choices while typing: the pages found, and the matching section and text of each."""

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
"""Pages that can be chosen from."""
MAX_PREVIEW_LINES = 400
"""Lines of a page that are shown beside the list."""
MAX_PREVIEW_CHARS = 1000
"""Characters of each line that are shown."""
MAX_SCANNED_BYTES = 200_000
"""Bytes of a section among whose lines the best one is looked for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A page that was found, and the section of it that answers best."""

    collection: Collection
    address: Address
    path: str
    """As a person may type it."""
    title: str
    heading: tuple[str, ...] = ()
    """Heading of the section if it is not the title; empty for the page as a whole."""
    ordinal: int = 0
    """Position of the section in its document."""
    titled: bool = False
    """Whether the page's title or alias is what was typed; then the page as a whole is the answer."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices, best first; without a question the pages that changed last."""

    found: tuple[Choice, ...] = ()
    total: int = 0
    """Number of all matching pages."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The text of a page at the match."""

    lines: tuple[str, ...] = ()
    """Safe text, the matched words between `BOLD` and `PLAIN`."""
    first_line: int = 1
    """1-based number in the file of the first of them."""
    best: int = 0
    """Index of the one with most matched words."""

    @property
    def line(self) -> int:
        """1-based number in the file of the line with most matched words."""
        return self.first_line + self.best


@dataclass(frozen=True, slots=True)
class Finder:
    """Answers what a person types.

    Args:
        collections: The folders that are searched.
        filter: Which of their pages.
        mode: By words, by meaning, or by both.
    """

    collections: Collections
    filter: Filter
    mode: SearchMode

    def choices(self, text: str) -> Choices:
        """The choices for a text.

        Raises:
            UnavailableError: a search by meaning alone without a model.
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
        """The text of a page from the section on that was found for `text`; from its top if `text` is its title.

        Raises:
            NotFoundError: the page is not there any more.
            StorageError: it cannot be read.
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
    """The index of the line with most matched words, the first of several."""
    counts = [mark(_safe(line)).count(BOLD) for line in lines]
    return max(range(len(counts)), key=counts.__getitem__, default=0)


def _first_written(lines: Sequence[str]) -> int:
    """The index of the first line with text."""
    return next((at for at, line in enumerate(lines) if line.strip()), 0)


def _section(document: Document, ordinal: int) -> Section:
    """The section, or the first if the document has changed since it was searched and has fewer."""
    sections = document.sections
    return sections[ordinal] if ordinal < len(sections) else sections[0]


def _safe(line: str) -> str:
    return shown(line.rstrip("\r")[:MAX_PREVIEW_CHARS].expandtabs(4))
