"""The limit of concurrent readers: few while calls are short, more when some of them take long."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint_if_cancelled
from starlette.types import Receive

from commonplace.domain.errors import KnowledgeError, Stopped

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


# Worker threads of the servers: separate limits for writers and readers.


START_THREAD = "start"
"""Name of the thread that completes the start-up after clients are answered."""
QUICK_SECONDS = 0.05
"""Seconds after which a call's connection is watched for a disconnect."""
MAX_WRITERS = 64
"""Maximum number of calls that write at once. Those that wait for a flush or a push share the next one."""

T = TypeVar("T")
_LIMITERS: RunVar[tuple[ReaderSlots, anyio.CapacityLimiter, anyio.CapacityLimiter]] = RunVar("_LIMITERS")


async def run_in_worker(function: Callable[[], T], *, reads: bool) -> T:
    """Call a function in a worker thread.

    Args:
        function: The function to call.
        reads: Whether the call changes nothing. A cancelled reader is abandoned: its slot is released at once, and its
            thread ends at its next progress report. A cancelled writer finishes, unless it reports progress before it
            has written anything.
    """
    try:
        slots, threads, writers = _LIMITERS.get()
    except LookupError:
        slots, threads = ReaderSlots(), anyio.CapacityLimiter(math.inf)
        writers = anyio.CapacityLimiter(MAX_WRITERS)
        _LIMITERS.set((slots, threads, writers))
    try:
        if not reads:
            return await anyio.to_thread.run_sync(function, limiter=writers)
        async with slots.acquired():
            return await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=threads)
    except Stopped:
        await checkpoint_if_cancelled()  # ends this task: the caller has cancelled it
        raise KnowledgeError("The work ended before it was done.", hint="Call again.") from None


def go_on() -> None:
    """Return unless the call that this thread serves was cancelled. Returns in threads that serve no call.

    Raises:
        Stopped: the client has cancelled the call or disconnected.
    """
    try:
        anyio.from_thread.check_cancelled()
    except asyncio.CancelledError:
        raise Stopped("the client has cancelled the call") from None
    except RuntimeError:  # not a worker thread
        return


async def unless_gone(receive: Receive, work: Awaitable[T]) -> T | None:
    """The result of the work; None if the client disconnects first. A reading call is then cancelled.

    The connection is not watched for the first `QUICK_SECONDS`: most calls have ended by then, and a watching task
    would cost more than a small response.
    """
    with anyio.CancelScope() as scope:
        watching = _DisconnectWatch(receive, scope)
        try:
            return await work
        finally:
            watching.stop()
    return None


class _DisconnectWatch:
    """Cancels a scope when the client disconnects."""

    def __init__(self, receive: Receive, scope: anyio.CancelScope) -> None:
        self._receive = receive
        self._scope = scope
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._timer = self._loop.call_later(QUICK_SECONDS, self._start)

    def stop(self) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        for _ in range(2):  # the body comes first unless it was read
            if (await self._receive())["type"] == "http.disconnect":
                self._scope.cancel()
                return


def end_process() -> None:
    """End a server with status 0, without the interpreter's own end, if any thread is left. Call after all is closed.

    The interpreter would wait for the threads of calls, which cannot be interrupted, and then end every daemon thread
    when it next needs the global lock (`pthread_exit`, before Python 3.14). A thread in C++, such as one that loads or
    runs the model, is unwound through a function that must not be: the process ends by SIGABRT, "terminate called
    without an active exception". A start-up thread that still imports modules would print a traceback.
    """
    if len(threading.enumerate()) > 1:
        with suppress(OSError, ValueError):  # standard output may be closed already
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)
