"""The files of a collection that are not documents, by name: targets such as `![[plan.png]]` in any folder.

They are listed when a link first needs one, and cached until files may have been added or removed.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, is_document_path, parse_address
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.links import link_key
from commonplace.domain.ports import Store
from commonplace.index.catalogue.path_existence import DiskStore

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
