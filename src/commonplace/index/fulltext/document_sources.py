"""Caches the texts for snippets: bytes of documents, and texts of sections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.domain.snippets import MAX_SOURCE_CHARS

CACHE_BYTES = 4_000_000
MAX_CACHED_SOURCE_BYTES = 200_000
"""Maximum size in bytes of a cached document; `CACHE_BYTES` is that of the whole cache."""
CACHE_CHARS = 4_000_000
"""Maximum size in characters of the cache of sections."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document's bytes and their revision."""

    raw: bytes
    revision: Revision


class DocumentSources:
    """Reads and caches documents. Thread-safe.

    Index data belongs to one revision of a document. While that revision is cached, the file is not read. If the file
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
        """A context with a function that returns a document in a revision; if that is not cached, the current revision.

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


_Key = tuple[str, Revision, int]


class SectionTexts:
    """Texts by document, revision and ordinal of the section. Thread-safe.

    A text belongs to one revision of a document. Texts of outdated revisions are no longer requested, and are evicted.
    """

    def __init__(self) -> None:
        self._kept: dict[_Key, str] = {}
        self._size = 0
        self._lock = threading.Lock()

    def get(self, address: Address, revision: Revision, ordinal: int) -> str | None:
        """The text of a section; None if it is not cached."""
        return self._kept.get((address.path, revision, ordinal))

    def keep(self, address: Address, revision: Revision, ordinal: int, text: str) -> str:
        """Cache the text of a section; returns its first `MAX_SOURCE_CHARS` characters, which snippets are cut from."""
        text = text[:MAX_SOURCE_CHARS]
        key = (address.path, revision, ordinal)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = text
                self._size += len(text)
            while self._size > CACHE_CHARS:
                self._size -= len(self._kept.pop(next(iter(self._kept))))
        return text
