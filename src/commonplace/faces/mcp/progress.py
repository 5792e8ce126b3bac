"""One count of how far a call is, made of the counts of its parts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock

REPORT_SECONDS = 0.1
"""Seconds between two reports of what counts fast."""


@dataclass(slots=True)
class _Part:
    """What the part at work has counted, and what those before it had."""

    before: int = 0
    done: int = 0


class ProgressCounter:
    """Counts the parts of a call (waiting for an index, one collection, the next one) as one number that only grows."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._part = _Part()
        self._told = -1
        self._when = 0.0

    def counted(self, done: int, total: int) -> tuple[int, int] | None:
        """Steps done and in all (0: unknown) over all parts so far; None where that is no more than was told.

        Args:
            done: Steps of the part at work; fewer than before means that the next part has begun.
            total: Its steps in all, 0 where nobody knows.
        """
        with self._lock:
            return self._counted(done, total)

    def sampled(self, done: int, total: int) -> tuple[int, int] | None:
        """The same, and None, too, where a report was made just now and this is not a part's last step."""
        with self._lock:
            now = time.monotonic()
            if done < total and done >= self._part.done and now - self._when < REPORT_SECONDS:
                self._part.done = done
                return None
            self._when = now
            return self._counted(done, total)

    def _counted(self, done: int, total: int) -> tuple[int, int] | None:
        part = self._part
        if done < part.done:
            self._part = part = _Part(before=part.before + part.done)
        part.done = done
        reached = part.before + done
        if reached <= self._told:
            return None
        self._told = reached
        return reached, part.before + total if total else 0
