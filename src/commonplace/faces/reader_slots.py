"""The limit of concurrent readers: few while calls are short, more when some of them take long."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

MAX_READERS = 40
"""Maximum number of concurrent calls, including long ones."""
MAX_SHORT_READERS = 2
"""Maximum number of concurrent calls that are within their first `SHORT_SECONDS`.

Threads of one interpreter take turns, and each switch has a cost. Forty concurrent searches use a tenth more CPU time
than two at a time, and end in a random order.
"""
SHORT_SECONDS = 0.05
"""Seconds after which a call counts as long: it probably waits for an index, a client or a disk."""


class ReaderSlots:
    """Admits calls in order of arrival. For use in one event loop.

    Args:
        clock: Monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started: dict[object, float] = {}
        self._waiting: deque[asyncio.Future[object]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def acquired(self) -> AsyncGenerator[None]:
        """Wait for a slot, and release it at the end of the block."""
        slot = await self._acquire()
        try:
            yield
        finally:
            del self._started[slot]
            self._admit()

    async def _acquire(self) -> object:
        if not self._waiting and self._is_free():
            return self._start()
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._watch()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # admitted and cancelled in the same turn of the loop
                del self._started[waiter.result()]
                self._admit()
            raise

    def _start(self) -> object:
        slot = object()
        self._started[slot] = self._clock()
        return slot

    def _is_free(self) -> bool:
        if len(self._started) < MAX_SHORT_READERS:
            return True
        since = self._clock() - SHORT_SECONDS
        short = sum(started > since for started in self._started.values())
        return short < MAX_SHORT_READERS and len(self._started) < MAX_READERS

    def _admit(self) -> None:
        while self._waiting and (self._waiting[0].done() or self._is_free()):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(self._start())
        self._watch()

    def _watch(self) -> None:
        """Schedule another look if calls wait: a running call becomes a long one without an event."""
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SHORT_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        self._admit()
