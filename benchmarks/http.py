"""Requests over kept HTTP connections, as clients with connection pools make them, on the same tree as `serving`.

REST read, REST search and MCP search: each alone on one connection, with the time from sending the request to having
the whole answer, and then on 1 to 256 connections at once, with the rate. A search over stdio stands beside them.
"""

from __future__ import annotations

import http.client
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

from benchmarks.measuring import Row, Work, milliseconds, percentile
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, generated_tree, real_tree

PART = "http"
FILES = 10_000
TIMEOUT = 120.0
"""Seconds for the first index and for any one answer."""
REVISION = "2026-07-28"
"""Of MCP."""
PAGES = 200
"""Pages that are read."""
ROUNDS = 3
"""How often every question is asked."""
CONNECTIONS = (1, 8, 32, 128, 256)
LOAD_SECONDS = 8.0
"""For each number of connections."""
_PIECE = 256 * 1024
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    tree = real_tree(work.folder) or generated_tree(work.folder, FILES, 10)
    state = {name: str(work.folder / "state") for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with HttpServer(tree, state) as server:
        server.get("/pages?limit=1")
        for what, calls, aim in _calls(server, tree):
            milliseconds(calls[:20])
            cpu = server.cpu()
            times = milliseconds(calls)
            spent = 1000 * (server.cpu() - cpu) / len(calls)
            detail = f"p99 {percentile(times, 99):.1f} ms, {spent:.1f} CPU ms in the server"
            yield Row(PART, f"{what} over a kept connection, {tree.name}", percentile(times, 50), "ms", aim, detail)
        for what, requests, aim in load_requests(server, tree):
            for connections in CONNECTIONS:
                yield _load(server, what, requests, connections, aim)
    os.environ.update(state)
    with StdioServer(tree.folder, "--no-embed") as stdio:
        asked = [partial(stdio.call, "kb_search", **arguments) for arguments in _search_arguments(tree)]
        milliseconds(asked[:20])
        times = milliseconds(asked * ROUNDS)
        name = f"MCP search over stdio, {tree.name}"
        yield Row(
            PART, name, percentile(times, 50), "ms", "HTTP ≤ 1.3 times this", f"p99 {percentile(times, 99):.1f} ms"
        )


def _load(server: HttpServer, what: str, requests: Sequence[bytes], connections: int, aim: str) -> Row:
    cpu = server.cpu()
    load = run_load(server.port, requests, connections, LOAD_SECONDS)
    spent = 1000 * (server.cpu() - cpu) / len(load.times)
    detail = (
        f"{spent:.2f} CPU ms in the server; p50 {percentile(load.times, 50):.1f}, p99 {percentile(load.times, 99):.1f},"
        f" connections/rate {1000 * connections / load.rate:.1f} ms; {load.errors} errors"
    )
    return Row(PART, f"{what}, {connections} kept connections", load.rate, "a second", aim, detail)


def _calls(server: HttpServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]], str]]:
    """What is measured, the calls, and the figure to reach."""
    listed = server.get(f"/pages?limit={PAGES}")["pages"]
    paths = [f"/pages/{quote(page['path'], safe='')}" for page in listed]
    searches = [f"/search?{urlencode({'q': text, 'limit': 10})}" for text in tree.questions]
    yield "REST read", [partial(server.get, path) for path in paths] * ROUNDS, "p50 ≤ 2"
    yield "REST search", [partial(server.get, path) for path in searches] * ROUNDS, "p50 ≤ 5"
    asked = [partial(server.call, "kb_search", arguments) for arguments in _search_arguments(tree)]
    yield "MCP search", asked * ROUNDS, "p50 ≤ 6"


def load_requests(server: HttpServer, tree: Tree) -> Iterator[tuple[str, Sequence[bytes], str]]:
    """What is measured, whole HTTP requests, and the figure to reach."""
    listed = server.get(f"/pages?limit={PAGES}")["pages"]
    pages = [server.request("GET", f"/api/v1/pages/{quote(page['path'], safe='')}") for page in listed]
    yield "REST read", pages, "≥ 1,000 a second per core, ≤ 1 CPU ms"
    searches = [f"/api/v1/search?{urlencode({'q': text, 'limit': 10})}" for text in tree.questions]
    yield "REST search", [server.request("GET", path) for path in searches], "≤ 3.5 CPU ms"
    calls = [_call("kb_search", arguments) for arguments in _search_arguments(tree)]
    yield "MCP search", [server.request("POST", "/mcp/kb", body, headers) for body, headers in calls], "≤ 5 CPU ms"


def _search_arguments(tree: Tree) -> list[dict[str, object]]:
    return [{"query": text, "mode": "keyword", "limit": 10} for text in tree.questions]


