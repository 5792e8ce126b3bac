"""How many calls a caller may make: a bucket of tokens for each, filled steadily."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from commonplace.domain.errors import RateLimitedError

MAX_CALLERS = 10_000
"""Buckets kept; the longest unused is forgotten, which is full again by then."""


class Rates:
    """The buckets of all callers.

    Args:
        per_minute: Calls that a caller may make in the long run; 0 for no limit.
        burst: Calls that a caller may make at once.
        clock: Seconds that only grow.
    """

    def __init__(self, per_minute: int, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, caller: str) -> None:
        """Count one call.

        Raises:
            RateLimitedError: too many; context holds `retry_after` in whole seconds.
        """
        if not self._rate:
            return
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            allowed = left >= 1
            self._buckets[caller] = (left - 1 if allowed else left), now
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = math.ceil((1 - left) / self._rate)
            raise RateLimitedError(
                "Too many calls.", kind="rate", hint=f"Wait {wait} s and go on more slowly.", retry_after=wait
            )
