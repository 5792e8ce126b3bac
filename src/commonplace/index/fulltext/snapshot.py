"""Data that is shared by the searches of one generation of the index."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass

from commonplace.index.catalogue.database import read_number
from commonplace.index.catalogue.record_cache import RecordCache
from commonplace.index.fulltext.name_coverage import NameCache
from commonplace.index.fulltext.recent_documents import RecentCache, RecentDocuments
from commonplace.index.fulltext.scoring import RecentStatistics
from commonplace.index.fulltext.tantivy_index import FullText, Searchers
from commonplace.index.fulltext.term_dictionary import TermDictionary


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The index at one generation."""

    generation: int
    searchers: Searchers
    recent: RecentDocuments
    """Documents that are newer than the full text."""
    statistics: RecentStatistics
    dictionary: TermDictionary
    documents: RecordCache
    names: NameCache


class SnapshotCache:
    """A cache of the latest snapshot. Thread-safe.

    Args:
        fulltext: The full text.
    """

    def __init__(self, fulltext: FullText) -> None:
        self._fulltext = fulltext
        self._recent = RecentCache(fulltext.analyzer.analyze)
        self._lock = threading.Lock()
        self._latest: Snapshot | None = None

    def at(self, connection: sqlite3.Connection) -> Snapshot:
        """The snapshot for a transaction of the catalogue.

        Raises:
            FullTextError: the full text is missing or damaged.
        """
        generation = read_number(connection, "generation")
        with self._lock:
            latest = self._latest
        if latest and latest.generation == generation:
            return latest
        recent = self._recent.at(connection, generation)
        searchers = self._fulltext.searchers(read_number(connection, "fulltext"))
        dictionary = TermDictionary(searchers.documents, recent, self._fulltext.analyzer.analyze)
        statistics = RecentStatistics(recent, self._fulltext, searchers)
        records = latest.documents.of_next_generation() if latest else RecordCache()
        snapshot = Snapshot(generation, searchers, recent, statistics, dictionary, records, NameCache())
        with self._lock:
            self._latest = snapshot
        return snapshot
