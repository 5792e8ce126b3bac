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

from commonplace import __version__
from commonplace.domain.errors import UnavailableError
from commonplace.domain.json import Json, finite_json
from commonplace.domain.private_files import user_umask
from commonplace.toolsets.cascade.rules.concepts import BROKEN, Fact, ForeignNode
from commonplace.toolsets.cascade.rules.values import outside_line

MAX_ANSWER_BYTES = 16_000_000
"""Maximum number of bytes that a server may write before it answers; above, it is terminated."""
MAX_LOG_BYTES = 8000
"""Number of bytes retained from the end of a server's standard error."""
EXIT_SECONDS = 0.5
"""Seconds to wait for the exit code of a server that has closed its output."""
REFUSED = "refused"
"""The `kind` of the error if a server answered with an error."""
SHUTDOWN_SECONDS = 1.0
"""Seconds that a server may take to exit after its input is closed."""
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
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                start_new_session=True,
                umask=user_umask(),
            )
        except (OSError, ValueError) as error:
            reason = (
                error.strerror
                if isinstance(error, OSError)
                else "it contains a character that commands may not contain"
            )
            raise UnavailableError(f"its command cannot be started: {reason}", kind=BROKEN) from error
        self._buffer = bytearray()
        self._errors = bytearray()
        self._last_id = 0
        for stream in (self._input, self._output, self._log):
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
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._drain_log()
        with contextlib.suppress(OSError):
            if stdin:
                stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (stdout, stderr):
            if stream:
                stream.close()

    @property
    def _input(self) -> int:
        return self._process.stdin.fileno() if self._process.stdin else -1

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process.stdout else -1

    @property
    def _log(self) -> int:
        return self._process.stderr.fileno() if self._process.stderr else -1

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        """Wait for a stream, and read the server's log meanwhile: a full log pipe would block the server."""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            selector.register(self._log, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select(max(0.0, deadline - time.monotonic()))}
                if self._log in ready and self._drain_log():
                    selector.unregister(self._log)
                if descriptor in ready:
                    return
                if not ready:
                    raise UnavailableError(f"it did not answer in time{self._last_words()}")

    def _drain_log(self) -> bool:
        """Read the log that the server has written, and retain its end.

        Returns whether the server has closed its log.
        """
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._log, _PIECE):
                self._errors = (self._errors + piece)[-MAX_LOG_BYTES:]
            return True
        return False

    def _ended(self) -> UnavailableError:
        """The error for a server that has closed its output: its exit code and the last line that it logged."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_SECONDS)
        self._drain_log()
        code = self._process.poll()
        how = "it has closed its output" if code is None else f"it has ended with {_outcome(code)}"
        return UnavailableError(f"{how}{self._last_words()}")

    def _last_words(self) -> str:
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next(filter(None, (outside_line(line) for line in reversed(lines))), "")
        return f"; its last line on standard error: {last!r}" if last else ""

    def _send(self, message: Mapping[str, Json], deadline: float) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            self._wait(self._input, selectors.EVENT_WRITE, deadline)
            try:
                left = left[os.write(self._input, left) :]
            except OSError as error:
                raise self._ended() from error

    def _receive(self, deadline: float) -> int:
        self._wait(self._output, selectors.EVENT_READ, deadline)
        try:
            piece = os.read(self._output, _PIECE)
        except OSError as error:
            raise self._ended() from error
        if not piece:
            raise self._ended()
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
            raise UnavailableError(f"it answered with an error{_said(fields['error'])}", kind=REFUSED)
        return fields


def _said(error: Json) -> str:
    """The message text of a JSON-RPC error, prefixed by a colon; "" if it has none."""
    text = error.get("message") if isinstance(error, dict) else None
    line = outside_line(text) if isinstance(text, str) else ""
    return f": {line!r}" if line else ""


def _reply(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    """The response to a server's own request: a result for a ping, else method not found."""
    known_values: dict[str, Json] = {"jsonrpc": "2.0", "id": fields["id"]}
    if fields.get("method") == "ping":
        return {**known_values, "result": {}}
    return {**known_values, "error": {"code": -32601, "message": "Method not found"}}


