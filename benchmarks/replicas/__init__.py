"""Servers that follow a bare remote on this machine: scaling of searches, acknowledged writes, and reading own writes.

The same load of REST searches is distributed over one, two and four servers. Writes go to the server that pushes and to
another one, which forwards them. Each write is a commit, acknowledged when the remote has it. A page that was written
through one server is then read through the other, at the commit of the write.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from socket import socket
from urllib.parse import quote

from benchmarks.http import HttpServer, LoadResult, load_requests, run_load
from benchmarks.machine.processes import await_idle, cpu_seconds_with_ended
from benchmarks.measuring import Row, Work, percentile
from benchmarks.serving import committed
from benchmarks.trees import Tree, tree_of

PART = "replicas"
FILES = 10_000
REPLICAS = (1, 2, 4)
CONNECTIONS = 16
"""Number of connections of the search load, over all servers."""
SEARCH_SECONDS = 5.0
WRITERS = (1, 8, 32)
WRITE_SECONDS = 5.0
MAX_WRITES = 2_000
"""Number of prepared requests for one load: more than can be answered."""
OWN_READS = 100
"""Number of writes per round that are read through the other server."""
TIMEOUT = 60.0
INDEX_SECONDS = 300.0
"""Timeout in seconds of a server's first index."""
_SECRET = {"COMMONPLACE_CLUSTER_SECRET": "of this benchmark"}
_AIMS = {1: "", 8: "", 32: "≥ 60 a second, p99 < 500 ms"}
_numbers = count()


@dataclass(frozen=True, slots=True)
class _Cost:
    """A load, and the CPU milliseconds per request in the servers and their child processes."""

    load: LoadResult
    cpu: float


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = tree_of(work, FILES)
    committed(tree.folder)
    remote = work.folder / "remote.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(tree.folder), str(remote)], check=True)
    yield from _searching(work, tree, remote)
    yield from _writing(work, tree, remote)


def _searching(work: Work, tree: Tree, remote: Path) -> Iterator[Row]:
    found_costs: dict[int, list[_Cost]] = {number: [] for number in REPLICAS}
    with ExitStack() as stack:
        servers = [stack.enter_context(_server(work, tree, remote, number)) for number in range(max(REPLICAS))]
        for server in servers:
            _warm(server, tree)
        await_idle([server.process.pid for server in servers])
        for _ in range(work.runs):
            for number in REPLICAS:
                found_costs[number].append(_searched(servers[:number], tree))
    base = statistics.median(cost.load.rate for cost in found_costs[REPLICAS[0]])
    for number, costs in found_costs.items():
        rate = statistics.median(cost.load.rate for cost in costs)
        name = f"REST search, {CONNECTIONS} connections, replicas: {number}"
        yield Row(PART, name, rate, "a second", "", f"{_detail(costs)}; {rate / base:.2f} times one replica")


def _searched(servers: Sequence[HttpServer], tree: Tree) -> _Cost:
    """A load of searches, distributed over servers."""
    each = CONNECTIONS // len(servers)
    requested_pairs = [(server.port, _searches(server, tree)) for server in servers]
    cpu = _cpu(servers)
    with ThreadPoolExecutor(len(servers)) as threads:
        begun = [threads.submit(run_load, port, requests, each, SEARCH_SECONDS) for port, requests in requested_pairs]
        loads = [future.result() for future in begun]
    times = sorted(other_time for load in loads for other_time in load.times)
    whole = LoadResult(times, max(load.wall for load in loads), sum(load.errors for load in loads))
    return _Cost(whole, 1000 * (_cpu(servers) - cpu) / len(times))


def _writing(work: Work, tree: Tree, remote: Path) -> Iterator[Row]:
    with ExitStack() as stack:
        servers = [stack.enter_context(server) for server in _pair(work, tree, remote)]
        for server in servers:
            _warm(server, tree)
        owner, other = _ranked(servers, remote)
        await_idle([server.process.pid for server in servers])
        for name, server in (("the server that pushes", owner), ("a server that hands them over", other)):
            written: dict[int, list[_Cost]] = {number: [] for number in WRITERS}
            for _ in range(work.runs):
                for number in WRITERS:
                    written[number].append(_written(servers, server, remote, number))
            for number, costs in written.items():
                rate = statistics.median(cost.load.rate for cost in costs)
                what = f"acknowledged writes by {name}, {number} connections"
                yield Row(PART, what, rate, "a second", _AIMS[number], _detail(costs))
        times = sorted(element for _ in range(work.runs) for element in _own_reads(owner, other, remote))
        detail = f"p50 {percentile(times, 50):.0f} ms; {len(times)} writes, each read at its commit"
        name = "a page read through another server, from the acknowledgement of its write: p99"
        yield Row(PART, name, percentile(times, 99), "ms", "< 1,000", detail)


