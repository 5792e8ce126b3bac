"""Work beside an answer that must not wait for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

log = logging.getLogger(__name__)

AFTER_WRITE = 0.1
"""Seconds for which all that follows a durable write may keep its acknowledgement back."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment until which an answer may wait."""

    at: float
    """As `time.monotonic` counts."""

    @property
    def left(self) -> float:
        """Seconds until then, 0 when it has passed."""
        return max(self.at - time.monotonic(), 0.0)

    def within(self, work: Callable[[], T], what: str) -> T | None:
        """What some work gives; None where it fails, which is logged, or is not done in time: then it goes on alone.

        Args:
            work: What to do, in a thread of its own.
            what: What it is, for the log.
        """
        executor = ThreadPoolExecutor(1, thread_name_prefix="deadline")
        future = executor.submit(work)
        executor.shutdown(wait=False)
        if wait((future,), self.left).not_done:
            log.info("%s takes longer than an answer may wait", what)
            return None
        if error := future.exception():
            log.warning("%s failed: %s: %s", what, type(error).__name__, error)
            return None
        return future.result()


PASSED = Deadline(0.0)
"""One that has passed."""


def after_write() -> Deadline:
    """The deadline for what follows a write that is durable now."""
    return Deadline(time.monotonic() + AFTER_WRITE)
