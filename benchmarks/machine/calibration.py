"""The current speed of the machine: fixed work before and after each part, shown beside each of its figures.

Absolute figures of two days, or of two machines, are comparable only if these are equal; ratios within one run always
are.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import cast

from benchmarks.measuring import Row, Work, line
from benchmarks.start import LOW_LEVEL, until_initialized

LOOPS = 1_000_000
"""Number of iterations of the fixed loop."""
REPEATS = 5
STARTS = 3


@dataclass(frozen=True, slots=True)
class Calibration:
    """The cost of the fixed work."""

    loop: float
    """Milliseconds of wall time for the fixed loop."""
    hello: float
    """CPU seconds of the MCP SDK's hello-world until it has answered `initialize`."""
    load: float
    """Average number of runnable processes over one minute."""

    @classmethod
    def taken(cls) -> Calibration:
        """Measure the fixed work now."""
        until_initialized(["-c", LOW_LEVEL], os.environ)
        hello = statistics.median(until_initialized(["-c", LOW_LEVEL], os.environ).cpu for _ in range(STARTS))
        return cls(statistics.median(_loop() for _ in range(REPEATS)), hello, os.getloadavg()[0])

    def with_later(self, later: Calibration) -> str:
        """Both calibrations, before and after a part, with the date, as text."""
        pairs = (
            f"{datetime.now(UTC):%Y-%m-%d}",
            f"loop {self.loop:.0f}, {later.loop:.0f} ms",
            f"hello-world {self.hello:.2f}, {later.hello:.2f} CPU s",
            f"load {self.load:.1f}, {later.load:.1f}",
        )
        return "; ".join(pairs)


def measured(part: str, work: Work) -> list[Row]:
    """The rows of one part, each printed as soon as it is measured, with the calibration.

    Args:
        part: Name of the part.
        work: Parameters of the part; its folder is replaced by an empty one.
    """
    rows = cast("Callable[[Work], Iterator[Row]]", import_module(f"benchmarks.{part}").rows)
    found_rows: list[Row] = []
    before = Calibration.taken()
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        for row in rows(replace(work, folder=Path(folder))):
            found_rows.append(row)
            print(line(row), flush=True)
    machine = before.with_later(Calibration.taken())
    print(machine, flush=True)
    return [replace(row, machine=machine) for row in found_rows]


def _loop() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(LOOPS):
        total += number % 7
    return 1000 * (time.perf_counter() - began)
