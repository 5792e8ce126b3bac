"""Requests over one kept HTTP connection, as a client with a connection pool makes them.

REST read, REST search and MCP search, on the same tree as `serving`.

Each figure is the time from sending the request to having the whole answer.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

from benchmarks.measuring import Row, Work, milliseconds, percentile
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


def _calls(server: HttpServer, tree: Tree) -> Iterator[tuple[str, Sequence[Callable[[], object]], str]]:
    """What is measured, the calls, and the figure to reach."""
    listed = server.get(f"/pages?limit={PAGES}")["pages"]
    paths = [f"/pages/{quote(page['path'], safe='')}" for page in listed]
    searches = [f"/search?{urlencode({'q': text, 'limit': 10})}" for text in tree.questions]
    yield "REST read", [partial(server.get, path) for path in paths] * ROUNDS, "p50 ≤ 2"
    yield "REST search", [partial(server.get, path) for path in searches] * ROUNDS, "p50 ≤ 5"
    asked = [{"query": text, "mode": "keyword", "limit": 10} for text in tree.questions]
    yield "MCP search", [partial(server.call, "kb_search", one) for one in asked] * ROUNDS, "p50 ≤ 6"


class HttpServer:
    """A `commonplace serve` process and one connection to it; ended with its block."""

    def __init__(self, tree: Tree, environment: Mapping[str, str]) -> None:
        """Start it.

        Args:
            tree: What it serves.
            environment: Added to this process's own.

        Raises:
            RuntimeError: It ended instead of serving.
        """
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "serve", str(tree.folder), "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment, "COMMONPLACE_EMBED": "false"},
        )
        assert self.process.stderr is not None  # noqa: S101
        line = next((line for line in self.process.stderr if line.startswith("Serving on ")), "")
        if not line:
            raise RuntimeError("the server ended before it served")
        self._connection = http.client.HTTPConnection("127.0.0.1", int(line.rpartition(":")[2]), timeout=TIMEOUT)

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
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self._asked("POST", "/mcp", json.dumps(body).encode(), headers)["result"]

    def cpu(self) -> float:
        """CPU seconds that the process has used so far, in steps of the kernel's clock, mostly 0.01 (Linux)."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

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
