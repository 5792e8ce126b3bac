"""Choices, previews and selection of `find`, without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Filter, ListQuery, Record, SearchMode, SearchQuery
from commonplace.faces.cli.output import BOLD, FAINT, PLAIN, clipped, one_line, shown, wrapped
from commonplace.faces.cli.pages import marker, path_of
from commonplace.services.collections import Collection, Collections
from commonplace.services.listing import list_documents
from commonplace.services.searches import FoundHit, search


class Selection:
    """The query, its choices, and the selected choice.

    Args:
        finder: Computes choices and previews.
        worker: Runs the searches, so that the screen stays responsive.
        text: Initial query.
    """

    def __init__(self, finder: Finder, worker: Executor, text: str) -> None:
        self.text = text
        self.choices = Choices()
        self.preview = Preview()
        self.problem = ""
        """Reason why the selected page cannot be shown; "" if there is none."""
        self._finder = finder
        self._worker = worker
        self._chosen = 0
        self._answered: str | None = None
        """The query that `choices` belongs to; None before the first result."""
        self._previewed: Choice | None = None
        self._changed = asyncio.Event()
        self._changed.set()

    @property
    def chosen(self) -> int:
        """Index of the selected choice; 0 if there are none."""
        return self._chosen

    @property
    def choice(self) -> Choice | None:
        """The selected choice; None if there are none."""
        return self.choices.found[self._chosen] if self.choices.found else None

    @property
    def settled(self) -> bool:
        """Whether choices and preview are up to date with the query and the selection."""
        return self._answered == self.text and self._previewed is self.choice

    def type(self, text: str) -> None:
        """Replace the query."""
        self.text = text
        self._changed.set()

    def move(self, steps: int) -> None:
        """Move the selection down by `steps`, or up if negative, within the list."""
        self._chosen = max(0, min(self._chosen + steps, len(self.choices.found) - 1))
        self._changed.set()

    async def follow(self, changed: Callable[[], None]) -> None:
        """Update choices and preview after each change, until cancelled. Outdated queries are skipped.

        Args:
            changed: Called after each update.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            while not self.settled:
                await (self._search() if self._answered != self.text else self._read())
                changed()
            changed()

    async def _search(self) -> None:
        text, loop = self.text, asyncio.get_running_loop()
        try:
            self.choices = await loop.run_in_executor(self._worker, self._finder.choices, text)
        except KnowledgeError as error:
            self.choices = Choices(notice=str(error))
        self._answered, self._chosen, self._previewed = text, 0, None
        if not self.choices.found:
            self.preview = Preview()

    async def _read(self) -> None:
        choice, loop = self.choice, asyncio.get_running_loop()
        if choice is None:
            return
        try:
            preview = await loop.run_in_executor(self._worker, self._finder.preview, choice, self._answered or "")
            self.preview, self.problem = preview, ""
        except KnowledgeError as error:
            self.preview, self.problem = Preview(), str(error)
        self._previewed = choice


# The choices while a person types: the pages found, with the matching section and text of each.


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
        choices = (self._page(document.collection, document.record) for document in listing.found)
        return Choices(tuple(choices), listing.total)

    def _found(self, hit: FoundHit) -> Choice:
        page = self._page(hit.collection, hit.hit.record)
        if hit.hit.titled or not hit.hit.sections:
            return replace(page, titled=hit.hit.titled)
        section = hit.hit.sections[0]
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


# The rows of the screen of `commonplace find` as text, for any screen size.


WIDE = 100
"""Minimum number of columns for a preview beside the list; on a narrower screen it is below the list."""
LOW = 12
"""Minimum number of rows for a preview."""
FRAME = 3
"""Rows for the input line, the state line and the help."""
ROWS_PER_CHOICE = 2
HELP = "Enter opens   ↑↓ choose   PgUp/PgDn scroll   Esc leaves"


@dataclass(frozen=True, slots=True)
class Panes:
    """Layout of the list and the preview for a screen size."""

    columns: int
    rows: int

    @property
    def beside(self) -> bool:
        """Whether the preview is beside the list."""
        return self.columns >= WIDE

    @property
    def preview(self) -> bool:
        """Whether the screen is high enough for a preview."""
        return self.rows >= LOW

    @property
    def list_columns(self) -> int:
        """Columns of the list."""
        return self.columns * 2 // 5 if self.beside and self.preview else self.columns

    @property
    def list_rows(self) -> int:
        """Rows of the list. With a preview below, an even number of about half the screen."""
        room = max(ROWS_PER_CHOICE, self.rows - FRAME)
        return room if self.beside or not self.preview else (room - 1) // 2 // ROWS_PER_CHOICE * ROWS_PER_CHOICE

    @property
    def text_columns(self) -> int:
        """Columns of the preview."""
        return max(1, self.columns - self.list_columns - 2 if self.beside else self.columns)

    @property
    def text_rows(self) -> int:
        """Rows of the preview."""
        return max(1, self.rows - FRAME - (0 if self.beside else self.list_rows + 1))


def state_row(selection: Selection) -> str:
    """The state line: the number of pages found, an error if any, and the notice of the search."""
    choices = selection.choices
    if not selection.settled and not choices.found:
        return "Searching ..."
    shown = len(choices.found)
    count = f"{choices.total:,} page{'' if choices.total == 1 else 's'}"
    reported_count = f"{shown} of {count}" if shown < choices.total else count
    return one_line(
        "  ".join(filter(None, [reported_count if shown else "Nothing found.", selection.problem, choices.notice]))
    )


def list_rows(selection: Selection, columns: int) -> list[str]:
    """Two rows for each choice: the title with matched words in bold, and the path."""
    mark = marker(selection.text, lambda word: f"{BOLD}{word}{PLAIN}")
    rows: list[str] = []
    for index, choice in enumerate(selection.choices.found):
        sign = ">" if index == selection.chosen else " "
        rows.append(f"{sign} {mark(clipped(one_line(choice.title), columns - 2))}")
        rows.append(f"{sign} {FAINT}{clipped(_place(choice), columns - 2)}{PLAIN}")
    return rows


def _place(choice: Choice) -> str:
    return one_line(" > ".join((choice.path, *choice.heading)))


def text_rows(preview: Preview, panes: Panes, scrolled: int) -> tuple[list[str], int]:
    """The visible rows of a preview: from its start if the best line is visible there, else around the best line.

    Args:
        preview: The preview.
        panes: The layout of the screen.
        scrolled: Rows scrolled down; negative for up.

    Returns:
        The rows, and `scrolled` limited to the possible range.
    """
    rows, best = _wrapped(preview.lines, preview.best, panes.text_columns)
    room = panes.text_rows
    begin = 0 if best < room else best - room // 2
    top = max(0, min(begin + scrolled, len(rows) - room))
    return list(rows[top : top + room]), top - begin


@lru_cache(4)
def _wrapped(lines: Sequence[str], best: int, columns: int) -> tuple[Sequence[str], int]:
    """The lines wrapped between words, and the index of the best line's first row."""
    rows: list[str] = []
    at = 0
    for index, line in enumerate(lines):
        if index == best:
            at = len(rows)
        rows += wrapped(line, columns)
    return tuple(rows), at
