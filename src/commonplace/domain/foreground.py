"""Calls that are answered while an index is being built, and the background work that gives way to them.

Threads of one interpreter take turns of some milliseconds, so a call beside a thread that indexes takes several times
as long as alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

MAX_WAIT_SECONDS = 0.3
"""Maximum time in seconds for which background work waits at once. It then goes on for as long as it has waited."""

LEAST_SHARE = 0.25
"""The part of a budget's processor time that a call has even if its wall time is over."""

_calls: set[int] = set()
"""The threads in which calls are answered."""
_idle = threading.Event()
_idle.set()
_turn = threading.Lock()
_waits_from = [0.0]
"""The time from which background work may wait again, on the monotonic clock."""


@contextmanager
def foreground() -> Generator[None]:
    """Answer a call in this thread: background work gives way to the block."""
    thread = threading.get_ident()
    with _turn:
        is_outer = thread not in _calls
        _calls.add(thread)
        _idle.clear()
    try:
        yield
    finally:
        with _turn:
            if is_outer:
                _calls.discard(thread)
            if not _calls:
                _idle.set()


def give_way() -> None:
    """Wait while calls are answered in other threads, at most `MAX_WAIT_SECONDS`. Costs next to nothing otherwise."""
    if not _calls or threading.get_ident() in _calls:
        return
    began = time.monotonic()
    if began >= _waits_from[0]:
        _idle.wait(MAX_WAIT_SECONDS)
        now = time.monotonic()
        _waits_from[0] = max(_waits_from[0], now + (now - began))


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """The time that a part of a call has, from its creation on, in the thread that creates it.

    On a busy machine it ends by the clock, but not before a least part of the processor time was used: what is small is
    done whole on any machine.
    """

    seconds: float
    """Processor time and wall time in seconds."""
    _cpu: float = field(default_factory=time.thread_time)
    _wall: float = field(default_factory=time.monotonic)

    def is_over(self) -> bool:
        """Whether the time is over."""
        cpu = time.thread_time() - self._cpu
        least = self.seconds * LEAST_SHARE
        return cpu > self.seconds or (cpu > least and time.monotonic() - self._wall > self.seconds)
