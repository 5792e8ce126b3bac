"""Conversion between positions of the protocol (line and character) and byte offsets of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from lsprotocol.types import Position, PositionEncodingKind, Range, TextEdit

from commonplace.domain.documents import Span

_LINE_END = re.compile(rb"\r\n|\n|\r")
STEP = 512
"""Interval in bytes at which character counts of a long line are cached."""
_CODECS = {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf32: ("utf-32-le", 4)}
"""Codec and bytes per unit of a position encoding. The default is UTF-16, as in the protocol."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""Continuation bytes of UTF-8 characters."""
_FOUR_BYTES = bytes(range(0xF0, 0x100))
"""First bytes of characters that take two units in UTF-16."""


class LineTable:
    """The lines of a text. A byte order mark belongs to no line, because editors do not show it.

    Args:
        text: The text in UTF-8.
        encoding: The position encoding that client and server agreed on; None for UTF-16.
    """

    def __init__(self, text: bytes, encoding: PositionEncodingKind | str | None = None) -> None:
        self.text = text
        self.encoding = encoding
        """The position encoding, as given."""
        self._codec, self._unit = _CODECS.get(PositionEncodingKind(encoding or "utf-16"), ("utf-16-le", 2))
        first = len(BOM_UTF8) if text.startswith(BOM_UTF8) else 0
        self._starts = [first, *(found.end() for found in _LINE_END.finditer(text))]
        self._counted: tuple[int, list[int]] = (-1, [])
        """Number of the most recently used line, and its character counts before each multiple of `STEP` bytes."""

    def position(self, offset: int) -> Position:
        """The position of a byte offset."""
        line = max(bisect_right(self._starts, offset) - 1, 0)
        start = self._starts[line]
        number, counts = self._counted
        if number != line:
            counts = [0]
            self._counted = (line, counts)
        for at in range(len(counts), (offset - start) // STEP + 1):
            counts.append(counts[-1] + self._units(start + STEP * (at - 1), start + STEP * at))
        nearest = max(offset - start, 0) // STEP
        return Position(line, counts[nearest] + self._units(start + STEP * nearest, offset))

    def _units(self, start: int, end: int) -> int:
        """Length of a part of the text in units. A character counts at its first byte."""
        part = self.text[start:end]
        if self._codec == "utf-8" or part.isascii():
            return len(part)
        characters = len(part.translate(None, _CONTINUATION))
        return characters + (len(part) - len(part.translate(None, _FOUR_BYTES)) if self._codec == "utf-16-le" else 0)

    def offset(self, position: Position) -> int:
        """The byte offset of a position. A position beyond the end of its line or of the text means that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, line = self._starts[position.line], self.line(position.line)
        units = line.decode("utf-8", "replace").encode(self._codec, "replace")[: position.character * self._unit]
        return start + len(units.decode(self._codec, "ignore").encode())

    def line(self, number: int) -> bytes:
        """A line without its line end, by number from 0; b"" if there is no such line."""
        if number >= len(self._starts):
            return b""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip(b"\r\n")

    def range(self, span: Span) -> Range:
        """The range of a span."""
        return Range(self.position(span.start), self.position(span.end))

    def line_range(self, number: int) -> Range:
        """The range of a line's text, by 0-based number."""
        start = self._starts[min(number, len(self._starts) - 1)]
        return self.range(Span(start, start + len(self.line(number))))


def text_edits(before: LineTable, after: bytes) -> list[TextEdit]:
    """The edits, in whole lines, that turn one text into the other."""
    old, new = before.text.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits: list[TextEdit] = []
    for first, last, begin, end in _differences(old, new):
        inserted = b"".join(new[begin:end]).decode("utf-8", "replace").removeprefix("\ufeff" if begin == 0 else "")
        edits.append(TextEdit(before.range(Span(starts[first], starts[last])), inserted))
    return edits


def _differences(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """The differing runs of lines: start and end in the old lines, then in the new lines; ends are exclusive.

    If both texts have the same number of lines, lines are compared by position. Rewritten links do not change the
    number of lines, and a full comparison takes seconds on a long page.
    """
    if len(old) == len(new):
        for differs, numbers in groupby(range(len(old)), lambda number: old[number] != new[number]):
            if differs:
                run = list(numbers)
                yield run[0], run[-1] + 1, run[0], run[-1] + 1
        return
    for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield first, last, begin, end
