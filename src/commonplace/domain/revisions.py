"""What a document's bytes say by themselves: their revision, the same with and without Git, and a pointer to others."""

from __future__ import annotations

import re
from hashlib import sha1

from commonplace.domain.changes import Revision
from commonplace.domain.errors import ConflictError, InvalidInputError

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
MAX_POINTER_BYTES = 1024
"""How a pointer begins, and how long one can be, by Git LFS's own specification."""
_REVISION = re.compile(r"[0-9a-fA-F]{7,40}")


def revision_of(raw: bytes) -> Revision:
    """The 40 hex digits that `git hash-object` prints for these bytes."""
    return sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def is_revision(text: str) -> bool:
    """Whether the text can be a revision or a unique beginning of one: 7 to 40 hex digits."""
    return _REVISION.fullmatch(text) is not None


def is_pointer(raw: bytes) -> bool:
    """Whether the bytes stand for others, which Git LFS has and which are not here."""
    return len(raw) <= MAX_POINTER_BYTES and raw.startswith(LFS_POINTER)


def require_revision(raw: bytes, expected: str) -> None:
    """Refuse to go on when the bytes are no longer those that the writer saw.

    Args:
        raw: The document as it is now.
        expected: The revision that the writer saw, or its first 7 or more digits.

    Raises:
        InvalidInputError: `expected` is no revision.
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
