"""A receiver of notices: a real HTTP server of this machine that takes, refuses or redirects."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support import eventually

SECRET = "a secret of this test"  # noqa: S105 - of a test


@dataclass
class Receiver:
    """What was received, and how the next notices are answered."""

    server: ThreadingHTTPServer
    statuses: list[int] = field(default_factory=list)
    """Statuses of the next answers; 200 when there are none left."""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Path, headers and body of every request, whatever its answer was."""
    taken: list[Any] = field(default_factory=list)
    """The notices that were answered by 200, each once: one may come again, with its id, if its answer got lost."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def wait(self, count: int) -> list[Any]:
        """The notices that were taken, once there are so many."""
        eventually(lambda: len(self.taken) >= count, 60)
        return self.taken


def is_signed(headers: dict[str, str], body: bytes, secret: str = SECRET) -> bool:
    """Whether a notice has the signature of Standard Webhooks."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    b64encode = base64.b64encode(hmac.digest(secret.encode(), signed, "sha256")).decode()
    return headers["webhook-signature"] == f"v1,{b64encode}"


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """A receiver that answers these statuses first."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append((self.path, headers, body))
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            identity = headers.get("webhook-id", "")  # some receivers of tests get other calls than notices
            if status == 200 and identity not in taken:
                taken.update(filter(None, [identity]))
                receiver.taken.append(json.loads(body))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    taken: set[str] = set()
    receiver = Receiver(ThreadingHTTPServer(("127.0.0.1", 0), Handler), list(statuses))
    thread = threading.Thread(target=receiver.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()
