"""How many calls a caller may make: a bucket of tokens for each, filled steadily."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from commonplace.domain.errors import RateLimitedError

DEFAULT_RATE = 6_000
"""Calls a minute."""
WRONG_KEY = 20
"""Calls that a request with a wrong key counts as."""
MAX_CALLERS = 10_000
"""Buckets kept; the longest unused is forgotten, which is full again by then."""


class RateLimiter:
    """The buckets of all callers.

    Args:
        per_minute: Calls that a caller may make in the long run, and as many at once; 0 for no limit.
        clock: Seconds that only grow.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, caller: str, calls: int = 1) -> None:
        """Count calls; those that are refused do not count.

        Args:
            caller: Whose.
            calls: How many a request counts as; at the most as many as there can be.

        Raises:
            RateLimitedError: too many; context holds `retry_after` in whole seconds.
        """
        if not self._rate:
            return
        cost = min(float(calls), self._burst)
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            allowed = left >= cost
            self._buckets[caller] = (left - cost if allowed else left), now
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = math.ceil((cost - left) / self._rate)
            raise RateLimitedError(
                "Too many calls.", kind="rate", hint=f"Wait {wait} s and go on more slowly.", retry_after=wait
            )
