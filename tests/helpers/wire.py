"""A server process driven line by line: for tests that kill it, flood it, or send what no client would."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

from forks.preloaded import Forked, started

STDERR = 2
"""The descriptor of everybody's standard error."""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "0"},
}
"""The first message of a client of the older era."""


class Wire:
    """One JSON-RPC message a line, both ways."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked) -> None:
        self.process = process
        self._next = 0

    def send(self, line: bytes) -> None:
        """One line, as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> int:
        """Send a request without waiting; its id."""
        self._next += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}).encode())
        return self._next

    def tell(self, method: str) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}).encode())

    def receive(self) -> dict[str, Any] | None:
        """The next message, None when the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def answer(self, identifier: int | None) -> dict[str, Any] | None:
        """The answer to a request, None when the process ended before it came."""
        while (message := self.receive()) is not None:
            if "method" not in message and message.get("id") == identifier:
                return message
        return None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any] | None:
        """The result of a tool call; None if the process ended first."""
        answer = self.answer(self.ask("tools/call", {"name": tool, "arguments": arguments}))
        return answer and answer["result"]

    def initialize(self) -> None:
        """The handshake of the older era."""
        assert self.answer(self.ask("initialize", INITIALIZE)) is not None
        self.tell("notifications/initialized")


@contextmanager
def wire(*arguments: str | Path, env: Mapping[str, str] | None = None, fresh: bool = False) -> Iterator[Wire]:
    """A new `commonplace` process with these arguments; ended when the block ends.

    Unless it must be `fresh`, it is forked from one that has loaded the product.
    """
    environment = {**os.environ, **(env or {})}
    process = started([*map(str, arguments)], environment, streams=(PIPE, PIPE, STDERR), fresh=fresh)
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
