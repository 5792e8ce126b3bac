"""The choices while typing: the pages found, and the matching section and text of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Section
from commonplace.domain.query import Filter, ListQuery, SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.faces.cli.highlighter import marker
from commonplace.faces.cli.output import BOLD, PLAIN, shown
from commonplace.faces.cli.pages import path_of
from commonplace.services.collections import Collection, Collections
from commonplace.services.listing import list_documents
from commonplace.services.searches import search

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
        found = [
            (one.collection, one.hit.record, one.hit.sections[0] if one.hit.sections else None) for one in answer.hits
        ]
        return Choices(
            tuple(
                self._choice(collection, record.address, record.title, section.path, section.ordinal)
                if section
                else self._choice(collection, record.address, record.title)
                for collection, record, section in found
            ),
            answer.total,
            answer.notice,
        )

    def _recent(self) -> Choices:
        query = ListQuery(filter=self.filter, sort="updated", descending=True, limit=MAX_CHOICES)
        listing = list_documents(self.collections.members, query)
        found = (self._choice(one.collection, one.record.address, one.record.title) for one in listing.found)
        return Choices(tuple(found), listing.total)

    def _choice(
        self, collection: Collection, address: Address, title: str, heading: tuple[str, ...] = (), ordinal: int = 0
    ) -> Choice:
        path = path_of(self.collections, collection, address)
        below = tuple(heading[1:] if heading[:1] == (title,) else heading)
        return Choice(collection, address, path, title, below, ordinal)

    def preview(self, choice: Choice, text: str) -> Preview:
        """The text of a page from the section on that was found for `text`.

        Raises:
            NotFoundError: the page is not there any more.
            StorageError: it cannot be read.
        """
        document = choice.collection.index.document(choice.address)
        raw = document.raw if document.decodable else document.text.encode()
        section = _section(document, choice.ordinal)
        start = section.start if section.level else 0 if not text.strip() else document.sections[0].start
        span = raw[start : start + MAX_SCANNED_BYTES].decode("utf-8", "replace")
        lines = span.split("\n")
        own = raw.count(b"\n", start, max(start, section.end)) + 1
        first = raw.count(b"\n", 0, start) + 1
        mark = marker(text, lambda word: f"{BOLD}{word}{PLAIN}")
        best = _best(lines[:own], mark)
        skipped = max(0, best - MAX_PREVIEW_LINES // 2)
        part = lines[skipped : skipped + MAX_PREVIEW_LINES]
        return Preview(tuple(mark(_safe(line)) for line in part), first + skipped, best - skipped)


def _best(lines: Sequence[str], mark: Callable[[str], str]) -> int:
    """The index of the line with most matched words, the first of several."""
    counts = [mark(_safe(line)).count(BOLD) for line in lines]
    return max(range(len(counts)), key=counts.__getitem__, default=0)


def _section(document: Document, ordinal: int) -> Section:
    """The section, or the first if the document has changed since it was searched and has fewer."""
    sections = document.sections
    return sections[ordinal] if ordinal < len(sections) else sections[0]


def _safe(line: str) -> str:
    return shown(line.rstrip("\r")[:MAX_PREVIEW_CHARS].expandtabs(4))
