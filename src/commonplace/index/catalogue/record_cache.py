"""A cache of the catalogue's records at one generation. Unchanged records are reused by later generations."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from commonplace.domain.query import Record
from commonplace.index.catalogue.document_rows import StoredDocument, paths_by_key, record_from, rows_by_key
from commonplace.index.catalogue.outlines import Outline

MAX_CACHED_DOCUMENTS = 1000
MAX_CACHED_PATHS = 50_000
"""Maximum number of cached paths; `MAX_CACHED_DOCUMENTS` is that of documents. A full cache is cleared."""


@dataclass(frozen=True)
class CachedDocument:
    """A cached document."""

    stored: StoredDocument

    @cached_property
    def record(self) -> Record:
        """The document's record, parsed on first use."""
        return record_from(self.stored[0])

    @cached_property
    def outline(self) -> Outline:
        """The document's sections, parsed on first use."""
        return Outline.from_stored(self.stored[1])


class RecordCache:
    """Documents by number, of one generation of the index. Thread-safe.

    A table only grows, and is replaced by an empty one when it is full.

    Args:
        before: Documents of earlier generations, which are reused if their rows are equal.
    """

    def __init__(self, before: Mapping[int, CachedDocument] | None = None) -> None:
        self._entries: dict[int, CachedDocument] = {}
        self._paths: dict[int, str] = {}
        self._before = before or {}

    def of_next_generation(self) -> RecordCache:
        """The cache of a later generation."""
        is_full = len(self._before) + len(self._entries) > MAX_CACHED_DOCUMENTS
        return RecordCache({**({} if is_full else self._before), **self._entries})

    def entries(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, CachedDocument]:
        """Documents in the order of their numbers; unknown numbers are omitted."""
        known = self._entries
        found = {key: known[key] for key in keys if key in known}
        missing = [key for key in keys if key not in found]
        if missing:
            fresh = {key: self._document(key, stored) for key, stored in rows_by_key(connection, missing).items()}
            if len(known) + len(fresh) > MAX_CACHED_DOCUMENTS:
                known = self._entries = {}
            known.update(fresh)
            found |= fresh
        return {key: found[key] for key in keys if key in found}

    def paths(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
        """Paths by document number; unknown numbers are omitted."""
        known = self._paths
        found = {key: known[key] for key in keys if key in known}
        missing = [key for key in keys if key not in found]
        if missing:
            fresh = paths_by_key(connection, missing)
            if len(known) + len(fresh) > MAX_CACHED_PATHS:
                known = self._paths = {}
            known.update(fresh)
            found |= fresh
        return found

    def _document(self, key: int, stored: StoredDocument) -> CachedDocument:
        before = self._before.get(key)
        return before if before and before.stored == stored else CachedDocument(stored)
