"""The bytes of the documents that searches show, as they are now."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue.presence import OnDisk

KEPT_BYTES = 8_000_000
LARGEST_KEPT = 200_000
"""Bytes of documents that are kept, in all and of one."""
UNSETTLED_NS = 100_000_000
"""A file changed less than this before it was read may change again without its facts showing it."""


Facts = tuple[int, int, int, int, int]
"""Device, inode, size and times of a file."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document's bytes and their revision."""

    raw: bytes
    revision: Revision


class Sources:
    """Reads documents, and keeps some of them for as long as their files stay as they were; safe from several threads.

    What is kept was read through the store, so nothing outside its folder can come of it: a file is looked at here
    only to see that it is still the one that was read.

    Args:
        store: The documents.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = f"{store.root}/" if isinstance(store, OnDisk) else ""
        self._kept: dict[Address, tuple[Facts, Source]] = {}
        self._size = 0
        self._lock = threading.Lock()

    def read(self, address: Address) -> Source:
        """A document as it is now.

        Raises:
            NotFoundError, StorageError: as the store's `read`.
        """
        with self.reading() as read:
            return read(address)

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], Source]]:
        """Something that reads as `read` does, at a lower cost for several documents."""
        with ExitStack() as closing:
            from_store: list[Callable[[Address], bytes]] = []

            def read(address: Address) -> Source:
                facts = self._facts(address)
                kept = self._kept.get(address)
                if kept and kept[0] == facts:
                    return kept[1]
                if not from_store:
                    from_store.append(closing.enter_context(self._store.reading()))
                return self._taken(address, facts, from_store[0](address))

            yield read

    def _taken(self, address: Address, facts: Facts | None, raw: bytes) -> Source:
        """What was just read, kept where the file is still as it was before."""
        source = Source(raw, revision_of(raw))
        if facts and len(raw) <= LARGEST_KEPT and facts == self._facts(address):
            self._keep(address, facts, source)
        return source

    def _facts(self, address: Address) -> Facts | None:
        """None where they are not to be had, or say nothing yet."""
        if not self._root:
            return None
        try:
            found = os.lstat(self._root + address.path)
        except OSError:
            return None
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < UNSETTLED_NS or not stat.S_ISREG(found.st_mode):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _keep(self, address: Address, facts: Facts, source: Source) -> None:
        with self._lock:
            before = self._kept.pop(address, None)
            self._size += len(source.raw) - (len(before[1].raw) if before else 0)
            self._kept[address] = (facts, source)
            while self._size > KEPT_BYTES:
                _, oldest = self._kept.pop(next(iter(self._kept)))
                self._size -= len(oldest.raw)
