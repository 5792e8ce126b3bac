"""A `commonplace serve` process as its clients see it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.machine.processes import cpu_seconds
from benchmarks.trees import Tree

TIMEOUT = 120.0
"""Seconds for the first index and for any one answer."""
IDLE_SECONDS = 5.0
"""Seconds without a request after which the connection is not used again: the server closes idle ones."""
REVISION = "2026-07-28"
"""Of MCP."""
CLIENT = "benchmark"


def tool_call(tool: str, arguments: Mapping[str, object]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a call of a tool, as the newer era has it."""
    meta = {"protocolVersion": REVISION, "clientInfo": {"name": CLIENT, "version": "0"}, "clientCapabilities": {}}
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

    def __init__(
        self, tree: Tree, environment: Mapping[str, str], *arguments: str, remote: Path | None = None, port: int = 0
    ) -> None:
        """Start it.

        Args:
            tree: What it serves.
            environment: Added to this process's own.
            arguments: Further flags of `commonplace serve`.
            remote: A remote of the tree, which is followed instead of serving the folder.
            port: Port; 0 for any that is free.

        Raises:
            RuntimeError: It ended instead of serving.
        """
        served = ["--replica-of", str(remote)] if remote else [str(tree.folder)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "serve", *served, "--port", str(port), *arguments],
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
        self._used = time.monotonic()

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
        body, headers = tool_call(tool, arguments)
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
        return cpu_seconds(self.process.pid)

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
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._connection.close()  # the next request opens another one
        self._used = time.monotonic()
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
