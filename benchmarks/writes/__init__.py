"""Durable writes over HTTP on the tree of `serving`, in Git: rate, flushes per write, and effect on readers.

Each write is a new page and a separate commit, acknowledged when it is durable and searchable.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from urllib.parse import quote

from benchmarks.http import WRITES, HttpServer, LoadResult, Writer, load_requests, run_load, serving
from benchmarks.machine.processes import descendants
from benchmarks.measuring import Row, Work, percentile
from benchmarks.serving import committed
from benchmarks.trees import Tree, tree_of

PART = "writes"
FILES = 10_000
CONNECTIONS = (1, 8)
WORKERS = (1, 2)
READERS = 8
WRITE_SECONDS = 4.0
READ_SECONDS = 5.0
MAX_WRITES = 4_000
"""Number of prepared requests for one load: more than can be answered."""
FLUSHES = ("fsync", "fdatasync", "syncfs")
_AIMS = {1: "", 8: "≥ 200"}
_numbers = count()


@dataclass(frozen=True, slots=True)
class _Beside:
    """A round of readers, alone and beside the writer."""

    alone: LoadResult
    beside: LoadResult
    writer: Writer

    @property
    def lost(self) -> float:
        """Loss of reading rate in percent."""
        return 100 * (1 - self.beside.rate / self.alone.rate)

    @property
    def written(self) -> float:
        """Writes per second."""
        return len(self.writer.times) / self.writer.seconds


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = tree_of(work, FILES)
    committed(tree.folder)
    written: dict[tuple[int, int], list[tuple[LoadResult, float]]] = {}
    beside: dict[int, list[_Beside]] = {workers: [] for workers in WORKERS}
    for _ in range(work.runs):
        for workers in WORKERS:
            with serving(work, tree, workers) as server:
                for connections in CONNECTIONS:
                    written.setdefault((connections, workers), []).append(_written(server, tree, connections))
                beside[workers].append(_beside(server, tree))
    for (connections, workers), found_pairs in written.items():
        yield _writes_row(connections, workers, found_pairs)
    for workers, rounds in beside.items():
        yield from _beside_rows(workers, rounds)
    yield from _flushes(work, tree)


def _written(server: HttpServer, tree: Tree, connections: int) -> tuple[LoadResult, float]:
    """A load of writes, and the CPU milliseconds per write.

    Raises:
        RuntimeError: a write was not a separate commit.
    """
    before, cpu = _commits(tree), server.cpu()
    load = run_load(server.port, _requests(server), connections, WRITE_SECONDS)
    made = _commits(tree) - before
    if made != len(load.times) - load.errors:
        raise RuntimeError(f"{made} commits for {len(load.times)} writes, of which {load.errors} failed")
    return load, 1000 * (server.cpu() - cpu) / len(load.times)


def _writes_row(connections: int, workers: int, found_pairs: Sequence[tuple[LoadResult, float]]) -> Row:
    rates = [load.rate for load, _ in found_pairs]
    times = sorted(other_time for load, _ in found_pairs for other_time in load.times)
    detail = (
        f"p50 {percentile(times, 50):.1f}, p99 {percentile(times, 99):.1f} ms; "
        f"{statistics.median(cpu for _, cpu in found_pairs):.1f} CPU ms in the server; "
        f"{sum(load.errors for load, _ in found_pairs)} errors; rounds: {', '.join(f'{rate:.0f}' for rate in rates)}"
    )
    name = f"durable writes from {connections} connections, workers: {workers}, each a commit"
    return Row(PART, name, statistics.median(rates), "a second", _AIMS[connections], detail)


def _beside(server: HttpServer, tree: Tree) -> _Beside:
    """REST searches, alone and then beside a writer."""
    requests = next(requests for what, requests, _ in load_requests(server, tree) if what == "REST search")
    run_load(server.port, requests, READERS, 1.0)
    alone = run_load(server.port, requests, READERS, READ_SECONDS)
    writer = Writer(server, WRITES)
    writer.start()
    beside = run_load(server.port, requests, READERS, READ_SECONDS)
    writer.end()
    return _Beside(alone, beside, writer)


def _beside_rows(workers: int, rounds: Sequence[_Beside]) -> Iterator[Row]:
    name = f"{READERS} readers and a writer of {WRITES} a second, workers: {workers}"
    shown = ", ".join(f"{beside.alone.rate:.0f} and {beside.beside.rate:.0f}" for beside in rounds)
    errors = sum(beside.alone.errors + beside.beside.errors for beside in rounds)
    lost = statistics.median(beside.lost for beside in rounds)
    detail = f"searches a second, alone and beside: {shown}; {errors} errors"
    yield Row(PART, f"{name}: what readers lose", lost, "%", "≤ 15", detail)
    times = sorted(other_time for round_ in rounds for other_time in round_.writer.times)
    rate = statistics.median(beside.written for beside in rounds)
    yield Row(PART, f"{name}: writes", rate, "a second", f"{WRITES}", f"p50 {percentile(times, 50):.0f} ms")
    yield Row(PART, f"{name}: p99 of a write", percentile(times, 99), "ms", "≤ 100", f"{len(times)} writes")


def _flushes(work: Work, tree: Tree) -> Iterator[Row]:
    """Flushes per write, counted with strace; nothing if strace is missing or not permitted to trace."""
    command = shutil.which("strace")
    if command is None:
        return
    with serving(work, tree, 1) as server:
        for connections in CONNECTIONS:
            report = work.folder / "flushes.txt"
            processes = [part for process in descendants(server.process.pid) for part in ("-p", str(process))]
            options = ["-f", "-c", "-q", "-e", f"trace={','.join(FLUSHES)}", "-o", str(report)]
            tracer = subprocess.Popen([command, *options, *processes], stderr=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                tracer.wait(1.0)  # strace has attached to every thread by then, or has exited because it may not
                return
            load = run_load(server.port, _requests(server), connections, WRITE_SECONDS)
            tracer.terminate()
            tracer.wait(10.0)
            lines = [line.split() for line in report.read_text(encoding="utf-8").splitlines()]
            calls = sum(int(line[3]) for line in lines if line and line[-1] in FLUSHES)  # the fourth column: calls
            name = f"flushes of a durable write from {connections} connections"
            detail = f"{calls:,} calls of fsync, fdatasync and syncfs, {len(load.times):,} writes; {load.errors} errors"
            yield Row(PART, name, calls / len(load.times), "flushes", "≤ 6", detail)


def _requests(server: HttpServer) -> list[bytes]:
    """Requests that each create a new page."""
    run = time.time_ns()
    return [
        server.request(
            "PUT",
            f"/api/v1/pages/{quote(f'written/{run}-{number}.md', safe='')}",
            json.dumps({"content": f"# Page {number}\n\nA sentence that is new.\n"}).encode(),
            {"Content-Type": "application/json"},
        )
        for number in islice(_numbers, MAX_WRITES)
    ]


def _commits(tree: Tree) -> int:
    folders = ["git", "-C", str(tree.folder), "rev-list", "--count", "HEAD"]
    return int(subprocess.run(folders, check=True, capture_output=True, text=True).stdout)
