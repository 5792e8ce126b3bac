"""Rate limits: one token bucket for each caller, refilled steadily."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias

from commonplace.domain.errors import RateLimitedError

DEFAULT_RATE = 6_000
"""Default limit, in calls per minute."""
WRONG_KEY = 20
"""Cost of a request with a wrong key, in calls."""
MAX_CALLERS = 10_000
"""Maximum number of buckets. Beyond this, the least recently used bucket is removed, which is full again by then."""


class Bucket(NamedTuple):
    """The calls that a caller had left at a moment."""

    left: float
    since: float
    """Time of the last change, in seconds of the limiter's clock."""


Change: TypeAlias = Callable[[Bucket | None], Bucket]
"""Maps a caller's bucket (None for a new caller) to its replacement."""


class Buckets(Protocol):
    """Storage for the buckets of all callers."""

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket by the result of `change`, atomically."""
        ...


class ProcessBuckets:
    """Buckets in the memory of one process."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket. Above `MAX_CALLERS`, the least recently used buckets are removed."""
        with self._lock:
            self._buckets[caller] = change(self._buckets.pop(caller, None))
            while len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)


class RateLimiter:
    """Limits the call rate of each caller.

    Args:
        per_minute: Permitted calls per minute, and the size of a burst; 0 for no limit.
        clock: Monotonic clock in seconds, the same for all limiters that share the buckets.
        buckets: Storage of the buckets; None for this process's memory.
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = time.monotonic, buckets: Buckets | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._burst = float(per_minute)
        self._clock = clock
        self._buckets = buckets or ProcessBuckets()

    def take(self, caller: str, calls: int = 1) -> None:
        """Count calls. Refused calls are not counted.

        Args:
            caller: The caller's name, as in `Caller.counted_as`.
            calls: Cost of the request in calls; capped at the burst size.

        Raises:
            RateLimitedError: the limit is exceeded; the context has `retry_after` in whole seconds.
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
