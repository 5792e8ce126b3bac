"""A model with random vectors: a server with OpenAI's API that returns a random vector for every text."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSION = 384


class _NoiseHandler(BaseHTTPRequestHandler):
    """Answers `POST /embeddings`. The text is the seed of its vector, so that equal texts have equal vectors."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with one vector per text."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": at, "embedding": noise(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


def noise(text: str) -> list[float]:
    """A vector that depends on the text's characters, but not on their meaning."""
    chance = random.Random(text)
    return [chance.gauss(0, 1) for _ in range(DIMENSION)]


@contextmanager
def noise_url() -> Generator[str]:
    """The base URL of a running server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _NoiseHandler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