def _written(servers: Sequence[HttpServer], server: HttpServer, remote: Path, connections: int) -> _Cost:
    """A load of writes.

    Raises:
        RuntimeError: the remote lacks the commit of an acknowledged write.
    """
    before, cpu = _commits(remote), _cpu(servers)
    load = run_load(server.port, list(_new_pages(server)), connections, WRITE_SECONDS)
    cost = 1000 * (_cpu(servers) - cpu) / len(load.times)
    made = _commits(remote) - before
    if made != len(load.times) - load.errors:
        raise RuntimeError(f"{made} commits for {len(load.times)} writes, of which {load.errors} failed")
    return _Cost(load, cost)


def _own_reads(owner: HttpServer, other: HttpServer, remote: Path) -> Iterator[float]:
    """Milliseconds of each read, through another server, of a page that was just written."""
    for body in islice(_new_pages(owner), OWN_READS):
        written = _answer(owner.port, body)
        path = json.loads(written.read())["path"]
        commit = (remote / "refs/heads/main").read_text(encoding="ascii").strip()
        began = time.perf_counter()
        address = f"/api/v1/pages/{quote(path, safe='')}"
        answer = _answer(other.port, other.request("GET", address, headers={"Commonplace-At-Least": commit}))
        answer.read()
        yield 1000 * (time.perf_counter() - began)


def _answer(port: int, request: bytes) -> http.client.HTTPResponse:
    """The answer to a whole request.

    Raises:
        RuntimeError: the status is neither 200 nor 201.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    connection.connect()
    connection.sock.sendall(request)
    answer = http.client.HTTPResponse(connection.sock)
    answer.begin()
    if answer.status not in {http.client.OK, http.client.CREATED}:
        raise RuntimeError(f"{answer.status}: {answer.read()[:200]!r}")
    return answer


def _server(work: Work, tree: Tree, remote: Path, number: int) -> HttpServer:
    return HttpServer(tree, _places(work, number), remote=remote)


def _pair(work: Work, tree: Tree, remote: Path) -> Iterator[HttpServer]:
    """Two writing servers that know each other, on the clones and indexes of the first two replicas."""
    ports = [_free_port(), _free_port()]
    peers = [word for port in ports for word in ("--peer", f"http://127.0.0.1:{port}")]
    for number, port in enumerate(ports):
        flags = ("--replica-writes", "--tier", "write", "--node-url", f"http://127.0.0.1:{port}", *peers)
        yield HttpServer(tree, {**_places(work, number), **_SECRET}, *flags, remote=remote, port=port)


def _ranked(servers: Sequence[HttpServer], remote: Path) -> list[HttpServer]:
    """The servers, with the one that pushes first. The lease names it after a write."""
    _answer(servers[0].port, next(_new_pages(servers[0]))).read()
    reported_texts = ["git", f"--git-dir={remote}", "log", "-1", "--format=%B", "refs/commonplace/writer"]
    lines = subprocess.run(reported_texts, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted(servers, key=lambda server: f"http://127.0.0.1:{server.port}" not in lines)


def _places(work: Work, number: int) -> dict[str, str]:
    return {name: str(work.folder / f"replica-{number}") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _warm(server: HttpServer, tree: Tree) -> None:
    deadline = time.monotonic() + INDEX_SECONDS
    while True:
        try:
            server.get("/pages?limit=1")
            break
        except RuntimeError as error:  # the first index is not built yet, or a failure
            if '"indexing"' not in str(error) or time.monotonic() > deadline:
                raise
    run_load(server.port, _searches(server, tree), 4, 1.0)


def _searches(server: HttpServer, tree: Tree) -> Sequence[bytes]:
    return next(requests for what, requests, _ in load_requests(server, tree) if what == "REST search")


def _new_pages(server: HttpServer) -> Iterator[bytes]:
    """Requests that each create a new page."""
    run = time.time_ns()
    for number in islice(_numbers, MAX_WRITES):
        body = json.dumps({"content": f"# Page {number}\n\nA sentence that is new.\n"}).encode()
        path = f"/api/v1/pages/{quote(f'written/{run}-{number}.md', safe='')}"
        yield server.request("PUT", path, body, {"Content-Type": "application/json"})


def _commits(remote: Path) -> int:
    reported_texts = ["git", f"--git-dir={remote}", "rev-list", "--count", "HEAD"]
    return int(subprocess.run(reported_texts, check=True, capture_output=True, text=True).stdout)


def _cpu(servers: Sequence[HttpServer]) -> float:
    return sum(cpu_seconds_with_ended(server.process.pid) for server in servers)


def _detail(costs: Sequence[_Cost]) -> str:
    times = sorted(other_time for cost in costs for other_time in cost.load.times)
    rates = ", ".join(f"{cost.load.rate:.0f}" for cost in costs)
    cpu = statistics.median(cost.cpu for cost in costs)
    errors = sum(cost.load.errors for cost in costs)
    return (
        f"p50 {percentile(times, 50):.0f}, p99 {percentile(times, 99):.0f} ms; {cpu:.1f} CPU ms each in all servers; "
        f"{errors} errors; rounds: {rates}"
    )