def _call(tool: str, arguments: Mapping[str, object]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a call of a tool, as the newer era has it."""
    meta = {"protocolVersion": REVISION, "clientInfo": {"name": PART, "version": "0"}, "clientCapabilities": {}}
    about = {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
    params = {"name": tool, "arguments": arguments, "_meta": about}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode(), headers


class HttpServer:
    """A `commonplace serve` process and one connection to it; ended with its block."""

    def __init__(self, tree: Tree, environment: Mapping[str, str], *arguments: str) -> None:
        """Start it.

        Args:
            tree: What it serves.
            environment: Added to this process's own.
            arguments: Further flags of `commonplace serve`.

        Raises:
            RuntimeError: It ended instead of serving.
        """
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "serve", str(tree.folder), "--port", "0", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment, "COMMONPLACE_EMBED": "false"},
        )
        assert self.process.stderr is not None  # noqa: S101
        line = next((line for line in self.process.stderr if line.startswith("Serving on ")), "")
        if not line:
            raise RuntimeError("the server ended before it served")
        self.port = int(line.rpartition(":")[2])
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()
        self.process.terminate()
        self.process.communicate(timeout=60)

    def get(self, path: str) -> dict[str, Any]:
        """What the REST API answers.

        Raises:
            RuntimeError: It answered with an error.
        """
        return self._asked("GET", f"/api/v1{path}", None, {})

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """What the REST API answers to a page that is written.

        Raises:
            RuntimeError: It answered with an error.
        """
        return self._asked("PUT", f"/api/v1{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The result of a call of a tool over MCP.

        Raises:
            RuntimeError: It answered with an error.
        """
        body, headers = _call(tool, arguments)
        return self._asked("POST", "/mcp/kb", body, headers)["result"]

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """A whole HTTP request, for a connection of one's own."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    def cpu(self) -> float:
        """CPU seconds of the process and its workers so far, in steps of the kernel's clock, mostly 0.01 (Linux)."""
        ticks = 0
        for process in (self.process.pid, *self._workers()):
            text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
            ticks += sum(map(int, text.rpartition(")")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def await_workers(self, workers: int) -> None:
        """Wait until so many workers answer.

        Raises:
            TimeoutError: they do not.
        """
        until = time.monotonic() + TIMEOUT
        while workers > 1 and (len(self._workers()) < workers or not all(map(_accepts, self._workers()))):
            if time.monotonic() > until:
                raise TimeoutError(f"{workers} workers were to serve")
            time.sleep(0.1)
        self.get("/pages?limit=1")

    def _workers(self) -> list[int]:
        pid = self.process.pid
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]

    def _asked(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        self._connection.request(method, path, body, dict(headers))
        response = self._connection.getresponse()
        content = response.read()
        if (
            response.status not in {http.client.OK, http.client.CREATED}
            or response.getheader("Content-Type") != "application/json"
        ):
            raise RuntimeError(f"{method} {path}: {response.status} {content[:200]!r}")
        return json.loads(content)


def _accepts(process: int) -> bool:
    """Whether a worker's event loop waits for connections: it watches more than its own wake-up socket (Linux)."""
    for file in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # it is closed by now
            if file.readlink() == Path("anon_inode:[eventpoll]"):
                watched = Path(f"/proc/{process}/fdinfo/{file.name}").read_text(encoding="ascii").count("tfd:")
                if watched > 1:
                    return True
    return False


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a number of connections saw."""

    times: Sequence[float]
    """Milliseconds from sending each request to having the whole answer, sorted."""
    wall: float
    """Seconds."""
    errors: int
    """Answers of another status than 200, and connections that the server closed."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.times) / self.wall


@dataclass(slots=True)
class _Exchange:
    """A request on its way and what has come of its answer."""

    sent: float
    come: bytearray = field(default_factory=bytearray)
    length: int = -1
    """Bytes of the whole answer; -1 until its head is there."""

    def add(self, piece: bytes) -> bool:
        """Whether the answer is whole with this piece."""
        self.come += piece
        if self.length < 0 and (end := self.come.find(_HEAD_END)) >= 0:
            head = bytes(self.come[:end]).lower()
            stated = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
            self.length = end + len(_HEAD_END) + int(stated)
        return 0 <= self.length <= len(self.come)

    @property
    def is_ok(self) -> bool:
        """Whether the status is 200."""
        return self.come.startswith(b"HTTP/1.1 200 ")


def run_load(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> LoadResult:
    """Keep each connection busy for some seconds; requests that are on their way then are waited for.

    Args:
        port: Of the server, on this machine.
        requests: Whole HTTP requests, sent in turn.
        connections: How many.
        seconds: How long requests are sent.

    Raises:
        TimeoutError: nothing was answered for `TIMEOUT` seconds.
    """
    chosen = cycle(requests)
    times: list[float] = []
    errors = 0
    with selectors.DefaultSelector() as selector:
        began = time.perf_counter()
        for _ in range(connections):
            opened = socket.create_connection(("127.0.0.1", port), TIMEOUT)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(opened, selectors.EVENT_READ, _Exchange(time.perf_counter()))
            opened.sendall(next(chosen))
        while keys := selector.get_map():
            ready = selector.select(TIMEOUT)
            if not ready:
                raise TimeoutError(f"{len(keys)} requests were not answered")
            for key, _ in ready:
                connection, exchange = key.fileobj, key.data
                assert isinstance(connection, socket.socket)  # noqa: S101
                piece = connection.recv(_PIECE)
                if piece and not exchange.add(piece):
                    continue
                now = time.perf_counter()
                times.append(1000 * (now - exchange.sent))
                errors += not (piece and exchange.is_ok)
                if piece and now - began < seconds:
                    selector.modify(connection, selectors.EVENT_READ, _Exchange(now))
                    connection.sendall(next(chosen))
                else:
                    selector.unregister(connection)
                    connection.close()
        return LoadResult(sorted(times), time.perf_counter() - began, errors)
