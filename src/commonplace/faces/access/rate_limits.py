"""How many calls a caller may make: a bucket of tokens for each, filled steadily."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias

from commonplace.domain.errors import RateLimitedError

DEFAULT_RATE = 6_000
"""Calls a minute."""
WRONG_KEY = 20
"""Calls that a request with a wrong key counts as."""
MAX_CALLERS = 10_000
"""Buckets kept; the longest unused is forgotten, which is full again by then."""


class Bucket(NamedTuple):
    """The calls that a caller had left at a time."""

    left: float
    since: float
    """Seconds of the limiter's clock."""


Change: TypeAlias = Callable[[Bucket | None], Bucket]
"""From a caller's bucket, None for a new caller, to the one that replaces it."""


class Buckets(Protocol):
    """The buckets of all callers."""

    def change(self, caller: str, change: Change) -> None:
        """Replace the bucket of a caller by what `change` makes of it, while nobody else changes it."""
        ...


class ProcessBuckets:
    """The buckets of one process, in memory."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace the bucket of a caller; the callers that were away longest are forgotten."""
        with self._lock:
            self._buckets[caller] = change(self._buckets.pop(caller, None))
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)


class RateLimiter:
    """The limit of all callers.

    Args:
        per_minute: Calls that a caller may make in the long run, and as many at once; 0 for no limit.
        clock: Seconds that only grow, the same for all that share the buckets.
        buckets: The buckets of the callers; None for those of this process.
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic, buckets: Buckets | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._burst = float(per_minute)
        self._clock = clock
        self._buckets = buckets or ProcessBuckets()

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
        missing = 0.0

        def change(bucket: Bucket | None) -> Bucket:
            nonlocal missing
            now = self._clock()
            left, since = bucket or (self._burst, now)
            left = min(self._burst, left + (now - since) * self._rate)
            missing = cost - left
            return Bucket(left if missing > 0 else left - cost, now)

        self._buckets.change(caller, change)
        if missing > 0:
            wait = math.ceil(missing / self._rate)
            raise RateLimitedError(
                "Too many calls.", kind="rate", hint=f"Wait {wait} s and go on more slowly.", retry_after=wait
            )
