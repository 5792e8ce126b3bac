"""A client of an MCP server over stdio: one JSON-RPC message per line, both ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from benchmarks.machine.processes import cpu_seconds, memory

_BUILDING = "still being built"
MAX_WAITS = 10
"""Maximum number of calls that may time out while the first index is being built; each waits about 45 seconds."""
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "0"},
}


class StdioProcess:
    """An MCP server that has answered `initialize`; terminated at the end of the `with` block."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the server.

        Args:
            command: The command line of the server.
            environment: Variables added to this process's environment.

        Raises:
            RuntimeError: the process exited.
        """
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )
        self._next = 0
        self.ask("initialize", INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.started = time.perf_counter() - began
        """Seconds from the spawn to the answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stdin.close()
        self.process.wait(60)
        self._stdout.close()

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The result of a tool call.

        Raises:
            RuntimeError: the tool failed, or the server exited.
        """
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool} failed: {result['content']}")
        return result

    def await_index(self, tool: str, **arguments: object) -> None:
        """Call a tool until the first index is built.

        Raises:
            RuntimeError: the index is not built in time, or the tool failed.
        """
        for _ in range(MAX_WAITS - 1):
            try:
                said = str(self.call(tool, **arguments)["content"])
            except RuntimeError as error:
                said = str(error)
                if "INDEXING" not in said and _BUILDING not in said:
                    raise
            if "INDEXING" not in said and _BUILDING not in said:
                return
        self.call(tool, **arguments)

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            RuntimeError: the server answered with an error, or exited.
        """
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while line := self._stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._next and "method" not in answer:
                if "result" not in answer:
                    raise RuntimeError(f"{method} failed: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"the server ended during {method}")

    def memory(self) -> tuple[float, float]:
        """Resident memory of the process and its descendants in MB: current, and maximum so far (Linux)."""
        return memory(self.process.pid)

    def cpu(self) -> float:
        """CPU seconds that the process and its running descendants have used so far (Linux)."""
        return cpu_seconds(self.process.pid)

    def _send(self, message: dict[str, object]) -> None:
        self._stdin.write(json.dumps(message).encode() + b"\n")
        self._stdin.flush()

    @property
    def _stdin(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdin)

    @property
    def _stdout(self) -> IO[bytes]:
        return cast("IO[bytes]", self.process.stdout)


class StdioServer(StdioProcess):
    """A `commonplace mcp` process."""

    def __init__(self, *arguments: str | Path) -> None:
        """Start `commonplace mcp` with these arguments.

        Args:
            arguments: Folders and flags.

        Raises:
            RuntimeError: the process exited.
        """
        super().__init__([sys.executable, "-m", "commonplace", "mcp", *_kb(arguments), *map(str, arguments)])


def _kb(arguments: Sequence[str | Path]) -> list[str]:
    """The flags for the toolset `kb`, unless another toolset is named."""
    return [] if "--toolset" in arguments else ["--toolset", "kb"]
