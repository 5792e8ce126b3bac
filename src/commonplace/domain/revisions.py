"""Revisions of documents, Git LFS pointers, the conditions of a write, and the changed lines of two revisions."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import NamedTuple
from zlib import crc32

from commonplace.domain.changes import Revision
from commonplace.domain.errors import ConflictError, InvalidInputError, PreconditionError

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
MAX_POINTER_BYTES = 1024
"""Maximum size in bytes of a pointer, by the specification of Git LFS."""
_REVISION = re.compile(r"[0-9a-fA-F]{7,40}")
MAX_CHANGES = 20
"""Maximum number of lines that describe a difference."""
MAX_CHANGED_LINE = 200
"""Maximum length in characters of a changed line that is shown."""
MAX_EDITS = 256
"""Maximum number of removed and added lines in a row up to which their number is the least possible."""


def revision_of(raw: bytes) -> Revision:
    """The 40 hex digits that `git hash-object` prints for these bytes."""
    return sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def is_revision(text: str) -> bool:
    """Whether a text has the form of a full or abbreviated revision: 7 to 40 hex digits."""
    return _REVISION.fullmatch(text) is not None


def is_pointer(raw: bytes) -> bool:
    """Whether the bytes are a Git LFS pointer, whose real content is missing."""
    return len(raw) <= MAX_POINTER_BYTES and raw.startswith(LFS_POINTER)


def require_revision(raw: bytes, expected: str) -> None:
    """Check that the bytes are still at the revision that the writer saw.

    Args:
        raw: The current bytes of the document.
        expected: The revision that the writer saw, or its first 7 or more digits.

    Raises:
        InvalidInputError: `expected` is not a revision.
        ConflictError: another revision is current; context holds `current_revision`.
    """
    if not is_revision(expected):
        raise InvalidInputError(
            f"Invalid revision {expected[:60]!r}: expected 7 to 40 hex digits.",
            kind="revision",
            hint="Read the document and use the revision that it gives.",
        )
    current = revision_of(raw)
    if not current.startswith(expected.lower()):
        raise ConflictError(
            "The document was changed since it was read.",
            kind="document",
            hint="Read it again, apply the change to what it says now, and retry with the current revision.",
            current_revision=current,
        )


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a request on the current revision (RFC 9110, section 13.1)."""

    match: tuple[str, ...] | None = None
    """`If-Match`: revisions one of which must be current, or ("*",) for any; None without the header."""
    none_match: tuple[str, ...] | None = None
    """`If-None-Match`: revisions none of which may be current, or ("*",) for any; None without the header."""

    @property
    def is_empty(self) -> bool:
        """Whether there are no conditions."""
        return self.match is None and self.none_match is None

    def require_match(self, current: Collection[str]) -> None:
        """Check `If-Match`.

        Args:
            current: The names of the current revision; the first is reported. Empty if nothing exists.

        Raises:
            PreconditionError: the condition is false.
        """
        if not self.is_matched(current):
            raise _false("If-Match", current)

    def is_matched(self, current: Collection[str]) -> bool:
        """Whether `If-Match` is true; always true without the header."""
        return self.match is None or _names_one(self.match, current)

    def is_known(self, current: Collection[str]) -> bool:
        """Whether `If-None-Match` names the current revision. Then a write is rejected, and a read answered by 304."""
        row = self.none_match or ()
        return bool(current) and ("*" in row or any(name in row for name in current))

    def require(self, current: Collection[str]) -> None:
        """Check both conditions. Raises the same errors as `require_match`."""
        self.require_match(current)
        if self.is_known(current):
            raise _false("If-None-Match", current)


UNCONDITIONAL = Conditions()


def _names_one(matches: Sequence[str], current: Collection[str]) -> bool:
    """Whether one of the given revisions, full or abbreviated to 7 or more digits, is a name of the current one."""
    if not current:
        return False
    return "*" in matches or any(
        is_revision(tag) and any(known_text.startswith(tag.lower()) for known_text in current) for tag in matches
    )


def _false(header: str, current: Collection[str]) -> PreconditionError:
    state = "is at another revision" if header == "If-Match" else "is at that revision"
    return PreconditionError(
        f"{header} is false: there is nothing here." if not current else f"{header} is false: this {state}.",
        kind="revision",
        hint="Read it again and send the ETag that it has now.",
        current_revision=next(iter(current), ""),
    )


def line_marks(raw: bytes) -> array[int]:
    """A 32-bit checksum (CRC-32) of each line, for a later comparison without the text."""
    return array("I", map(crc32, raw.splitlines()))