def _outcome(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


# The graph port over a stdio MCP server with the tools `list_nodes` and `get_node`.


REQUEST_SECONDS = 5.0
MAX_SHOWN_TOOLS = 5
"""Maximum number of a server's tools that a message names."""
PROTOCOL = "2025-06-18"
"""The requested protocol version. Any server that supports `initialize` answers with its own."""


class StdioGraph:
    """A graph whose server is started by the first request and runs until it fails or the graph is closed.

    Not thread-safe: the layer sends one request after the other.

    Args:
        command: Program and arguments.
        seconds: Timeout of each request.
    """

    def __init__(self, command: Sequence[str], seconds: float = REQUEST_SECONDS) -> None:
        self._command = tuple(command)
        self._seconds = seconds
        self._server: ServerProcess | None = None

    def node_ids(self) -> list[str]:
        """The ids of all nodes, each once. Raises the errors of the port."""
        answer = _mapping(self._call("list_nodes", {}))
        ids = answer.get("nodes")
        if not isinstance(ids, list):
            raise self._given_up('its answer to list_nodes has no list "nodes"', BROKEN)
        return list(dict.fromkeys(_text(other_id) for other_id in ids if isinstance(other_id, str)))

    def node(self, identifier: str) -> ForeignNode | None:
        """One node. Raises the errors of the port."""
        answer = self._call("get_node", {"id": identifier})
        if answer is None:
            return None
        if not isinstance(answer, dict):
            raise self._given_up("its answer to get_node is not a node", BROKEN)
        return _node(answer)

    def close(self) -> None:
        """Terminate the server if it is running."""
        server, self._server = self._server, None
        if server:
            server.close()

    def _call(self, tool: str, arguments: Mapping[str, Json]) -> Json:
        try:
            server = self._server or self._start()
            try:
                result = server.request("tools/call", {"name": tool, "arguments": arguments}, self._seconds)
                return _content(_mapping(result))
            except UnavailableError as error:
                if error.kind != REFUSED:
                    raise
                raise self._without(tool, server) or error from error
        except UnavailableError as error:
            kind = BROKEN if error.kind == BROKEN else ""
            raise self._given_up(f"{tool}: {error}" if self._server else str(error), kind) from error

    def _without(self, tool: str, server: ServerProcess) -> UnavailableError | None:
        """The error for a server that does not offer a tool; None if it does, or does not list its tools."""
        try:
            listed = _mapping(server.request("tools/list", {}, self._seconds)).get("tools")
        except UnavailableError:
            return None
        names = [_text(_mapping(element).get("name")) for element in listed] if isinstance(listed, list) else [tool]
        if tool in names:
            return None
        offered = ", ".join(map(outside_line, names[:MAX_SHOWN_TOOLS])) or "none"
        return UnavailableError(f"it offers no such tool, but {offered}", kind=BROKEN)

    def _start(self) -> ServerProcess:
        self._server = server = ServerProcess(self._command)
        client: dict[str, Json] = {"name": "commonplace", "version": __version__}
        hello: dict[str, Json] = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
        server.request("initialize", hello, self._seconds)
        server.notify("notifications/initialized", self._seconds)
        return server

    def _given_up(self, reason: str, kind: str = "") -> UnavailableError:
        """Terminate a failed server, so that the next request starts a new one."""
        server, self._server = self._server, None
        if server:
            server.close(grace=0.0)
        return UnavailableError(reason, kind=kind)


def _content(result: Mapping[str, Json]) -> Json:
    """The result of a tool, from its text block.

    Raises:
        UnavailableError: the result is an error, or not JSON text.
    """
    if result.get("isError") is True:
        raise UnavailableError("it answered with an error", kind=REFUSED)
    blocks = result.get("content")
    text = _mapping(blocks[0] if isinstance(blocks, list) and blocks else None).get("text")
    if not isinstance(text, str):
        raise UnavailableError("its answer is no JSON text", kind=BROKEN)
    try:
        return cast("Json", finite_json(text))
    except ValueError:
        raise UnavailableError("its answer is no JSON text", kind=BROKEN) from None


def _node(fields: Mapping[str, Json]) -> ForeignNode:
    facts = fields.get("facts")
    see_also = fields.get("see_also")
    return ForeignNode(
        title=_text(fields.get("title")),
        kind=_text(fields.get("kind")),
        facts=tuple(_fact(fact) for fact in facts if isinstance(fact, dict)) if isinstance(facts, list) else (),
        see_also=tuple(filter(None, map(_text, see_also))) if isinstance(see_also, list) else (),
    )


def _fact(fields: Mapping[str, Json]) -> Fact:
    return Fact(_text(fields.get("topic")), _text(fields.get("text")), _text(fields.get("lastTouched")) or None)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    """Text with one kind of line end and without lone surrogates, which JSON allows and UTF-8 does not."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return ""
    return str(value).replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode().strip()
