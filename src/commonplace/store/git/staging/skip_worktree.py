"""The paths that a sparse checkout leaves out of the work tree, as Git's index marks them (gitformat-index(5)).

libgit2 keeps the mark and does not tell it; to it such a file was deleted.
"""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.store.git.layout import gitdir_files

_HEADER = 12
_FIXED = 62
"""Bytes of an entry before its path."""
_FLAGS_AT = 60
_EXTENDED = 0x40
"""In the first byte of the flags: two more bytes follow them."""
_SKIP_WORKTREE = 0x40
"""In the first of those two bytes."""
_PREFIXED = 4
"""From this version on a path is told by how it differs from the one before."""


def skipped_paths(index: Path) -> frozenset[bytes]:
    """Paths of the entries with the mark; of a sparse index also folders, with a slash at their end.

    Raises:
        GitError: it is damaged, or cannot be read.
    """
    try:
        raw = gitdir_files.read(index.parent, index.name)
        version, count = int.from_bytes(raw[4:8], "big"), int.from_bytes(raw[8:_HEADER], "big")
        return frozenset(_marked(raw, version, count)) if version > 2 else frozenset()  # noqa: PLR2004 - the format's
    except FileNotFoundError:
        return frozenset()
    except (OSError, IndexError, ValueError) as error:
        raise GitError(
            "The repository's index cannot be read. Nothing was changed.",
            kind="repository",
            hint="Run git status in it to see what is wrong.",
        ) from error


def _marked(raw: bytes, version: int, count: int) -> list[bytes]:
    found: list[bytes] = []
    at, path = _HEADER, b""
    for _ in range(count):
        extended = 2 if raw[at + _FLAGS_AT] & _EXTENDED else 0
        marked = extended and raw[at + _FIXED] & _SKIP_WORKTREE
        begin, kept = at + _FIXED + extended, b""
        if version >= _PREFIXED:
            dropped, begin = _number(raw, begin)
            kept = path[: len(path) - dropped]
        end = raw.index(b"\0", begin)
        path = kept + raw[begin:end]
        at = end + 1 if version >= _PREFIXED else at + (end - at + 8) // 8 * 8
        if marked:
            found.append(path)
    return found


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A number of one or more bytes, and where it ends."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1 << 7) + (raw[at] & 0x7F)
    return value, at + 1
