"""Wraps lines between words, so that the terminal does not break them inside a word.

Escape sequences of styles and links have no width. They are closed before each line break and reopened after it,
because a pager resets them at line ends.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

MAX_INDENT_SHARE = 2
"""Continuation lines are indented by at most the width divided by this number."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
_PIECE = re.compile(rf"{_ESCAPE.pattern}|.", re.DOTALL)
_UNIT = re.compile(r"(?P<blank>[ ]+)|[^ ]+")
_LEAD = re.compile(r"(?:\x1b\[[0-9;]*m)*(?P<lead>[ ]*(?:(?:[-*+]|\d{1,3}[.)]|>)[ ]+)*)")
_NOT_FIRST = frozenset({"Lm", "Mc", "Me", "Mn", "Cf", "Pe", "Pf", "Po"})
"""Unicode categories of characters that must not begin a line."""
_NOT_LAST = frozenset({"Ps", "Pi"})
"""Unicode categories of characters that must not end a line."""
_TAB = 8
_END_STYLE, _LINK, _END_LINK = "\x1b[0m", "\x1b]8;", "\x1b]8;;\x1b\\"


def width(text: str) -> int:
    """Width of a text without escape sequences, in columns."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def clipped(text: str, columns: int) -> str:
    """The text, truncated to this many columns, with an ellipsis if something was removed.

    Args:
        text: Text without escape sequences.
        columns: Maximum width, at least 1.
    """
    if width(text) <= columns:
        return text
    used = 1
    for index, letter in enumerate(text):
        used += _columns(letter)
        if used > columns:
            return f"{text[:index].rstrip()}…"
    return text


def _columns(letter: str) -> int:
    if _is_wide(letter):
        return 2
    return 0 if unicodedata.category(letter) in {"Mn", "Me", "Cf"} else 1


def wrapped(line: str, columns: int, indent: int | None = None) -> list[str]:
    """Wrap a line between words. A word longer than `columns` is not broken.

    Args:
        line: A line without a line end; may contain styles and links.
        columns: Maximum width, at least 1.
        indent: Indentation of continuation lines, in blanks; None for that of the first line including list marks.
    """
    line = line.expandtabs(_TAB) if "\t" in line else line
    if len(line) <= columns and line.isascii():
        return [line]
    if indent is None:
        match = _LEAD.match(line)
        indent = len(match["lead"]) if match else 0
    broken = _Lines(columns, min(indent, columns // MAX_INDENT_SHARE))
    for found_match in _UNIT.finditer(line):
        if found_match["blank"]:
            broken.blanks += found_match[0]
        else:
            for word in _words(found_match[0]):
                broken.take_word(word)
    return broken.end()


@dataclass(slots=True)
class _Lines:
    """Output lines of `wrapped`, and the state of the current one."""

    columns: int
    indent: int
    done: list[str] = field(default_factory=list[str])
    line: str = ""
    used: int = 0
    """Width of the current line, in columns."""
    filled: bool = False
    """Whether the line has a word."""
    blanks: str = ""
    """Blanks after the last word; dropped at a line break."""
    style: str = ""
    link: str = ""

    def take_word(self, word: str) -> None:
        """Append a word to the current line, or to a new line if it does not fit."""
        taken = width(_ESCAPE.sub("", word))
        if self.filled and self.used + len(self.blanks) + taken > self.columns:
            self._break()
        self.line += self.blanks + word
        self.used += len(self.blanks) + taken
        self.blanks = ""
        self.filled = True
        for sequence in _ESCAPE.findall(word):
            if sequence.startswith(_LINK):
                self.link = "" if sequence == _END_LINK else sequence
            else:
                self.style = "" if sequence == _END_STYLE else self.style + sequence

    def end(self) -> list[str]:
        """All lines, including the current one."""
        return [*self.done, self.line + self.blanks]

    def _break(self) -> None:
        closed = (_END_LINK if self.link else "") + (_END_STYLE if self.style else "")
        self.done.append(self.line.rstrip(" ") + closed)
        self.line = " " * self.indent + self.style + self.link
        self.used, self.filled, self.blanks = self.indent, False, ""


def _words(text: str) -> list[str]:
    """The parts of a word between which a line may break. Breaks are permitted around wide characters."""
    if text.isascii():
        return [text]
    parts: list[str] = []
    begun, last = "", " "  # escape sequences before the next letter, and the letter before it
    for piece in _PIECE.findall(text):
        if piece in {_END_STYLE, _END_LINK} and parts:
            parts[-1] += piece
        elif len(piece) > 1:
            begun += piece
        else:
            if not parts or _may_break(last, piece):
                parts.append(begun + piece)
            else:
                parts[-1] += begun + piece
            begun, last = "", piece
    return [*parts, begun] if begun else parts


def _may_break(last: str, letter: str) -> bool:
    """Whether a line may break between two adjacent letters."""
    if not (_is_wide(letter) or _is_wide(last)):
        return False
    return unicodedata.category(letter) not in _NOT_FIRST and unicodedata.category(last) not in _NOT_LAST


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"
