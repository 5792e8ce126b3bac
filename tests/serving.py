"""A server process over HTTP: `commonplace serve …` on a free port, and requests to it as any program makes them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

TIMEOUT = 60.0
"""Seconds for the start and for any one answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which must be JSON and say so."""
        assert self.headers["content-type"] == "application/json", self.headers
        return json.loads(self.body)


@dataclass(slots=True)
class Server:
    """A running process."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str] = field(default_factory=list)
    """What it wrote on standard error."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; a body that is no bytes is sent as JSON. The path is sent as it is."""
        sent = dict(headers or {})
        if key:
            sent["Authorization"] = f"Bearer {key}"
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if raw is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, received, response.read())
        finally:
            connection.close()

    def page(self, method: str, path: str, body: Any = None, *, below: str = "", **more: Any) -> Answer:
        """A request about a page, whose path is percent-encoded whole."""
        return self.ask(method, f"/api/v1/pages/{quote(path, safe='')}{below}", body, **more)

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)

    def stop(self, seconds: float = 20.0) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


@contextmanager
def served(*arguments: str | Path, env: Mapping[str, str] | None = None, command: str = "serve") -> Iterator[Server]:
    """A new server on a free port; killed when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "commonplace", command, *map(str, arguments), "--port", "0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        text=True,
    )
    assert process.stderr is not None
    server = Server(process, 0)
    drain = threading.Thread(target=server.lines.extend, args=(process.stderr,), daemon=True)
    try:
        server.port = _port(process.stderr, server.lines)
        drain.start()
        yield server
    finally:
        process.kill()
        process.wait()
        if drain.ident:
            drain.join()
        process.stderr.close()


def _port(stream: IO[str], lines: list[str]) -> int:
    for line in stream:
        lines.append(line)
        if line.startswith("Serving on http://"):
            return int(line.rpartition(":")[2])
    raise AssertionError(f"the server did not start: {''.join(lines)}")


def commonplace(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """One command, run to its end."""
    command = [sys.executable, "-m", "commonplace", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def create_key(*arguments: str) -> str:
    """A new access key."""
    done = commonplace("keys", "create", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
