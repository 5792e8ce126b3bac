"""A bare repository behind HTTP on 127.0.0.1, whose answers come whole, byte by byte, or never.

With pace "taken" a push is carried out and its connection closed without an answer; with "lost" it is closed before;
with "held" it is carried out and answered once the event `answering` is set. With `hangs_in` it hangs in one call.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

from remotes.http_backend import backend_answer

BYTE_SECONDS = 0.05
"""Between two bytes of a slow answer."""
Pace = Literal["whole", "byte by byte", "never", "taken", "lost", "held"]
Step = Literal["", "advertise", "negotiate", "receive", "after the pack"]
"""The call of a push in which the server hangs; "negotiate" is in every fetch, "after the pack" in both."""


@dataclass(slots=True)
class SlowRemote:
    """A running server; `pace` may change at any time."""

    bare: Path
    port: int = 0
    pace: Pace = "whole"
    hangs_in: Step = ""
    asked: threading.Event = field(default_factory=threading.Event)
    """Set by each request that comes."""
    landed: threading.Event = field(default_factory=threading.Event)
    """Set once a push with pace "held" was carried out."""
    answering: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.bare.name}"


class _Server(ThreadingHTTPServer):
    """The server of one bare repository."""

    daemon_threads = True

    def __init__(self, remote: SlowRemote) -> None:
        self.remote = remote
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the only one that makes handlers

    def do_GET(self) -> None:
        """A fetch or a push begins."""
        remote = self.server.remote
        is_push = self.path.endswith("service=git-receive-pack")
        if remote.hangs_in == "advertise" or (remote.hangs_in and remote.landed.is_set() and not is_push):
            remote.ended.wait()
            return
        self._answer(b"")

    def do_POST(self) -> None:
        """Answer a POST request of Git."""
        remote = self.server.remote
        is_push = self.path.endswith("/git-receive-pack")
        if remote.hangs_in == ("receive" if is_push else "negotiate"):
            remote.asked.set()
            remote.ended.wait()
            return
        if is_push and remote.hangs_in == "after the pack":
            backend_answer(self, remote.bare.parent, self._body())
            remote.landed.set()
            remote.ended.wait()
            return
        self._answer(self._body())

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _chunks(self) -> Generator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Nobody reads it."""

    def _answer(self, body: bytes) -> None:
        remote = self.server.remote
        remote.asked.set()
        if remote.pace == "never":
            remote.ended.wait()
            return
        is_push = self.command == "POST" and self.path.endswith("/git-receive-pack")
        if is_push and remote.pace in {"taken", "lost"}:
            if remote.pace == "taken":
                backend_answer(self, remote.bare.parent, body)
            self.close_connection = True
            return
        is_held = is_push and remote.pace == "held"
        answer = backend_answer(self, remote.bare.parent, body)
        if is_held:
            remote.landed.set()
            remote.answering.wait()
        with suppress(OSError):  # the client has given up
            self._send(answer, remote)

    def _send(self, answer: bytes, remote: SlowRemote) -> None:
        head, _, content = answer.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().splitlines():
            name, _, value = line.partition(": ")
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if remote.pace != "byte by byte":
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            if remote.ended.wait(BYTE_SECONDS):
                return


@contextmanager
def full_port() -> Generator[int]:
    """A port on which a connection is never made: the queue of its socket is full."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield int(full.getsockname()[1])


@contextmanager
def slow_remote(bare: Path) -> Generator[SlowRemote]:
    """Serve a bare repository to fetches and pushes until the end of the block."""
    remote = SlowRemote(bare)
    subprocess.run(["git", "config", "http.receivepack", "true"], cwd=bare, check=True)
    with _Server(remote) as server:
        remote.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield remote
        finally:
            remote.ended.set()
            remote.answering.set()
            server.shutdown()
            thread.join()
