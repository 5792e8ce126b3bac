"""Observations of clients: counts, times and violations."""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict

from soak.cluster.register_history import Read, Write

log = logging.getLogger(__name__)

MAX_KEPT = 30
"""Examples of one kind of violation that are kept."""


class Observed:
    """Filled by all clients. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.violations: defaultdict[str, list[str]] = defaultdict(list)
        self.writes: defaultdict[str, list[Write]] = defaultdict(list)
        self.reads: defaultdict[str, list[Read]] = defaultdict(list)
        self.commits: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        """Acknowledged contents of each page, with the commit that the answer named."""
        self.failures: list[tuple[float, str]] = []
        """Moment and reason of each request that no server answered."""

    def count(self, what: str, number: int = 1) -> None:
        """Count something."""
        with self._lock:
            self.counts[what] += number

    def time(self, what: str, seconds: float) -> None:
        """Note how long something took, and count it."""
        with self._lock:
            self.counts[what] += 1
            self.times[what].append(seconds)

    def violate(self, what: str, example: str) -> None:
        """Note something that must not be."""
        log.warning("%s: %s", what, example)
        with self._lock:
            self.counts[f"violation: {what}"] += 1
            if len(self.violations[what]) < MAX_KEPT:
                self.violations[what].append(example)

    def fail(self, moment: float, reason: str) -> None:
        """Note a request that no server answered."""
        log.warning("no server answered: %s", reason)
        with self._lock:
            self.failures.append((moment, reason))

    def write(self, page: str, write: Write, commit: str) -> None:
        """Note a write, and the commit that its acknowledgement named, "" without one."""
        with self._lock:
            self.writes[page].append(write)
            if commit:
                self.commits[page].append((write.revision, commit))
            self.counts[f"write {write.outcome}"] += 1

    def read(self, page: str, read: Read) -> None:
        """Note a read."""
        with self._lock:
            self.reads[page].append(read)
