"""Where the work of servers is done: in threads, of which writers and readers have their own."""

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
"""How the library names its threads."""
START_THREAD = "start"
"""Name of the thread that does the rest of a start once clients are answered."""
MAX_WRITERS = 64
"""Maximum number of calls that write at once. Those that wait for a flush or a push share the next one."""

T = TypeVar("T")
_LIMITERS: RunVar[tuple[ReaderSlots, anyio.CapacityLimiter, anyio.CapacityLimiter]] = RunVar("_LIMITERS")


async def run_in_worker(function: Callable[[], T], *, reads: bool) -> T:
    """Call a function in a worker thread.

    Args:
        function: What to do.
        reads: Whether it changes nothing. Such a call is left behind when the caller goes away, and its place is free
            at once; it ends where it next says how far it is. A writer finishes, so that its answer is true, unless
            it says how far it is before it has written anything.
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
        await checkpoint_if_cancelled()  # which ends this task: nobody waits for it
        raise KnowledgeError("The work ended before it was done.", hint="Call again.") from None


def end_abandoned_calls() -> None:
    """End the process with 0 if calls or a start that nobody waits for are at work; to be called when all is closed.

    The interpreter would wait for the threads of calls, which cannot be woken. A start that still imports modules
    fails when the interpreter ends, and its traceback would stand on standard error.
    """
    if any(thread.name in {_WORKER, START_THREAD} for thread in threading.enumerate()):
        with suppress(OSError, ValueError):  # nobody may read them any more
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)
