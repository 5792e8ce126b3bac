"""A Git host: bare repositories behind smart HTTP, for fetches and pushes. A program: FOLDER ADDRESS PORT."""

from __future__ import annotations

import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from remotes.http_backend import backend_answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path, address: str, port: int) -> None:
        self.folder = folder
        super().__init__((address, port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the only one that makes handlers

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head, _, content = backend_answer(self, self.server.folder, body).partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        status = int(fields.pop("Status", "200").split()[0])
        with suppress(OSError):  # the client has gone
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_POST = _answer  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        del format, args


if __name__ == "__main__":
    _Server(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])).serve_forever()
