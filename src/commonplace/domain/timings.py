"""Durations of the steps that writes and searches wait for: recorded where they happen, counted by a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Step: TypeAlias = Literal["fetch", "push", "queue", "lock", "engine"]
"""A fetch from or a push to a remote, waiting for the push of others, for a writer lock, or for a search cluster."""

_listeners: list[Callable[[Step, float], None]] = []


def listen(listener: Callable[[Step, float], None]) -> None:
    """Register what is called after each step with its duration in seconds. It must not raise."""
    _listeners.append(listener)


@contextmanager
def timed(step: Step) -> Generator[None]:
    """Report how long the block takes, also if it raises."""
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        for listener in _listeners:
            listener(step, seconds)
