"""How things are measured: CPU seconds beside wall seconds, medians of several runs, and the machine's name."""

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
    """The module that made it."""
    name: str
    """What was measured, on what."""
    value: float
    unit: str
    reach: str = ""
    """What is to be reached, as `performance.md` says it."""
    detail: str = ""
    """What else was seen: other percentiles, wall seconds, sizes."""
    machine: str = ""
    """The day, what the machine needed for fixed work before and after this part, and its load."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a part may use."""

    folder: Path
    """An empty temporary folder, deleted afterwards."""
    runs: int
    """How often a measurement is repeated."""
    sections: int
    """The size of the large generated tree."""
    files: int = 0
    """For a trial: the most files of a tree, which is then a generated one; 0 for the sizes that count."""

    def size(self, files: int) -> int:
        """The size of a tree, or that of a trial."""
        return min(files, self.files or files)


@dataclass(frozen=True, slots=True)
class Spent:
    """What something cost."""

    cpu: float
    """Seconds of all threads and of ended child processes."""
    wall: float


def spent(work: Callable[[], object]) -> Spent:
    """Run something once and say what it cost."""
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return Spent(_cpu() - cpu, time.perf_counter() - wall)


def median_spent(runs: int, work: Callable[[], object]) -> Spent:
    """The medians over several runs."""
    costs = [spent(work) for _ in range(runs)]
    return Spent(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs))


def milliseconds(work: Sequence[Callable[[], object]]) -> list[float]:
    """What each of several pieces of work took, sorted."""
    times: list[float] = []
    for piece in work:
        began = time.perf_counter()
        piece()
        times.append(1000 * (time.perf_counter() - began))
    return sorted(times)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value below which so many percent of the sorted values lie."""
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def peak_memory() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def machine() -> str:
    """What this was measured on."""
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
    """A row of the table."""
    shown = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.2f}"
    return f"| {row.name} | {shown} {row.unit} | {row.reach} | {row.detail} | {row.machine} |"