def changed_lines(before: Sequence[int], raw: bytes) -> tuple[str, ...]:
    """Descriptions of the lines that differ, at most `MAX_CHANGES`.

    Args:
        before: The checksums of the old text.
        raw: The new text.
    """
    lines = raw.splitlines()
    after = line_marks(raw)
    descriptions: list[str] = []
    for old_start, old_end, new_start, new_end in changed_ranges(before, after):
        if old_end > old_start:
            descriptions.append(f"{_lines(old_start, old_end)} removed")
        descriptions += [f"line {at + 1} added: {_shown(lines[at])}" for at in range(new_start, new_end)]
    if len(descriptions) > MAX_CHANGES:
        descriptions[MAX_CHANGES - 1 :] = [f"and {len(descriptions) - MAX_CHANGES + 1} more changes"]
    return tuple(descriptions)


class ChangedRange(NamedTuple):
    """Lines of an old text that differ from those of a new one in the same place."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_ranges(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[ChangedRange]:
    """The ranges of lines that differ, in order: as few lines as possible, unless more than `MAX_EDITS` differ.

    The time grows with the number of lines, and with that of the changed ones.
    """
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    tail = next((at for at in range(least - start) if old[-1 - at] != new[-1 - at]), least - start)
    ends = len(old) - tail, len(new) - tail
    ranges: list[ChangedRange] = []
    x = y = start
    for same in _common_lines(old, new, start, ends):
        if same != (x, y):
            ranges.append(ChangedRange(x, same[0], y, same[1]))
        x, y = same[0] + 1, same[1] + 1
    return ranges if (x, y) == ends else [*ranges, ChangedRange(x, ends[0], y, ends[1])]


def _common_lines(
    old: Sequence[Hashable], new: Sequence[Hashable], start: int, ends: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """The lines that both texts have in the same order, as (old line, new line)."""
    theirs, ours = set(new[start : ends[1]]), set(old[start : ends[0]])
    left = [at for at in range(start, ends[0]) if old[at] in theirs]  # a line that the other lacks is in no run
    right = [at for at in range(start, ends[1]) if new[at] in ours]
    for x, y, length in _common_runs([old[at] for at in left], [new[at] for at in right]):
        yield from zip(left[x : x + length], right[y : y + length], strict=True)


class _Run(NamedTuple):
    """The last lines of a path through two texts that both have, and those before."""

    place: tuple[int, int, int]
    """The line of each text where it begins, and its length."""
    before: _Run | None


def _common_runs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """The runs of lines in common, as (old line, new line, length)."""
    runs: list[tuple[int, int, int]] = []
    place = 0, 0
    while place != (len(old), len(new)):
        place, run = _furthest(old, new, place)
        part: list[tuple[int, int, int]] = []
        while run is not None:
            part.append(run.place)
            run = run.before
        runs += reversed(part)
    return runs


def _furthest(
    old: Sequence[Hashable], new: Sequence[Hashable], start: tuple[int, int]
) -> tuple[tuple[int, int], _Run | None]:
    """The furthest place that `MAX_EDITS` removed and added lines lead to, by Myers (1986), and the runs until there.

    A diagonal is the line of the old text minus that of the new one.
    """
    middle, end = start[0] - start[1], (len(old), len(new))
    reached: dict[int, tuple[int, _Run | None]] = {middle + 1: (start[0], None)}
    for edits in range(MAX_EDITS + 1):
        for diagonal in range(middle - edits, middle + edits + 1, 2):
            removed, added = reached.get(diagonal - 1, (-1, None)), reached.get(diagonal + 1, (-1, None))
            x, run = added if added[0] > removed[0] else (removed[0] + 1, removed[1])
            length = _same_length(old, new, x, x - diagonal)
            if length:
                run = _Run((x, x - diagonal, length), run)
                x += length
            reached[diagonal] = x, run
            if x >= end[0] and x - diagonal >= end[1]:
                return end, run
    places = [((min(x, end[0]), min(x - diagonal, end[1])), run) for diagonal, (x, run) in reached.items()]
    return max(places, key=lambda place: sum(place[0]))


def _same_length(old: Sequence[Hashable], new: Sequence[Hashable], x: int, y: int) -> int:
    """The number of equal lines from a place on."""
    first = x
    while x < len(old) and y < len(new) and old[x] == new[y]:
        x += 1
        y += 1
    return x - first


def _lines(start: int, end: int) -> str:
    return f"line {start + 1}" if end == start + 1 else f"lines {start + 1} to {end}"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= MAX_CHANGED_LINE else f"{text[: MAX_CHANGED_LINE - 3]}..."
