"""The time that one write may take, whatever it waits for: locks, drafts of others, another server, the remote."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

WRITE_SECONDS = 10.0
"""Default time in seconds of a write."""
SPENT_SHARE = 0.1
LEAST_SECONDS = 0.05
"""Seconds that a step gets at least, so that it can fail with its own reason."""


@dataclass(slots=True)
class _Budget:
    seconds: float
    deadline: float
    """Time of `time.monotonic`."""


_BUDGET: ContextVar[_Budget | None] = ContextVar("write budget", default=None)


@contextmanager
def write_budget(seconds: float) -> Generator[None]:
    """Limit the time of the block's steps, which ask `seconds_left`. In another such block it changes nothing.

    Args:
        seconds: Time in seconds.
    """
    if _BUDGET.get() is not None:
        yield
        return
    token = _BUDGET.set(_Budget(seconds, time.monotonic() + seconds))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def renew_budget() -> None:
    """Give the block's next write the whole time again, after one was confirmed. Does nothing outside of a block."""
    if (budget := _BUDGET.get()) is not None:
        budget.deadline = time.monotonic() + budget.seconds


def seconds_left(most: float, share: float = 1.0) -> float:
    """Seconds that a step may take: at least `LEAST_SECONDS`; without a budget `most`.

    Args:
        most: Maximum in seconds.
        share: The part of the remaining time that the step may use, so that something is left for what follows it.
    """
    budget = _BUDGET.get()
    if budget is None:
        return most
    return min(most, max((budget.deadline - time.monotonic()) * share, LEAST_SECONDS))


def is_limited() -> bool:
    """Whether a budget limits this call: it is that of a write."""
    return _BUDGET.get() is not None


def is_spent() -> bool:
    """Whether the time that is left is too short to begin a push with. Never outside of a block."""
    budget = _BUDGET.get()
    return budget is not None and budget.deadline - time.monotonic() < budget.seconds * SPENT_SHARE
