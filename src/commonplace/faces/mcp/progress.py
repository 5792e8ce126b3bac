"""Progress of a call, summed over its parts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock

REPORT_SECONDS = 0.1
"""Minimum interval in seconds between two reports of a fast counter."""


@dataclass(slots=True)
class _Part:
    """Steps done in the current part, and in all parts before it."""

    before: int = 0
    done: int = 0


class ProgressCounter:
    """Sums the progress of a call's parts (waiting for the index, each collection). The sum never decreases."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._part = _Part()
        self._told = -1
        self._when = 0.0

    def counted(self, done: int, total: int) -> tuple[int, int] | None:
        """Steps done and in total over all parts so far (total 0: unknown); None if the number has not grown.

        Args:
            done: Steps done in the current part. A smaller number than before starts the next part.
            total: Total steps of the current part; 0 if unknown.
        """
        with self._lock:
            return self._counted(done, total)

    def sampled(self, done: int, total: int) -> tuple[int, int] | None:
        """Same as `counted`, but also None within `REPORT_SECONDS` of the last report, unless the part is complete."""
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
