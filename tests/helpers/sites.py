"""A web site of this machine that behaves well and badly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from commonplace.domain.sources import MAX_SOURCE_BYTES

GUIDE = b"<html><head><title>Guide</title></head><body><h1>Guide</h1><h2>Kettle</h2><p>Descale it monthly.</p></body>"
HEADERS = {
    "/to-guide": ("Location", "/guide"),
    "/to-itself": ("Location", "/to-itself"),
    "/squeezed": ("Content-Encoding", "gzip"),
}


@contextmanager
def site() -> Iterator[str]:
    """A site of this machine with a page, redirects, a lie about a type, an answer byte by byte and an endless one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path.startswith("/to") else 404 if self.path == "/gone" else 200)
            name, value = HEADERS.get(self.path, ("X-Nothing", ""))
            self.send_header(name, value)
            self.send_header("Content-Type", "application/pdf" if self.path == "/lies.pdf" else "text/html")
            self.end_headers()
            try:
                if self.path == "/drops":
                    while not ended.wait(0.05):
                        self.wfile.write(b"x")
                elif self.path == "/endless":
                    for _ in range(MAX_SOURCE_BYTES // 1_000_000 + 2):
                        self.wfile.write(b"x" * 1_000_000)
                else:
                    self.wfile.write(GUIDE)
            except OSError:  # the client has had enough
                pass

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    ended = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
