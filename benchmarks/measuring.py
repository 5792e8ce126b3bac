"""Measurements: CPU and wall seconds, medians of several runs, and the machine's name."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    part: str
    """Module that measured the figure."""
    name: str
    """Name of the figure, with the measured object."""
    value: float
    unit: str
    reach: str = ""
    """Target of the figure, as in `performance.md`."""
    detail: str = ""
    """Further results: other percentiles, wall seconds, sizes."""
    machine: str = ""
    """The date, the fixed work of the machine before and after this part, and its load."""


@dataclass(frozen=True, slots=True)
class Work:
    """Parameters of a part."""

    folder: Path
    """An empty temporary folder, deleted afterwards."""
    runs: int
    """Number of repetitions of a measurement."""
    sections: int
    """Number of sections of the large generated tree."""
    files: int = 0
    """Maximum number of files of a generated tree for a trial; 0 for the regular sizes."""

    def size(self, files: int) -> int:
        """Number of files of a tree, limited in a trial."""
        return min(files, self.files or files)


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a call."""

    cpu: float
    """CPU seconds of all threads and of ended child processes."""
    wall: float


def spent(work: Callable[[], object]) -> Spent:
    """Run a function once and return its cost."""
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return Spent(_cpu() - cpu, time.perf_counter() - wall)


def median_spent(runs: int, work: Callable[[], object]) -> Spent:
    """The median cost of several runs."""
    costs = [spent(work) for _ in range(runs)]
    return Spent(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs))


def milliseconds(work: Sequence[Callable[[], object]]) -> list[float]:
    """The time of each call in milliseconds, sorted."""
    times: list[float] = []
    for piece in work:
        began = time.perf_counter()
        piece()
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value below which `percent` percent of the sorted values lie."""
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def peak_memory() -> float:
    """The maximum resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def machine() -> str:
    """Processor, number of cores, operating system, Python and load of this machine."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        names = [
            line.partition(":")[2].strip() for line in cpus.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    load = os.getloadavg()[0]
    python = f"Python {platform.python_version()}, {platform.python_compiler()}"
    return f"{os.cpu_count()} cores of {model}, {platform.system()}, {python}, load {load:.1f}"


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def line(row: Row) -> str:
    """A row of the Markdown table."""
    shown = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2f}"
    return f"| {row.name} | {shown} {row.unit} | {row.reach} | {row.detail} | {row.machine} |"
