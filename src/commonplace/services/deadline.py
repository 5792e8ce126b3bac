"""Time limits for work after a write that must not delay the answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

log = logging.getLogger(__name__)

AFTER_WRITE = 0.1
"""Maximum time in seconds by which later steps delay the acknowledgement of a durable write."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time until which an answer may wait."""

    at: float
    """Time of `time.monotonic`."""

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 if it has passed."""
        return max(self.at - time.monotonic(), 0.0)

    def within(self, work: Callable[[], T], what: str) -> T | None:
        """The result of `work`; None if it fails (the error is logged) or times out (it continues in its thread).

        Args:
            work: The work, run in a separate thread.
            what: Description of the work, for the log.
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
"""A deadline that has passed."""


def after_write() -> Deadline:
    """The deadline for the steps after a write that is durable now."""
    return Deadline(time.monotonic() + AFTER_WRITE)
