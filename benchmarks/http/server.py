"""A `commonplace serve` process and a client connection."""

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
"""Timeout in seconds of each answer."""
INDEX_SECONDS = 900.0
"""Timeout in seconds of the first index, which a call waits for less long than it takes on a busy machine."""
IDLE_SECONDS = 5.0
"""Seconds without a request after which the connection is not reused, because the server closes idle ones."""
REVISION = "2026-07-28"
"""Protocol version of MCP."""
CLIENT = "benchmark"


def tool_call(tool: str, arguments: Mapping[str, object]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a tool call in the newer era of MCP."""
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
    """A `commonplace serve` process and one connection to it; terminated at the end of the `with` block."""

    def __init__(
        self, tree: Tree, environment: Mapping[str, str], *arguments: str, remote: Path | None = None, port: int = 0
    ) -> None:
        """Start the server.

        Args:
            tree: The served tree.
            environment: Variables added to this process's environment.
            arguments: Further flags of `commonplace serve`.
            remote: A remote of the tree to follow instead of serving the folder.
            port: Port; 0 for any free one.

        Raises:
            RuntimeError: the process exited.
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
        """The REST API's answer to a GET request.

        Raises:
            RuntimeError: the answer is an error.
        """
        return self._asked("GET", f"/api/v1{path}", None, {})

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """The REST API's answer to a PUT request.

        Raises:
            RuntimeError: the answer is an error.
        """
        return self._asked("PUT", f"/api/v1{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The result of a tool call over MCP.

        Raises:
            RuntimeError: the answer is an error.
        """
        body, headers = tool_call(tool, arguments)
        return self._asked("POST", "/mcp/kb", body, headers)["result"]

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
        """A whole HTTP request, for another connection."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    def cpu(self) -> float:
        """CPU seconds that the process and its workers have used; the resolution is mostly 0.01 s (Linux)."""
        return cpu_seconds(self.process.pid)

    def await_workers(self, workers: int) -> None:
        """Wait until `workers` workers answer, with the first index.

        Raises:
            TimeoutError: the workers do not answer in time.
            RuntimeError: the first index is not built in time, or the answer is another error.
        """
        until = time.monotonic() + TIMEOUT
        while workers > 1 and (len(self._workers()) < workers or not all(map(_accepts, self._workers()))):
            if time.monotonic() > until:
                raise TimeoutError(f"{workers} workers were to serve")
            time.sleep(0.1)
        until = time.monotonic() + INDEX_SECONDS
        while True:
            try:
                self.get("/pages?limit=1")
            except RuntimeError as error:
                if "still being built" not in str(error) or time.monotonic() > until:
                    raise
            else:
                return

    def _workers(self) -> list[int]:
        pid = self.process.pid
        return [int(part) for part in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]

    def _asked(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, Any]:
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._connection.close()  # the next request opens a new connection
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
        with suppress(FileNotFoundError):  # it was closed meanwhile
            if file.readlink() == Path("anon_inode:[eventpoll]"):
                watched = Path(f"/proc/{process}/fdinfo/{file.name}").read_text(encoding="ascii").count("tfd:")
                if watched > 1:
                    return True
    return False
