"""The files of a collection that are not documents, by name: targets such as `![[plan.png]]` in any folder.

They are listed when a link first needs one, and cached until files may have been added or removed.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, is_document_path, parse_address
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.links import link_key
from commonplace.domain.ports import Store

TEXT_SUFFIXES = (".adoc", ".asciidoc", ".ipynb", ".mdoc", ".mdown", ".mkd", ".org", ".qmd", ".rmd", ".rst", ".txt")
"""Suffixes of text files that may contain prose, and are not documents by default."""


@runtime_checkable
class ListedStore(Protocol):
    """A store that lists its other files."""

    def other_files(self) -> Iterable[str]:
        """Paths of the regular files that are not documents, except hidden ones."""
        ...


class OtherFiles:
    """Names of other files. Thread-safe.

    Args:
        store: The files. The names in a store that is not on disk are read once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = os.fspath(store.root) if isinstance(store, DiskStore) else None
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Address]] | None = None
        self._before: dict[str, dict[str, Address]] | None = None
        self._version = 0

    def version(self) -> int:
        """A number that grows when other files are added or removed."""
        with self._lock:
            self._names()
            return self._version

    def named(self, key: str) -> Sequence[Address]:
        """Every other file with this `link_key`."""
        with self._lock:
            return tuple(self._names().get(key, {}).values())

    def keys(self) -> list[str]:
        """All keys of other files."""
        with self._lock:
            return list(self._names())

    def texts(self) -> dict[str, int]:
        """Number of text files that are not documents, by suffix, most frequent first."""
        with self._lock:
            names = [path.lower() for named in self._names().values() for path in named]
        counts = Counter(suffix for name in names for suffix in TEXT_SUFFIXES if name.endswith(suffix))
        return dict(counts.most_common())

    def count(self, suffix: str) -> int:
        """Number of files with a suffix, which is in lower case."""
        with self._lock:
            return sum(path.lower().endswith(suffix) for named in self._names().values() for path in named)

    def changed(self, addresses: Iterable[Address]) -> None:
        """Update the cache for files or folders that may have been added or removed."""
        with self._lock:
            if self._known is None or self._root is None:
                return
            self._version += 1
            for address in addresses:
                place = Path(self._root, address.path)
                if place.is_file() and not place.is_symlink():
                    self._add(address.path)
                elif self._known.get(link_key(address.path), {}).pop(address.path, None) is None:
                    self._before, self._known = self._known, None  # a deleted folder, with all its files
                    return

    def forget(self) -> None:
        """Invalidate the cache, so that the next query lists the folders again."""
        with self._lock:
            if self._known is not None:
                self._before, self._known = self._known, None

    def _names(self) -> dict[str, dict[str, Address]]:
        if self._known is None:
            self._known = {}
            for path in self._walk():
                self._add(path)
            self._version += self._known != self._before
        return self._known

    def _add(self, path: str) -> None:
        try:
            address = parse_address(path)
        except InvalidInputError:
            return
        if self._known is not None:
            self._known.setdefault(link_key(path), {})[path] = address

    def _walk(self) -> Iterable[str]:
        """Paths of regular files, except hidden ones and links."""
        if self._root is None:
            yield from _stored(self._store)
            return
        pending = [""]
        while pending:
            folder = pending.pop()
            entries = _listed(f"{self._root}/{folder}")
            if entries is None:
                yield from self._known_before(folder)
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending += [f"{folder}{entry.name}/"] if entry.name not in SKIPPED_FOLDERS else []
                elif entry.is_file(follow_symlinks=False) and not is_document_path(entry.name):
                    yield folder + entry.name

    def _known_before(self, folder: str) -> Iterable[str]:
        """Paths of the files below a folder as of its last listing; used while the folder is unreadable."""
        return [path for named in (self._before or {}).values() for path in named if path.startswith(folder)]


