"""Counts the searches of one base, by the index that answered them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import get_args

from commonplace.domain.cluster.replicas import AnsweredBy


class SearchCounts:
    """Counts since the start of the process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[AnsweredBy, int] = dict.fromkeys(get_args(AnsweredBy), 0)

    def add(self, answered_by: AnsweredBy) -> None:
        """Count one search."""
        with self._lock:
            self._counts[answered_by] += 1

    def now(self) -> Mapping[AnsweredBy, int]:
        """The counts so far, including zeros."""
        with self._lock:
            return dict(self._counts)
