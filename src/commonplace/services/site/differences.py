"""Side-by-side comparison of two versions of a text by lines, and by words within changed lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from commonplace.domain.markdown.line_ends import lines_of

CONTEXT = 3
"""Number of equal lines that are shown before and after a change."""
MAX_LINES = 6_000
"""Maximum number of lines for a full comparison; longer versions have one change, from first to last difference."""
MAX_WORDS = 400
"""Maximum number of words of a line that is compared by words; a longer line is marked as a whole."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Part = tuple[bool, str]
"""A piece of a line: whether it was changed, and its text."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a comparison."""

    kind: Literal["same", "changed", "removed", "added", "gap"]
    old_number: int = 0
    """Line number in the old version from 1; 0 if the old version lacks the line."""
    new_number: int = 0
    old: tuple[Part, ...] = ()
    new: tuple[Part, ...] = ()


def differences(old: str, new: str) -> list[DiffRow]:
    """The rows of a comparison: changed lines with their context; empty if the versions are equal."""
    before, after = lines_of(old), lines_of(new)
    rows: list[DiffRow] = []
    for group in _groups(before, after):
        if rows or group[0][1] or group[0][3]:
            rows.append(DiffRow("gap"))
        for tag, a, b, c, d in group:
            rows += _rows(tag, before[a:b], after[c:d], a + 1, c + 1)
    return rows


_Opcode = tuple[str, int, int, int, int]


def _groups(before: Sequence[str], after: Sequence[str]) -> Iterator[list[_Opcode]]:
    if max(len(before), len(after)) <= MAX_LINES:
        yield from SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT)
        return
    start = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), -1)
    if start < 0 and len(before) == len(after):
        return
    start = min(len(before), len(after)) if start < 0 else start
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    yield [("replace", start, len(before) - tail, start, len(after) - tail)]


def _rows(tag: str, old: Sequence[str], new: Sequence[str], first_old: int, first_new: int) -> Iterator[DiffRow]:
    if tag == "equal":
        for number, line in enumerate(old):
            part = ((False, line),)
            yield DiffRow("same", first_old + number, first_new + number, part, part)
        return
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else None
        after = new[number] if number < len(new) else None
        if before is not None and after is not None:
            left, right = _words(before, after)
            yield DiffRow("changed", first_old + number, first_new + number, left, right)
        elif before is not None:
            yield DiffRow("removed", first_old + number, 0, ((True, before),))
        elif after is not None:
            yield DiffRow("added", 0, first_new + number, (), ((True, after),))


def _words(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > MAX_WORDS:
        return ((True, old),), ((True, new),)
    left: list[Part] = []
    right: list[Part] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if b > a:
            left.append((tag != "equal", "".join(before[a:b])))
        if d > c:
            right.append((tag != "equal", "".join(after[c:d])))
    return tuple(left), tuple(right)
