"""Memory and other resources of a process, measured from outside, and their growth."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
"""Units of processor time in a second."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A process at one moment."""

    minute: float
    """Since the load began."""
    memory: float
    """MB of its own: what no file stands behind."""
    resident: float
    """MB in memory, files that are mapped included."""
    files: int
    """Open descriptors."""
    threads: int
    cpu: float
    """Seconds of processor time that it has used since its start."""


def sample(process: int, minute: float) -> Sample:
    """The kernel's current data about a process."""
    place = Path("/proc") / str(process)
    parts = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    times = (place / "stat").read_text().rpartition(")")[2].split()
    return Sample(
        minute,
        memory=int(parts["RssAnon"].split()[0]) / 1024,
        resident=int(parts["VmRSS"].split()[0]) / 1024,
        files=sum(1 for _ in (place / "fd").iterdir()),
        threads=int(parts["Threads"]),
        cpu=(int(times[11]) + int(times[12])) / TICKS,
    )


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Growth of the second coordinate per unit of the first: the median over all pairs (Theil and Sen)."""
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
