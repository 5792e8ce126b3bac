"""What the searches of one generation of the index share."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass

from commonplace.index.catalogue.database import read_number
from commonplace.index.catalogue.remembered import Remembered
from commonplace.index.words.dictionary import Dictionary
from commonplace.index.words.fulltext import FullText, Searchers
from commonplace.index.words.recent import Recent, RecentCache


@dataclass(frozen=True, slots=True)
class Sight:
    """The index at one generation."""

    generation: int
    searchers: Searchers
    recent: Recent
    """What is newer than the full text."""
    dictionary: Dictionary
    documents: Remembered


class Sights:
    """Keeps the latest; safe from several threads.

    Args:
        fulltext: The full text.
    """

    def __init__(self, fulltext: FullText) -> None:
        self._fulltext = fulltext
        self._recent = RecentCache(fulltext.analyzer.analyze)
        self._lock = threading.Lock()
        self._latest: Sight | None = None

    def at(self, connection: sqlite3.Connection) -> Sight:
        """That of a view of the catalogue.

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
        sight = Sight(generation, searchers, recent, Dictionary(searchers.documents, recent), Remembered())
        with self._lock:
            self._latest = sight
        return sight
