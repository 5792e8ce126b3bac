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
"""Bytes of documents that are kept, in all and of one."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document's bytes and their revision."""

    raw: bytes
    revision: Revision


class DocumentSources:
    """Reads documents, and keeps some of them; safe from several threads.

    What an index knows of a document belongs to one revision of it. As long as the document is kept in that revision,
    its file is not looked at: whatever it holds by now, the index will soon ask for another revision.

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
        """Something that gives a document in a revision, or as it is now where it is not kept in that one.

        It raises NotFoundError and StorageError as the store's `read`.
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
        """What was just read."""
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
