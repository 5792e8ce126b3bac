"""A server that is a child process with JSON-RPC over stdio; its time and memory are limited.

Only the named program is started, without a shell. Its environment lacks this product's own settings, which can contain
keys. It has its own process group, so that its child processes are terminated with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import cast

from commonplace.domain.errors import UnavailableError
from commonplace.domain.json import Json

MAX_ANSWER_BYTES = 16_000_000
"""Maximum number of bytes that a server may write before it answers; above, it is terminated."""
SHUTDOWN_SECONDS = 1.0
"""Seconds that a server has to exit after its input is closed."""
OWN_VARIABLES = "COMMONPLACE_"

_PIECE = 65_536


class ServerProcess:
    """One server process.

    Args:
        command: Program and arguments.

    Raises:
        UnavailableError: the process cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the manifest, which the user vouches for, names it
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = (
                error.strerror
                if isinstance(error, OSError)
                else "it contains a character that commands may not contain"
            )
            raise UnavailableError(f"its command cannot be started: {reason}") from error
        self._buffer = bytearray()
        self._last_id = 0
        for stream in (self._input, self._output):
            os.set_blocking(stream, False)

    def request(self, method: str, params: Mapping[str, Json], seconds: float) -> Json:
        """Send a request and wait for the response.

        Raises:
            UnavailableError: the request timed out, the response is too large or an error, or the server has exited.
        """
        self._last_id += 1
        deadline = time.monotonic() + seconds
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}, deadline)
        received = 0
        while True:
            for line in self._lines():
                answer = self._answer(line, deadline)
                if answer is not None:
                    return answer.get("result")
            received += self._receive(deadline)
            if received > MAX_ANSWER_BYTES:
                raise UnavailableError(f"it wrote more than {MAX_ANSWER_BYTES:,} bytes without an answer")

    def notify(self, method: str, seconds: float) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method}, time.monotonic() + seconds)

    def close(self, grace: float = SHUTDOWN_SECONDS) -> None:
        """Terminate the server and everything in its process group, and wait for its end.

        Args:
            grace: Seconds to exit on its own.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        with contextlib.suppress(OSError):
            if stdin:
                stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if stdout:
            stdout.close()

    @property
    def _input(self) -> int:
        return self._process.stdin.fileno() if self._process.stdin else -1

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process.stdout else -1

    def _send(self, message: Mapping[str, Json], deadline: float) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            _wait(self._input, selectors.EVENT_WRITE, deadline)
            try:
                left = left[os.write(self._input, left) :]
            except OSError as error:
                raise UnavailableError("it has ended") from error

    def _receive(self, deadline: float) -> int:
        _wait(self._output, selectors.EVENT_READ, deadline)
        try:
            piece = os.read(self._output, _PIECE)
        except OSError as error:
            raise UnavailableError("it has ended") from error
        if not piece:
            raise UnavailableError("it has ended")
        self._buffer += piece
        return len(piece)

    def _lines(self) -> list[bytes]:
        """The complete lines received so far."""
        if b"\n" not in self._buffer[-_PIECE:]:
            return []
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        return lines

    def _answer(self, line: bytes, deadline: float) -> Mapping[str, Json] | None:
        """The message if it is the awaited response; None for all others."""
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            return None  # some servers write a banner
        if not isinstance(message, dict):
            return None
        fields = cast("Mapping[str, Json]", message)
        if "method" in fields:
            if "id" in fields:
                self._send(_reply(fields), deadline)
            return None
        if fields.get("id") != self._last_id:
            return None
        if "error" in fields:
            raise UnavailableError("it answered with an error")
        return fields


def _reply(asked: Mapping[str, Json]) -> Mapping[str, Json]:
    """The response to a server's own request: a result for a ping, else method not found."""
    known: dict[str, Json] = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked.get("method") == "ping":
        return {**known, "result": {}}
    return {**known, "error": {"code": -32601, "message": "Method not found"}}


def _wait(descriptor: int, event: int, deadline: float) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            raise UnavailableError("it did not answer in time")
