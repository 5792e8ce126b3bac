"""Positions of the protocol (line, and character in the units that the client chose) and byte offsets of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from difflib import SequenceMatcher

from lsprotocol.types import Position, PositionEncodingKind, Range, TextEdit

from commonplace.domain.documents import Span

_LINE_END = re.compile(rb"\r\n|\n|\r")
_CODECS = {PositionEncodingKind.Utf8: ("utf-8", 1), PositionEncodingKind.Utf32: ("utf-32-le", 4)}
"""Codec and bytes per unit of a position encoding; any other one is UTF-16, the protocol's default."""


class LineTable:
    """The lines of a text.

    Args:
        text: The text in UTF-8.
        encoding: The position encoding that client and server agreed on.
    """

    def __init__(self, text: bytes, encoding: PositionEncodingKind | str | None = None) -> None:
        self.text = text
        self.encoding = encoding
        """The position encoding, as given."""
        self._codec, self._unit = _CODECS.get(PositionEncodingKind(encoding or "utf-16"), ("utf-16-le", 2))
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        """The position of a byte offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset].decode("utf-8", "replace")
        return Position(line, len(before.encode(self._codec, "replace")) // self._unit)

    def offset(self, position: Position) -> int:
        """The byte offset of a position; one past the end of its line, or of the text, means that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start, line = self._starts[position.line], self.line(position.line)
        units = line.decode("utf-8", "replace").encode(self._codec, "replace")[: position.character * self._unit]
        return start + len(units.decode(self._codec, "ignore").encode())

    def line(self, number: int) -> bytes:
        """A line without its end, by 0-based number; b"" if there is none."""
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
    """The edits of whole lines that turn one text into another."""
    old, new = before.text.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    edits: list[TextEdit] = []
    for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            inserted = b"".join(new[begin:end]).decode("utf-8", "replace")
            edits.append(TextEdit(before.range(Span(starts[first], starts[last])), inserted))
    return edits