def _stored(store: Store) -> Iterable[str]:
    """Paths of the other files of a store that is not on disk."""
    if isinstance(store, ListedStore):
        yield from store.other_files()
        return
    pending = [""]
    while pending:
        folder = pending.pop()
        pending += store.folders(folder)
        yield from (address.path for address, _ in store.files(folder) if not address.is_document)


def _listed(folder: str) -> list[os.DirEntry[str]] | None:
    """Entries of a folder except hidden ones: none if it is missing, None if it cannot be listed in two attempts."""
    for _ in range(2):
        try:
            with os.scandir(folder) as listing:
                return [entry for entry in listing if not entry.name.startswith(".")]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            continue
    return None


def is_file(store: Store, address: Address) -> bool:
    """Whether a servable file exists; false if it cannot be read in two attempts."""
    for _ in range(2):
        with suppress(StorageError):
            return store.stat(address) is not None
    return False


# Cached checks of whether paths are files; repeated only in changed folders.
#
# A folder's modification time changes whenever a name in it is added or removed. A cached answer is valid while the
# nearest existing ancestor folder is unchanged.


UNSETTLED_NS = 3_000_000_000
"""Nanoseconds after a change within which another change may leave the folder's modification time the same."""


@runtime_checkable
class DiskStore(Protocol):
    """A store whose files are in a folder on disk, which can be watched."""

    @property
    def root(self) -> Path:
        """The folder."""
        ...


_State = tuple[int, int, int, int]


class PathExistenceCache:
    """Cached results for paths below one folder.

    Args:
        root: The folder; None if the files are not on disk, so that paths are checked every time.
        is_file: Whether a path is a servable file.
    """

    def __init__(self, root: Path | None, is_file: Callable[[str], bool]) -> None:
        self._root = root
        self._is_file = is_file
        self._lock = threading.Lock()
        self._states: dict[str, _State | None] = {}
        self._nearest: dict[str, str] = {}
        self._files: dict[str, bool] = {}

    def existing(self, paths: frozenset[str]) -> frozenset[str]:
        """Return the paths that are existing files. Results are cached per folder."""
        root = self._root
        if root is None:
            return frozenset(path for path in paths if self._is_file(path))
        with self._lock:
            self._forget_changed(root)
            if self._files.keys() != paths:
                self._files = {path: self._files[path] for path in paths if path in self._files}
            for path in [path for path in paths if path not in self._files]:
                self._files[path] = self._look(root, path)
            return frozenset(path for path, there in self._files.items() if there)

    def _forget_changed(self, root: Path) -> None:
        """Drop the results below folders that have or may have changed."""
        changed = {folder for folder, state in self._states.items() if state is None or state != _state(root, folder)}
        if not changed:
            return
        for folder in changed:
            del self._states[folder]
        self._nearest = {folder: there for folder, there in self._nearest.items() if there not in changed}
        self._files = {path: there for path, there in self._files.items() if _folder(path) in self._nearest}

    def _look(self, root: Path, path: str) -> bool:
        folder = _folder(path)
        if folder not in self._nearest:
            self._nearest[folder] = self._find(root, folder)
        if self._nearest[folder] != folder:
            return False
        if os.path.islink(root / path):
            # The file is a link, whose target can change in another folder.
            self._states[folder] = None
        return self._is_file(path)

    def _find(self, root: Path, folder: str) -> str:
        """The folder or its nearest existing parent. Its state is recorded before its entries are checked."""
        below = ""
        while folder and (folder not in self._states) and _state(root, folder) is None:
            below, folder = folder, _folder(folder)
        if folder not in self._states:
            state = _state(root, folder)
            self._states[folder] = state if state and _settled(state) else None
        if below and os.path.islink(root / below):
            self._states[folder] = None
        return folder


def _state(root: Path, folder: str) -> _State | None:
    """Metadata that changes with a folder's entries; None if the folder is missing."""
    try:
        status = (root / folder).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _settled(state: _State) -> bool:
    return time.time_ns() - max(state[2:]) > UNSETTLED_NS


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
