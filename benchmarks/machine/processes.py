"""Resource usage of a process and its descendants (Linux)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

IDLE_SHARE = 0.03
"""Share of one core below which processes count as idle."""
IDLE_SECONDS = 0.5
"""Interval in seconds over which CPU use is measured to detect idle processes."""


def descendants(process: int) -> list[int]:
    """The process and all its running descendants."""
    return list(_with_children(process))


def cpu_seconds(process: int) -> float:
    """CPU seconds of the process and its running descendants, in steps of the kernel's clock, mostly 0.01."""
    return sum(_ticks(descendant) for descendant in descendants(process)) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_with_ended(process: int) -> float:
    """CPU seconds as from `cpu_seconds`, including children that have exited and were waited for."""
    return sum(_ticks(descendant, ended=True) for descendant in descendants(process)) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> tuple[float, float]:
    """The resident memory of the process and its descendants in MB: current, and maximum so far."""
    now = most = 0
    for descendant in descendants(process):
        with suppress(OSError):
            status = Path(f"/proc/{descendant}/status").read_text(encoding="utf-8")
            sizes = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
            now, most = now + int(sizes.get("VmRSS", 0)), most + int(sizes.get("VmHWM", 0))
    return now / 1000, most / 1000


def await_idle(processes: Iterable[int], timeout: float = 120.0) -> None:
    """Wait until all processes are idle, at most `timeout` seconds."""
    watched = list(processes)
    until = time.monotonic() + timeout
    before = sum(map(cpu_seconds, watched))
    while time.monotonic() < until:
        time.sleep(IDLE_SECONDS)
        now = sum(map(cpu_seconds, watched))
        if now - before <= IDLE_SHARE * IDLE_SECONDS:
            return
        before = now


def _with_children(process: int) -> Iterator[int]:
    yield process
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text(encoding="ascii").split():
                yield from _with_children(int(child))


def _ticks(process: int, *, ended: bool = False) -> int:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    return sum(map(int, text.rpartition(")")[2].split()[11 : 15 if ended else 13]))
