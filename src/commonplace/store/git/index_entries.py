"""Reads the entries of Git's index, and updates those of committed paths and no others."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import GitError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.folder import file_stat
from commonplace.store.git import gitdir_files
from commonplace.store.git.index_file import (
    DamagedIndexError,
    IndexEntry,
    IndexFile,
    UnsupportedIndexError,
    changed_copy,
    empty_index,
    parse_index,
)
from commonplace.store.git.shared_modes import share

# Updates the index entries of committed paths, and no others.
#
# Without the update, the user's next plain `git commit` would take the old blobs from the index and revert the write.
# A staged version of the written path is replaced, because the acknowledged write is newer. `store.folder.retention`
# retains staged text of which there is no other copy.


_ATTEMPTS = 3
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """A parsed index, with the metadata of its file."""

    stat: FileStat | None
    index: IndexFile


class IndexEntries:
    """The index of one repository."""

    def __init__(self, gitdir: Path) -> None:
        self._file = gitdir / "index"
        self._lock = gitdir / "index.lock"
        self._known: _Known | None = None

    def ids(self, paths: Mapping[str, object]) -> dict[str, str]:
        """The staged blob of each path, "" for none; an empty dict if the index cannot be read."""
        try:
            index = self._read().index
        except (OSError, UnsupportedIndexError, DamagedIndexError):
            return {}
        return {path: index.id_of(path) for path in paths}

    def replaced(self, paths: Mapping[str, bool]) -> list[tuple[str, str]]:
        """Path and blob of each entry that `update` would drop; empty if the index cannot be read.

        Args:
            paths: Whether the entry is removed, by path.
        """
        try:
            index = self._read().index
            return [element for path, removed in paths.items() for element in index.replaced(path, removed=removed)]
        except UnsupportedIndexError:
            with suppress(OSError, IndexError, ValueError):
                return replaced_entries(self._file, paths)
        except (OSError, DamagedIndexError):
            pass
        return []

    def update(self, beside: Path, changes: Mapping[str, IndexEntry | None]) -> bool:
        """Set the entries of paths (None: no entry).

        Args:
            beside: Temporary file of the new index, with the transaction's token in its name.
            changes: Entries by path in the repository.

        Returns:
            Whether it succeeded; false if another program holds the lock, or the index is unreadable.
        """
        try:
            return any(self._try(beside, changes) for _ in range(_ATTEMPTS))
        except (OSError, DamagedIndexError) as error:
            _log.warning("the index could not be updated: %s", error)
            return False
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def _try(self, beside: Path, changes: Mapping[str, IndexEntry | None]) -> bool:
        """Make one attempt; false if the index changed meanwhile or is locked."""
        if self._lock.exists():
            return False
        before = self._stat()
        new = self._write(beside, changes)
        try:
            gitdir_files.link_or_copy(self._file.parent, beside.name, self._lock.name)
        except FileExistsError:
            return False
        with ExitStack() as unlock:
            unlock.callback(self._lock.unlink, missing_ok=True)
            if self._stat() != before:
                return False
            self._lock.rename(self._file)
            unlock.pop_all()
        beside.unlink(missing_ok=True)
        self._known = _Known(self._stat(), new) if new else None
        return True

    def _write(self, beside: Path, changes: Mapping[str, IndexEntry | None]) -> IndexFile | None:
        """Write the new index; None if only libgit2 or Git can parse it.

        The file is flushed. Otherwise a power failure could leave an empty index, which Git rejects.
        """
        beside.unlink(missing_ok=True)
        with Unsynced() as unsynced:
            try:
                new = self._read().index.changed(changes)
            except UnsupportedIndexError:
                new = None
                changed_copy(self._file, beside, changes)
                descriptor = os.open(beside, os.O_RDWR | os.O_CLOEXEC)
                unsynced.keep(descriptor)
            else:
                descriptor = unsynced.create(beside, new.raw)
            with suppress(FileNotFoundError):
                os.fchmod(descriptor, self._file.lstat().st_mode & 0o777)
            share(self._file.parent, descriptor)
            unsynced.sync()
        return new

    def _read(self) -> _Known:
        stat = self._stat()
        if self._known is None or stat is None or self._known.stat != stat:
            index = (
                empty_index() if stat is None else parse_index(gitdir_files.read(self._file.parent, self._file.name))
            )
            self._known = _Known(stat, index)
        return self._known

    def _stat(self) -> FileStat | None:
        try:
            return file_stat(self._file.lstat())
        except FileNotFoundError:
            return None


def temporary_name(token: str) -> str:
    """Temporary name of a transaction's new index."""
    return f"commonplace-{token}.index"


def is_locked(gitdir: Path) -> bool:
    """Whether the lock file of a repository's index exists, also if its program was killed."""
    return os.path.lexists(gitdir / "index.lock")


# Reads the entries of Git's index, of any version (gitformat-index(5)), including what libgit2 does not expose.
#
# A sparse checkout marks the paths that it omits from the work tree. libgit2 preserves this skip-worktree bit but does
# not expose it, and reports such files as deleted.


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
    rows = _entries(gitdir_files.read(index.parent, index.name))
    return [
        (os.fsdecode(other), blob)
        for other, blob, _ in rows
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
        begin, kept_path = at + _FIXED + extended, b""
        if version >= _PREFIXED:
            dropped, begin = _number(raw, begin)
            kept_path = path[: len(path) - dropped]
        end = raw.index(b"\0", begin)
        path = kept_path + raw[begin:end]
        at = end + 1 if version >= _PREFIXED else at + (end - at + 8) // 8 * 8
        yield path, blob, marked


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A variable-length number, and the offset after it."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1 << 7) + (raw[at] & 0x7F)
    return value, at + 1
