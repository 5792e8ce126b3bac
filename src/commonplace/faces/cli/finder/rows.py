"""The rows of the screen of `commonplace find` as text, for a screen of any size."""

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
"""Columns from which on the preview stands beside the list instead of below it."""
LOW = 12
"""Rows below which there is no preview."""
FRAME = 3
"""Rows of the line to type in, of the one below it, and of the help."""
ROWS_PER_CHOICE = 2
HELP = "Enter opens   ↑↓ choose   PgUp/PgDn scroll   Esc leaves"


@dataclass(frozen=True, slots=True)
class Panes:
    """How large the list and the preview are on a screen."""

    columns: int
    rows: int

    @property
    def beside(self) -> bool:
        """Whether they stand side by side."""
        return self.columns >= WIDE

    @property
    def preview(self) -> bool:
        """Whether there is room for a preview."""
        return self.rows >= LOW

    @property
    def list_columns(self) -> int:
        """Columns of the list."""
        return self.columns * 2 // 5 if self.beside and self.preview else self.columns

    @property
    def list_rows(self) -> int:
        """Rows of the list: an even number below which the preview stands, or all."""
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
    """How many pages there are, and what there is to say of them."""
    found = selection.choices
    if not selection.settled and not found.found:
        return "Searching ..."
    shown = len(found.found)
    count = f"{found.total:,} page{'' if found.total == 1 else 's'}"
    told = f"{shown} of {count}" if shown < found.total else count
    return one_line("  ".join(filter(None, [told if shown else "Nothing found.", selection.problem, found.notice])))


def list_rows(selection: Selection, columns: int) -> list[str]:
    """Two rows for each page that was found: its title, and where it is; the matched words are bold."""
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
    """The visible part of a preview: from its beginning if that shows the best line, else around that line.

    Args:
        preview: What the page says.
        panes: The room there is.
        scrolled: Rows by which a person scrolled it down, negative for up.

    Returns:
        The rows, and by how many it could be scrolled.
    """
    rows, best = _wrapped(preview.lines, preview.best, panes.text_columns)
    room = panes.text_rows
    begin = 0 if best < room else best - room // 2
    top = max(0, min(begin + scrolled, len(rows) - room))
    return list(rows[top : top + room]), top - begin


@lru_cache(4)
def _wrapped(lines: Sequence[str], best: int, columns: int) -> tuple[Sequence[str], int]:
    """The lines broken between words, and the row at which the best one begins."""
    rows: list[str] = []
    at = 0
    for index, line in enumerate(lines):
        if index == best:
            at = len(rows)
        rows += wrapped(line, columns)
    return tuple(rows), at
