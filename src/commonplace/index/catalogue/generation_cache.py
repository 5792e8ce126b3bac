"""What was worked out for one state of the catalogue, kept in memory until another state is asked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from commonplace.index.catalogue.database import read_number

MAX_ENTRIES = 256
"""Answers kept at once; questions with many different values would fill the memory."""

Cached = TypeVar("Cached")


class GenerationCache:
    """Answers of one open catalogue that hold for as long as a number in it stays the same.

    Several processes write to a catalogue, so the number is the stored one, as the asking view sees it.

    Args:
        number: The key in `meta` of the number that grows with every change of what the answers say.
    """

    def __init__(self, number: str = "generation") -> None:
        self._number = number
        self._lock = threading.Lock()
        self._at = -1
        self._answers: dict[Hashable, object] = {}

    def get(self, connection: sqlite3.Connection, key: Hashable, work: Callable[[], Cached]) -> Cached:
        """The answer to a question, worked out if it is the first time for this state.

        Args:
            connection: The catalogue, inside a transaction.
            key: Names the question with all its values; of one key all answers have one type.
            work: Asks this very connection. What it returns is shared: nobody may change it.
        """
        now = read_number(connection, self._number)
        with self._lock:
            if now > self._at:
                self._at, self._answers = now, {}
            if now == self._at and key in self._answers:
                return cast("Cached", self._answers[key])
        answer = work()
        with self._lock:
            # A view that was opened before the last change must not answer for those after it.
            if now == self._at:
                while len(self._answers) >= MAX_ENTRIES:
                    del self._answers[next(iter(self._answers))]
                self._answers[key] = answer
        return answer
