"""The outline of a document in the catalogue: its sections, with the byte ranges of their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from commonplace.domain.document_reader import FragmentMarks, FragmentNames
from commonplace.domain.documents import Section

# Rows contain no containers, so there can be no cycles.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode

_Row = tuple[int, str, str, int, int, int]
"""Level, heading, anchor, and byte offsets of the section, of its text and of its end."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of one document, in order; at least one."""

    _rows: Sequence[_Row]

    @staticmethod
    def of(sections: Sequence[Section]) -> Outline:
        """The outline of a parsed document."""
        return Outline([(s.level, s.heading, s.anchor, s.start, s.content, s.end) for s in sections])

    @staticmethod
    def from_stored(stored: str) -> Outline:
        """Parse the result of `stored`."""
        return Outline(json.loads(stored))

    def stored(self) -> str:
        """The form stored in the catalogue."""
        return _encode(self._rows)

    @property
    def last(self) -> int:
        """Ordinal of the last section."""
        return len(self._rows) - 1

    def anchor(self, ordinal: int) -> str:
        """The anchor of a section."""
        return self._rows[ordinal][2]

    def text(self, ordinal: int) -> slice:
        """The byte range of a section's own text, without its heading and its subsections, which may be suppressed."""
        return slice(*self._rows[ordinal][4:6])

    def path(self, ordinal: int) -> tuple[str, ...]:
        """The headings from the outermost to the section's own; empty for the text before the first heading."""
        path: list[str] = []
        lowest = 7
        for level, heading, *_ in reversed(self._rows[: ordinal + 1]):
            if 0 < level < lowest:
                path.append(heading)
                lowest = level
        return tuple(reversed(path))

    def first_with_text(self) -> int:
        """The first section with text other than a line end; otherwise the first section."""
        return next((at for at, row in enumerate(self._rows) if row[5] - row[4] > 1), 0)


class OutlinePart(NamedTuple):
    """The names of a section that fragments of links refer to."""

    path: tuple[str, ...]
    anchor: str


def stored_marks(marks: FragmentMarks) -> str:
    """The form of a document's other names that is stored in the catalogue; "" if there are none."""
    return _encode((marks.sources, list(marks.elements), list(marks.blocks))) if any(marks) else ""


def fragment_names(outline: str, marks: str) -> FragmentNames[OutlinePart]:
    """The names of a document's parts, from its stored outline and the result of `stored_marks`."""
    parts: list[OutlinePart] = []
    above: list[tuple[int, str]] = []
    for level, heading, anchor, *_ in json.loads(outline):
        while above and above[-1][0] >= level:
            above.pop()
        above += [(level, heading)] if level else []
        parts.append(OutlinePart(tuple([text for _, text in above]), anchor))
    if not marks:
        return FragmentNames(parts, FragmentMarks({}, (), ()))
    sources, elements, blocks = cast("tuple[dict[str, str], list[str], list[str]]", json.loads(marks))
    return FragmentNames(parts, FragmentMarks(sources, frozenset(elements), frozenset(blocks)))
