"""Requests over persistent HTTP connections, as clients with connection pools send them, on the tree of `serving`.

REST read, REST search and MCP search are first measured on one connection, from sending the request to receiving the
whole answer. Then 1 to 256 connections are used at once, with one worker and with two, without a writer and with a
writer that makes twenty commits per second. A search over stdio is the comparison. The tree is a Git repository.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, urlencode

from benchmarks.http.load import LoadResult, Writer, run_load
from benchmarks.http.server import HttpServer, tool_call
from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.serving import committed
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, tree_of

__all__ = ["WRITES", "HttpServer", "LoadResult", "Writer", "load_requests", "rows", "run_load", "serving"]

PART = "http"
FILES = 10_000
PAGES = 200
"""Number of pages that are read."""
ROUNDS = 3
"""Number of times that every request is sent."""
WORKERS = (1, 2)
CONNECTIONS = (1, 8, 32, 128, 256)
LOAD_SECONDS = 2.5
"""Duration of a load in seconds, for each number of connections."""
WRITES = 20
"""Writes of the writer per second."""
WRITER = ("--tier", "write", "--commit", "auto")


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = tree_of(work, FILES)
    committed(tree.folder)
    with serving(work, tree, 1) as server:
        yield from _alone(server, tree)
    yield _stdio(work, tree)
    loads: dict[_Case, list[_Measured]] = {}
    for _ in range(work.runs):
        for workers in WORKERS:
            with serving(work, tree, workers) as server:
                for case, load in _loads(server, tree, workers):
                    loads.setdefault(case, []).append(load)
    medians = {case: _median(measureds) for case, measureds in loads.items()}
    for case, load in medians.items():
        yield Row(PART, str(case), load.rate, "a second", case.aim, str(load))
    yield from _compared(medians)


def serving(work: Work, tree: Tree, workers: int) -> HttpServer:
    """A server with `workers` workers, all ready, and permission to write. Its state is in the part's folder."""
    state = {name: str(work.folder / "state") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    server = HttpServer(tree, state, "--workers", str(workers), *WRITER)
    try:
        server.await_workers(workers)
    except BaseException:
        server.process.terminate()
        raise
    return server


@dataclass(frozen=True, slots=True)
class _Case:
    """The parameters of one load."""

    what: str
    connections: int
    workers: int
    is_beside_writer: bool
    aim: str = ""

    def __str__(self) -> str:
        beside = f", beside {WRITES} writes a second" if self.is_beside_writer else ""
        return f"{self.what}, {self.connections} kept connections, workers: {self.workers}{beside}"


@dataclass(frozen=True, slots=True)
class _Measured:
    """A load and its cost."""

    load: LoadResult
    cpu: float
    """CPU seconds of all processes of the server."""
    writer: Writer | None

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.load.rate

    def __str__(self) -> str:
        times = self.load.times
        half, most = percentile(times, 50), percentile(times, 99)
        cost = "" if self.writer else f"{1000 * self.cpu / len(times):.2f} CPU ms in the server; "
        read = f"{cost}p50 {half:.1f}, p99 {most:.1f} ms ({most / half:.1f} times); {self.load.errors} errors"
        if self.writer is None:
            return read
        written = sorted(self.writer.times)
        rate = len(written) / self.writer.seconds
        return f"{read}; writer {rate:.1f}, p50 {percentile(written, 50):.0f}, p99 {percentile(written, 99):.0f} ms"


def _loads(server: HttpServer, tree: Tree, workers: int) -> Iterator[tuple[_Case, _Measured]]:
    for what, requests, aim in load_requests(server, tree):
        run_load(server.port, requests, 8, 1.0)
        for connections in CONNECTIONS:
            for beside in (False, True):
                writer = Writer(server, WRITES) if beside else None
                if writer:
                    writer.start()
                cpu = server.cpu()
                load = run_load(server.port, requests, connections, LOAD_SECONDS)
                cpu = server.cpu() - cpu
                if writer:
                    writer.end()
                case = _Case(what, connections, workers, beside, "" if beside else aim)
                yield case, _Measured(load, cpu, writer)


def _median(loads: Sequence[_Measured]) -> _Measured:
    rate = statistics.median_low([measured.rate for measured in loads])
    return next(measured for measured in loads if measured.rate == rate)


def _compared(loads: Mapping[_Case, _Measured]) -> Iterator[Row]:
    """Ratios: two workers against one, more connections against fewer, and reading with a writer against without."""
    rates = {(case.what, case.connections, case.workers, case.is_beside_writer): load for case, load in loads.items()}
    for what in dict.fromkeys(case.what for case in loads):
        for connections in CONNECTIONS[1:]:
            value, two = (rates[what, connections, workers, False].rate for workers in WORKERS)
            yield Row(
                PART, f"{what}, {connections} kept connections, two workers against one", two / value, "times", "≥ 1.8"
            )
        for workers in WORKERS:
            few, many = (rates[what, connections, workers, False].rate for connections in (8, 256))
            yield Row(PART, f"{what}, 256 kept connections against 8, workers: {workers}", many / few, "times", "≥ 1")
            alone, beside = (rates[what, 8, workers, writer] for writer in (False, True))
            name = f"{what}, 8 readers beside {WRITES} writes a second, workers: {workers}: what readers lose"
            yield Row(PART, name, 100 * (1 - beside.rate / alone.rate), "%", "≤ 15", str(beside))


def _alone(server: HttpServer, tree: Tree) -> Iterator[Row]:
    for what, calls, aim in _calls(server, tree):
        milliseconds(calls[:20])
        cpu = server.cpu()
        times = milliseconds(calls)
        spent = 1000 * (server.cpu() - cpu) / len(calls)
        detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the server"
        yield Row(PART, f"{what} over a kept connection, {tree.name}", percentile(times, 50), "ms", aim, detail)


def _stdio(work: Work, tree: Tree) -> Row:
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(work.folder / "state")
    with StdioServer(tree.folder, "--no-embed") as stdio:
        partials = [partial(stdio.call, "kb_search", **arguments) for arguments in _search_arguments(tree)]
        milliseconds(partials[:20])
        times = milliseconds(partials * ROUNDS)
    name = f"MCP search over stdio, {tree.name}"
    detail = f"p99 {percentile(times, 99):.1f} ms"
    return Row(PART, name, percentile(times, 50), "ms", "HTTP ≤ 1.3 times this", detail)


def _calls(server: HttpServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]], str]]:
    """Names of the figures, the calls, and the targets."""
    listed = server.get(f"/pages?limit={PAGES}")["pages"]
    paths = [f"/pages/{quote(page['path'], safe='')}" for page in listed]
    searches = [f"/search?{urlencode({'q': text, 'limit': 10})}" for text in tree.questions]
    yield "REST read", [partial(server.get, path) for path in paths] * ROUNDS, "p50 ≤ 2"
    yield "REST search", [partial(server.get, path) for path in searches] * ROUNDS, "p50 ≤ 5"
    partials = [partial(server.call, "kb_search", arguments) for arguments in _search_arguments(tree)]
    yield "MCP search", partials * ROUNDS, "p50 ≤ 6"


def load_requests(server: HttpServer, tree: Tree) -> Iterator[tuple[str, Sequence[bytes], str]]:
    """Names of the figures, whole HTTP requests, and the targets."""
    listed = server.get(f"/pages?limit={PAGES}")["pages"]
    pages = [server.request("GET", f"/api/v1/pages/{quote(page['path'], safe='')}") for page in listed]
    yield "REST read", pages, "≥ 1,000 a second per core, ≤ 1 CPU ms"
    searches = [f"/api/v1/search?{urlencode({'q': text, 'limit': 10})}" for text in tree.questions]
    yield "REST search", [server.request("GET", path) for path in searches], "≤ 3.5 CPU ms"
    calls = [tool_call("kb_search", arguments) for arguments in _search_arguments(tree)]
    yield "MCP search", [server.request("POST", "/mcp/kb", body, headers) for body, headers in calls], "≤ 5 CPU ms"


def _search_arguments(tree: Tree) -> list[dict[str, object]]:
    return [{"query": text, "mode": "keyword", "limit": 10} for text in tree.questions]
