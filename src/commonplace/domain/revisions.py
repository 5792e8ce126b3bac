"""Revisions of documents, Git LFS pointers, the conditions of a write, and the changed lines of two revisions."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from hashlib import sha1
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
_MAX_COMPARED = 500
"""Maximum number of lines on each side that are compared line by line; a longer range counts as changed as a whole."""


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
    start = next((i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), None)
    start = min(len(before), len(after)) if start is None else start
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    descriptions: list[str] = []
    for old_start, old_end, new_start, new_end in _blocks(before, after, start, tail):
        if old_end > old_start:
            descriptions.append(f"{_lines(old_start, old_end)} removed")
        descriptions += [f"line {at + 1} added: {_shown(lines[at])}" for at in range(new_start, new_end)]
    if len(descriptions) > MAX_CHANGES:
        descriptions[MAX_CHANGES - 1 :] = [f"and {len(descriptions) - MAX_CHANGES + 1} more changes"]
    return tuple(descriptions)


def _blocks(before: Sequence[int], after: Sequence[int], start: int, tail: int) -> list[tuple[int, int, int, int]]:
    """Ranges of lines that differ, as (old start, old end, new start, new end)."""
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    if len(old) > _MAX_COMPARED or len(new) > _MAX_COMPARED:
        return [(start, start + len(old), start, start + len(new))]
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(start + a, start + b, start + c, start + d) for tag, a, b, c, d in steps if tag != "equal"]


def _lines(start: int, end: int) -> str:
    return f"line {start + 1}" if end == start + 1 else f"lines {start + 1} to {end}"


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= MAX_CHANGED_LINE else f"{text[: MAX_CHANGED_LINE - 3]}..."
