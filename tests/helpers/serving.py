"""A server process over HTTP: `commonplace serve …` on a free port, and requests to it as any program makes them."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Any
from urllib.parse import quote

from deployments.deployment import Served, by_port, deployed, in_step, needed_headers
from forks.preloaded import Forked, is_shared_state, started
from remotes import canary
from wire import INITIALIZE

TIMEOUT = 60.0
"""Seconds for the start and for any one answer."""


REVISION = "2026-07-28"
"""Revision of the protocol's newer era."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which must be JSON and say so."""
        assert self.headers["content-type"] == "application/json", self.headers
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Stream:
    """Messages that a server sends as they come."""

    response: http.client.HTTPResponse

    def next(self) -> Any:
        """The next message."""
        while line := self.response.readline():
            if line.startswith(b"data: {"):
                return json.loads(line[6:])
        raise AssertionError("the stream has ended")


@dataclass(slots=True)
class Server:
    """A running process."""

    process: subprocess.Popen[bytes] | Forked
    port: int
    lines: list[str] = field(default_factory=list[str])
    """Lines that the process wrote on standard error."""
    follows: Served = field(default_factory=Served)

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
        with in_step():
            return self._asked(method, path, body, key, {**needed_headers(self.follows), **(headers or {})})

    def _asked(self, method: str, path: str, body: Any, key: str, sent: dict[str, str]) -> Answer:
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

    def call(
        self, toolset: str, tool: str, arguments: Mapping[str, Any], *, key: str = "", client: str = "test"
    ) -> Any:
        """A tool's result, or an error of the protocol, as it came."""
        return self.rpc(toolset, "tools/call", {"name": tool, "arguments": arguments}, key=key, client=client)

    def rpc(self, toolset: str, method: str, params: Mapping[str, Any], *, key: str = "", client: str = "test") -> Any:
        """One request of the newer era: what stands under `result`, or the whole error."""
        headers, body = rpc_request(method, params, client)
        answer = self.ask("POST", f"/mcp/{toolset}", body, key=key, headers=headers)
        if answer.headers["content-type"] == "text/event-stream":
            messages = [json.loads(line[5:]) for line in answer.body.decode().splitlines() if line.startswith("data:")]
            message = next(other_message for other_message in messages if "id" in other_message)
        else:
            message = answer.json
        return message.get("result", message)

    @contextmanager
    def follow(self, toolset: str, uris: Sequence[str], *, key: str = "") -> Generator[Stream]:
        """A stream of the newer era on which the server tells of resources and of the list of them."""
        wanted_values = {"resourcesListChanged": True, "resourceSubscriptions": list(uris)}
        headers, body = rpc_request("subscriptions/listen", {"notifications": wanted_values})
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request("POST", f"/mcp/{toolset}", json.dumps(body).encode(), headers)
            yield Stream(connection.getresponse())
        finally:
            connection.close()

    def connect(self, receive: int = 0) -> socket.socket:
        """A bare connection; `receive` is the size of its receive buffer in bytes, 0 for the usual."""
        connection = socket.socket()
        if receive:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        connection.settimeout(TIMEOUT)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def stop(self, seconds: float = 20.0) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


