"""Models for tests of the ranking: a server with OpenAI's API whose vectors are random, or those of a function."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSION = 384


class _ModelHandler(BaseHTTPRequestHandler):
    """Answers `POST /embeddings`."""

    protocol_version = "HTTP/1.1"
    vector: Callable[[str], list[float]]
    """Returns the vector of a text."""

    def do_POST(self) -> None:
        """Answer with one vector per text."""
        requested_value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": at, "embedding": type(self).vector(text)} for at, text in enumerate(requested_value["input"])]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


def noise(text: str) -> list[float]:
    """A vector that depends on the text's characters, but not on their meaning. Equal texts have equal vectors."""
    chance = random.Random(text)
    return [chance.gauss(0, 1) for _ in range(DIMENSION)]


def noise_url() -> AbstractContextManager[str]:
    """The base URL of a running server with random vectors."""
    return model_url(noise)


@contextmanager
def model_url(vector: Callable[[str], list[float]]) -> Generator[str]:
    """The base URL of a running server with the vectors of a function."""
    handler = type("_Handler", (_ModelHandler,), {"vector": staticmethod(vector)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
