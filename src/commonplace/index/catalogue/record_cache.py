"""A cache of the catalogue's records at one generation, for later searches."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from commonplace.domain.query import Record
from commonplace.index.catalogue.document_rows import paths_by_key, rows_by_key
from commonplace.index.catalogue.outlines import Outline

MAX_CACHED_DOCUMENTS = 1000
MAX_CACHED_PATHS = 50_000
"""Maximum sizes, at which the cache is cleared."""


@dataclass(frozen=True)
class CachedDocument:
    """A cached document."""

    record: Record
    stored: str

    @cached_property
    def outline(self) -> Outline:
        """The document's sections, parsed on first use."""
        return Outline.from_stored(self.stored)


class RecordCache:
    """Documents by number, of one generation of the index. Thread-safe.

    A table only grows, and is replaced by an empty one when it is full.
    """

    def __init__(self) -> None:
        self._entries: dict[int, CachedDocument] = {}
        self._paths: dict[int, str] = {}

    def entries(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, CachedDocument]:
        """Documents in the order of their numbers; unknown numbers are omitted."""
        known = self._entries
        found = {key: known[key] for key in keys if key in known}
        missing = [key for key in keys if key not in found]
        if missing:
            fresh = {key: CachedDocument(*entry) for key, entry in rows_by_key(connection, missing).items()}
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
