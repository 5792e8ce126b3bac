"""Worker threads of the servers: separate limits for writers and readers."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint_if_cancelled

from commonplace.domain.errors import KnowledgeError, Stopped
from commonplace.faces.reader_slots import ReaderSlots

_WORKER = "AnyIO worker thread"
"""AnyIO's name for its worker threads."""
START_THREAD = "start"
"""Name of the thread that completes the start-up after clients are answered."""
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


def end_abandoned_calls() -> None:
    """Exit with status 0 if abandoned calls or an unfinished start-up still run. Call this after everything is closed.

    The interpreter would otherwise wait for the threads of calls, which cannot be interrupted. A start-up thread that
    still imports modules fails at interpreter exit and prints a traceback.
    """
    if any(thread.name in {_WORKER, START_THREAD} for thread in threading.enumerate()):
        with suppress(OSError, ValueError):  # standard output may be closed already
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)
