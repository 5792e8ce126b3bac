"""The files of a collection that are no documents, by their names: what `![[plan.png]]` means wherever it lies.

They are looked for when a link first needs one, and kept for as long as nothing says that some have come or gone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, SKIPPED_FOLDERS, Address, parse_address
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.links import link_key
from commonplace.domain.ports import Store
from commonplace.index.catalogue.path_existence import DiskStore


class OtherFiles:
    """Names of other files, for the threads of one process.

    Args:
        store: The files; those of a store that is not on the disk have no names here.
    """

    def __init__(self, store: Store) -> None:
        self._root = os.fspath(store.root) if isinstance(store, DiskStore) else None
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, Address]] | None = None
        self._before: dict[str, dict[str, Address]] | None = None
        self._version = 0

    def version(self) -> int:
        """A number that grows when some have come or gone."""
        with self._lock:
            self._names()
            return self._version

    def named(self, key: str) -> Sequence[Address]:
        """Every such file with this `link_key`."""
        with self._lock:
            return tuple(self._names().get(key, {}).values())

    def keys(self) -> list[str]:
        """Every key that such a file has."""
        with self._lock:
            return list(self._names())

    def changed(self, addresses: Iterable[Address]) -> None:
        """These files, or folders, may have come or gone."""
        with self._lock:
            if self._known is None or self._root is None:
                return
            self._version += 1
            for address in addresses:
                if os.path.isfile(Path(self._root, address.path)):
                    self._add(address.path)
                elif self._known.get(link_key(address.path), {}).pop(address.path, None) is None:
                    self._known = None  # a folder: what was in it is gone, too
                    return

    def forget(self) -> None:
        """Look again when a name is next asked for."""
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
        """Paths of regular files, hidden ones and links left out."""
        pending = [""] if self._root is not None else []
        while pending:
            folder = pending.pop()
            entries = _listed(f"{self._root}/{folder}")
            if entries is None:
                yield from self._known_before(folder)
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending += [f"{folder}{entry.name}/"] if entry.name not in SKIPPED_FOLDERS else []
                elif entry.is_file(follow_symlinks=False) and not entry.name.lower().endswith(MARKDOWN_SUFFIXES):
                    yield folder + entry.name

    def _known_before(self, folder: str) -> Iterable[str]:
        """Paths of the files below a folder when it was last listed: one that cannot be need not be empty."""
        return [path for named in (self._before or {}).values() for path in named if path.startswith(folder)]


def _listed(folder: str) -> list[os.DirEntry[str]] | None:
    """What a folder holds but for hidden names: nothing when it is gone, None when it cannot be listed, tried twice."""
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
    """Whether there is a file that may be served; one that cannot be looked at, when tried twice, is none."""
    for _ in range(2):
        with suppress(StorageError):
            return store.stat(address) is not None
    return False
