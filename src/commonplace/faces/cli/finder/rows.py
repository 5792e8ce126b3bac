"""The rows of the screen of `commonplace find` as text, for any screen size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commonplace.faces.cli.finder.choices import Choice, Preview
from commonplace.faces.cli.finder.selection import Selection
from commonplace.faces.cli.highlighter import marker
from commonplace.faces.cli.output import BOLD, FAINT, PLAIN, one_line
from commonplace.faces.cli.screen.line_breaks import clipped, wrapped

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
    found = selection.choices
    if not selection.settled and not found.found:
        return "Searching ..."
    shown = len(found.found)
    count = f"{found.total:,} page{'' if found.total == 1 else 's'}"
    told = f"{shown} of {count}" if shown < found.total else count
    return one_line("  ".join(filter(None, [told if shown else "Nothing found.", selection.problem, found.notice])))


def list_rows(selection: Selection, columns: int) -> list[str]:
    """Two rows for each choice: the title with matched words in bold, and the path."""
    mark = marker(selection.text, lambda word: f"{BOLD}{word}{PLAIN}")
    rows: list[str] = []
    for index, one in enumerate(selection.choices.found):
        sign = ">" if index == selection.chosen else " "
        rows.append(f"{sign} {mark(clipped(one_line(one.title), columns - 2))}")
        rows.append(f"{sign} {FAINT}{clipped(_place(one), columns - 2)}{PLAIN}")
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
