"""Worker threads of the servers: separate limits for writers and readers."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint_if_cancelled
from starlette.types import Receive

from commonplace.domain.errors import KnowledgeError, Stopped
from commonplace.faces.reader_slots import ReaderSlots

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
