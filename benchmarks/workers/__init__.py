"""Several workers behind one port, and readers beside a writer, on the same tree as `serving`, in a Git repository.

REST read, REST search and MCP search on kept connections with one worker and with two, alternating, with the CPU time
of all processes; and eight readers alone and beside a writer that makes twenty commits a second.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.http import HttpServer, LoadResult, load_requests, run_load
from benchmarks.measuring import Row, Work, percentile
from benchmarks.serving import committed
from benchmarks.trees import Tree, generated_tree, real_tree

PART = "workers"
FILES = 10_000
WORKERS = (1, 2)
CONNECTIONS = (8, 32, 128)
LOAD_SECONDS = 3.0
READERS = 8
WRITES = 20
"""Writes a second."""
WRITE_SECONDS = 8.0


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, FILES, 10)
    committed(tree.folder)
    found: dict[str, dict[int, list[_Measured]]] = {}
    for _ in range(work.runs):
        for workers in WORKERS:
            with _server(work, tree, workers) as server:
                for name, load in _loads(server, tree):
                    found.setdefault(name, {}).setdefault(workers, []).append(load)
    for name, by_workers in found.items():
        one, two = (_median(by_workers[workers]) for workers in WORKERS)
        yield Row(PART, f"{name}, two workers against one", two.rate / one.rate, "times", "≥ 1.8", f"{one}; two: {two}")
    for workers in WORKERS:
        with _server(work, tree, workers) as server:
            yield from _beside_a_writer(server, tree, workers)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A load and its cost."""

    load: LoadResult
    cpu: float
    """CPU seconds of all processes of the server."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.load.rate

    def __str__(self) -> str:
        times = self.load.times
        return (
            f"{self.rate:,.0f} a second, {1000 * self.cpu / len(times):.2f} CPU ms, p50 {percentile(times, 50):.0f},"
            f" p99 {percentile(times, 99):.0f} ms, {self.load.errors} errors"
        )


def _median(loads: Sequence[_Measured]) -> _Measured:
    rate = statistics.median_low([one.rate for one in loads])
    return next(one for one in loads if one.rate == rate)


def _server(work: Work, tree: Tree, workers: int) -> HttpServer:
    state = {name: str(work.folder / "state") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    server = HttpServer(tree, state, "--workers", str(workers), "--tier", "write", "--commit", "auto")
    try:
        server.await_workers(workers)
    except BaseException:
        server.process.terminate()
        raise
    return server


def _loads(server: HttpServer, tree: Tree) -> Iterator[tuple[str, _Measured]]:
    for what, requests, _ in load_requests(server, tree):
        run_load(server.port, requests, READERS, 1.0)
        for connections in CONNECTIONS:
            cpu = server.cpu()
            load = run_load(server.port, requests, connections, LOAD_SECONDS)
            yield f"{what}, {connections} kept connections", _Measured(load, server.cpu() - cpu)


def _beside_a_writer(server: HttpServer, tree: Tree, workers: int) -> Iterator[Row]:
    name = f"{READERS} readers and a writer of {WRITES} a second, {workers} worker{'s' if workers > 1 else ''}"
    requests = next(requests for what, requests, _ in load_requests(server, tree) if what == "REST search")
    run_load(server.port, requests, READERS, 1.0)
    alone = run_load(server.port, requests, READERS, WRITE_SECONDS)
    writer = _Writer(server)
    writer.start()
    beside = run_load(server.port, requests, READERS, WRITE_SECONDS)
    writer.end()
    lost = 100 * (1 - beside.rate / alone.rate)
    detail = f"{alone.rate:,.0f} and {beside.rate:,.0f} searches a second; {alone.errors + beside.errors} errors"
    yield Row(PART, f"{name}: what readers lose", lost, "%", "≤ 15", detail)
    times = sorted(writer.times)
    detail = f"p50 {percentile(times, 50):.0f}, p99 {percentile(times, 99):.0f} ms"
    yield Row(PART, f"{name}: writes", len(times) / WRITE_SECONDS, "a second", f"{WRITES}, p99 ≤ 100", detail)


@dataclass(slots=True)
class _Writer:
    """A thread that writes pages at its rate, on a connection of its own."""

    server: HttpServer
    times: list[float] = field(default_factory=list[float])
    """Milliseconds of each write."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to write."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Write no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        begun = time.perf_counter()
        number = 0
        while not self._stop.wait(max(0.0, begun + number / WRITES - time.perf_counter())):
            sent = time.perf_counter()
            path = f"/pages/written%2Fpage-{time.time_ns()}.md"
            self.server.put(path, {"content": f"# Page {number}\n\nA sentence that is new.\n"})
            self.times.append(1000 * (time.perf_counter() - sent))
            number += 1
