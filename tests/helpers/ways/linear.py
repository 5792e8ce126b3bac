"""Whether work costs as much as it is large, and no more."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

GROWTH = 4
ALLOWED = 3.0
"""A page `GROWTH` times as large may cost `GROWTH * ALLOWED` times as much; quadratic work would cost 16 times."""
FLOOR = 0.004
"""CPU seconds below which a ratio says nothing."""


def cost(work: Callable[[], object]) -> float:
    """CPU seconds of this thread, without what other tests left running and to be tidied up."""
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        gc.enable()


def assert_linear(work: Callable[[int], Callable[[], object]], size: int) -> None:
    """Grow the work; a disturbed measurement is tried again, and the least of each size counts."""
    small, large = work(size), work(size * GROWTH)
    costs: list[tuple[float, float]] = []
    for _ in range(6):
        costs.append((cost(small), cost(large)))
        least_small, least_large = (min(column) for column in zip(*costs, strict=True))
        if least_large <= max(least_small, FLOOR) * GROWTH * ALLOWED:
            return
    pytest.fail(f"{size} cost {least_small:.4f} s, {size * GROWTH} cost {least_large:.4f} s")
