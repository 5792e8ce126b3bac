"""A bare repository behind HTTP on 127.0.0.1, whose answers come whole, byte by byte, or never.

With pace "taken" a push is carried out and its connection closed without an answer; with "lost" it is closed before;
with "held" it is carried out and answered once the event `answering` is set.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

from remotes.http_backend import backend_answer

BYTE_SECONDS = 0.05
"""Between two bytes of a slow answer."""
Pace = Literal["whole", "byte by byte", "never", "taken", "lost", "held"]


@dataclass(slots=True)
class SlowRemote:
    """A running server; `pace` may change at any time."""

    bare: Path
    port: int = 0
    pace: Pace = "whole"
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
        self._answer(b"")

    def do_POST(self) -> None:
        """Answer a POST request of Git."""
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

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
