"""What the catalogue said of documents at one generation, kept for the searches that follow."""

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
"""How much is kept, before it begins anew."""


@dataclass(frozen=True)
class CachedDocument:
    """A document."""

    record: Record
    stored: str

    @cached_property
    def outline(self) -> Outline:
        """Its sections."""
        return Outline.from_stored(self.stored)


class RecordCache:
    """Documents by number, of one generation of the index; safe from several threads.

    A table is added to, and begun anew when it is full; nothing is ever taken out of it.
    """

    def __init__(self) -> None:
        self._entries: dict[int, CachedDocument] = {}
        self._paths: dict[int, str] = {}

    def entries(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, CachedDocument]:
        """Documents in the order of their numbers; numbers that the catalogue does not know are left out."""
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
        """Paths by document number; numbers that the catalogue does not know are left out."""
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
