"""The bytes of the documents that searches show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of

CACHE_BYTES = 8_000_000
MAX_CACHED_SOURCE_BYTES = 200_000
"""Maximum size in bytes of the cache, and of a document in it."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document's bytes and their revision."""

    raw: bytes
    revision: Revision


class DocumentSources:
    """Reads and caches documents. Thread-safe.

    Index data belongs to one revision of a document. While that revision is cached, its file is not read: if the file
    has changed, the index will soon request another revision.

    Args:
        store: The documents.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[Address, DocumentSource] = {}
        self._size = 0
        self._lock = threading.Lock()

    @contextmanager
    def reading(self) -> Generator[Callable[[Address, Revision], DocumentSource]]:
        """A context with a function that returns a document in a revision, or the current one if that is not cached.

        The function raises NotFoundError and StorageError as the store's `read` does.
        """
        with ExitStack() as closing:
            from_store: list[Callable[[Address], bytes]] = []

            def read(address: Address, revision: Revision) -> DocumentSource:
                kept = self._kept.get(address)
                if kept and kept.revision == revision:
                    return kept
                if not from_store:
                    from_store.append(closing.enter_context(self._store.reading()))
                return self._taken(address, from_store[0](address))

            yield read

    def _taken(self, address: Address, raw: bytes) -> DocumentSource:
        """Cache a document that was just read."""
        source = DocumentSource(raw, revision_of(raw))
        if len(raw) <= MAX_CACHED_SOURCE_BYTES:
            with self._lock:
                before = self._kept.pop(address, None)
                self._size += len(raw) - (len(before.raw) if before else 0)
                self._kept[address] = source
                while self._size > CACHE_BYTES:
                    oldest = self._kept.pop(next(iter(self._kept)))
                    self._size -= len(oldest.raw)
        return source
