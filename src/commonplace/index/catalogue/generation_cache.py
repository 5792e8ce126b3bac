"""Results computed for one generation of the catalogue, cached until the generation changes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from commonplace.index.catalogue.database import read_number

MAX_ENTRIES = 256
"""Maximum number of cached results, which limits memory if queries have many different values."""

Cached = TypeVar("Cached")


class GenerationCache:
    """Results of one open catalogue, valid while a number in it stays the same.

    Several processes write to a catalogue, so the number is read from the catalogue in the transaction of the query.

    Args:
        number: Key in `meta` of the number that grows with every change that affects the results.
    """

    def __init__(self, number: str = "generation") -> None:
        self._number = number
        self._lock = threading.Lock()
        self._at = -1
        self._answers: dict[Hashable, object] = {}

    def get(self, connection: sqlite3.Connection, key: Hashable, work: Callable[[], Cached]) -> Cached:
        """The cached result; computed by the first query at this generation.

        Args:
            connection: The catalogue, inside a transaction.
            key: Identifies the query with all its values. All results of one key have one type.
            work: Computes the result on this connection. The result is shared and must not be changed.
        """
        now = read_number(connection, self._number)
        with self._lock:
            if now > self._at:
                self._at, self._answers = now, {}
            if now == self._at and key in self._answers:
                return cast("Cached", self._answers[key])
        answer = work()
        with self._lock:
            # A transaction that began before the last change must not cache results for the new generation.
            if now == self._at:
                while len(self._answers) >= MAX_ENTRIES:
                    del self._answers[next(iter(self._answers))]
                self._answers[key] = answer
        return answer
