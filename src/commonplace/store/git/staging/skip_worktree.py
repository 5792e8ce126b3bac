"""Reads the entries of Git's index, of any version (gitformat-index(5)), including what libgit2 does not expose.

A sparse checkout marks the paths that it omits from the work tree. libgit2 preserves this skip-worktree bit but does
not expose it, and reports such files as deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.domain.errors import GitError
from commonplace.store.git.layout import gitdir_files

_HEADER = 12
_FIXED = 62
"""Size of an entry's fixed part in bytes, before its path."""
_ID_AT = 40
_FLAGS_AT = 60
_EXTENDED = 0x40
"""Bit in the first byte of the flags: an extended field of two bytes follows."""
_SKIP_WORKTREE = 0x40
"""The skip-worktree bit, in the first byte of the extended field."""
_PREFIXED = 4
"""First version with prefix-compressed paths."""


def skipped_paths(index: Path) -> frozenset[bytes]:
    """Paths of the entries with the skip-worktree bit. In a sparse index these include folders, with a trailing slash.

    Raises:
        GitError: the index is damaged or unreadable.
    """
    try:
        raw = gitdir_files.read(index.parent, index.name)
        return frozenset(path for path, _, marked in _entries(raw) if marked)
    except FileNotFoundError:
        return frozenset()
    except (OSError, IndexError, ValueError) as error:
        raise GitError(
            "The repository's index cannot be read. Nothing was changed.",
            kind="repository",
            hint="Run git status in it to see what is wrong.",
        ) from error


def replaced_entries(index: Path, paths: Mapping[str, bool]) -> list[tuple[str, str]]:
    """Path and blob of each entry that new entries for these paths would drop, including the stages of conflicts.

    Args:
        index: The index file.
        paths: Whether the entry is removed, by path.

    Raises:
        OSError, IndexError, ValueError: the index cannot be read, or is damaged.
    """
    named = [(os.fsencode(path), removed) for path, removed in paths.items()]
    found = _entries(gitdir_files.read(index.parent, index.name))
    return [
        (os.fsdecode(other), blob)
        for other, blob, _ in found
        if any(_drops(path, other, removed=removed) for path, removed in named)
    ]


def _drops(path: bytes, other: bytes, *, removed: bool) -> bool:
    """Whether a new entry for `path` drops the entry of `other`, because both cannot exist."""
    return other == path or (not removed and (other.startswith(path + b"/") or path.startswith(other + b"/")))


def _entries(raw: bytes) -> Iterator[tuple[bytes, str, bool]]:
    """Path, blob and skip-worktree bit of each entry."""
    version, count = int.from_bytes(raw[4:8], "big"), int.from_bytes(raw[8:_HEADER], "big")
    at, path = _HEADER, b""
    for _ in range(count):
        extended = 2 if raw[at + _FLAGS_AT] & _EXTENDED else 0
        marked = bool(extended and raw[at + _FIXED] & _SKIP_WORKTREE)
        blob = raw[at + _ID_AT : at + _FLAGS_AT].hex()
        begin, kept = at + _FIXED + extended, b""
        if version >= _PREFIXED:
            dropped, begin = _number(raw, begin)
            kept = path[: len(path) - dropped]
        end = raw.index(b"\0", begin)
        path = kept + raw[begin:end]
        at = end + 1 if version >= _PREFIXED else at + (end - at + 8) // 8 * 8
        yield path, blob, marked


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A variable-length number, and the offset after it."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1 << 7) + (raw[at] & 0x7F)
    return value, at + 1