class RawSession:
    """A session of the older era over HTTP, whose client chooses the ids of its requests."""

    def __init__(self, server: Server, toolset: str = "kb") -> None:
        self._server = server
        self._path = f"/mcp/{toolset}"
        self._headers = {"Accept": "application/json, text/event-stream"}
        opened = self._send({"id": 0, "method": "initialize", "params": INITIALIZE})
        self._headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        assert self.tell("notifications/initialized", {}) == 202

    def ask(self, identifier: int | str, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request; the message that answers it."""
        answer = self._send({"id": identifier, "method": method, "params": params})
        messages = [json.loads(line[5:]) for line in answer.body.decode().splitlines() if line.startswith("data: {")]
        return next(message for message in messages if message.get("id") == identifier)

    def tell(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a notification; the status of the answer."""
        return self._send({"method": method, "params": params}).status

    def _send(self, message: Mapping[str, Any]) -> Answer:
        return self._server.ask("POST", self._path, {"jsonrpc": "2.0", **message}, headers=self._headers)


def rpc_request(method: str, params: Mapping[str, Any], client: str = "test") -> tuple[dict[str, str], dict[str, Any]]:
    """Headers and body of a request of the newer era, by the client of this name."""
    about = {"protocolVersion": REVISION, "clientInfo": {"name": client, "version": "1"}, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": method,
    }
    name = params.get("uri" if method == "resources/read" else "name")
    if name is not None:
        headers["Mcp-Name"] = str(name)
    return headers, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


@contextmanager
def served(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    command: str = "serve",
    fresh: bool = False,
    port: int = 0,
) -> Generator[Server]:
    """A new server on a port, by default any free one; killed when the block ends.

    Unless it must be `fresh`, it is forked from one that has loaded the product.
    """
    canary.plant([*arguments, (env or {}).get("KNOWLEDGE_MCP_HOME", "")])
    changed, follows = deployed([command, *arguments])
    line = [*map(str, changed), "--port", str(port)]
    process = started(line, {**os.environ, **(env or {})}, streams=(DEVNULL, DEVNULL, PIPE), fresh=fresh)
    assert process.stderr is not None
    errors = io.TextIOWrapper(process.stderr)
    server = Server(process, 0, follows=follows)
    drain = threading.Thread(target=server.lines.extend, args=(errors,), daemon=True)
    try:
        server.port = _port(errors, server.lines)
        drain.start()
        by_port[server.port] = follows
        yield server
    finally:
        process.kill()
        process.wait()
        if drain.ident:
            drain.join()
        errors.close()


def _port(stream: IO[str], lines: list[str]) -> int:
    for line in stream:
        lines.append(line)
        if line.startswith("Serving on http://"):
            return int(line.rpartition(":")[2])
    raise AssertionError(f"the server did not start: {''.join(lines)}")


def commonplace(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """One command, run to its end."""
    given_arguments = [*map(str, arguments)]
    process = started(given_arguments, os.environ)
    out, err = process.communicate(b"", TIMEOUT)
    return subprocess.CompletedProcess(given_arguments, process.wait(), out.decode(), err.decode())


def create_key(*arguments: str) -> str:
    """A new access key, in a file of its own or a state folder of the test's own: with a key every server needs one."""
    assert "--keys" in arguments or not is_shared_state(), "the test needs the fixture cache_dir"
    done = commonplace("keys", "create", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as bytes; without `Host` among the headers it is this machine."""
    reported_values = {"Host": "localhost", **headers}
    if body:
        reported_values.setdefault("Content-Length", str(len(body)))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in reported_values.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def exchanged(server: Server, sent: bytes) -> bytes:
    """The bytes received on one connection until the server closes it."""
    with server.connect() as connection:
        connection.sendall(sent)
        received = bytearray()
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    """The statuses of the answers on a connection."""
    return [int(match) for match in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", received)]


def answered(
    server: Server, method: str, path: str, headers: Mapping[str, str], body: object = None
) -> tuple[int, Any]:
    """Status and JSON of one request whose headers are sent as they are given."""
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    received = exchanged(server, request(method, path, {"Connection": "close", **headers}, raw))
    head, _, content = received.partition(b"\r\n\r\n")
    (status,) = statuses(received)
    assert b"content-type: application/json\r\n" in head.lower() + b"\r\n", received
    return status, json.loads(content)


def head_of(server: Server, sent: bytes) -> dict[str, str]:
    """The status and the headers of an answer, names in lower case; a header that is there twice is joined."""
    first, *lines = exchanged(server, sent).partition(b"\r\n\r\n")[0].decode().split("\r\n")
    head = {"status": first.split(" ")[1]}
    for name, _, value in (line.partition(": ") for line in lines):
        key = name.lower()
        head[key] = f"{head[key]}, {value}" if key in head else value
    return head
