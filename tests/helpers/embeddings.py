"""Servers of models, for tests: quick, without a model, and as ill-behaved as they are told to be.

One embeds with OpenAI's API. Its vectors are bags of words: each word adds to places that its letters choose, so texts
that share words are near. One reranks with the API of Jina and Cohere: a passage's score is the number of the
question's words that it contains.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 64


@dataclass(slots=True)
class EmbeddingServer:
    """A running server and how it behaves."""

    port: int
    dimension: int = DIMENSION
    status: int = 200
    blocked: bool = False
    """Whether it answers nothing until this is over."""
    nan: bool = False
    texts: list[str] = field(default_factory=list[str])
    """All that it was asked to embed."""
    release: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a process use the server."""
        return {"COMMONPLACE_EMBEDDING_URL": self.url, "COMMONPLACE_EMBEDDING_MODEL": "words"}

    def answer(self, texts: list[str]) -> bytes:
        """The body of an answer."""
        rows: list[dict[str, Any]] = [
            {"index": at, "embedding": [float("nan")] * self.dimension if self.nan else self._vector(text)}
            for at, text in enumerate(texts)
        ]
        return json.dumps({"data": rows, "model": "words"}).encode()

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self.dimension
        for word in text.casefold().split():
            digest = blake2b(word.strip(".,:;?!").encode(), digest_size=4).digest()
            for byte in digest:
                vector[byte % self.dimension] += 1.0
        return vector


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    """A server on a free port, ended with the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.texts += body["input"]
            if server.blocked:
                server.release.wait(60)
            answer = server.answer(body["input"])
            self.send_response(server.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                return  # the client had enough

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = EmbeddingServer(listener.server_address[1])
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        listener.shutdown()
        listener.server_close()
        thread.join()


@dataclass(slots=True)
class RerankServer:
    """A running server and how it behaves."""

    port: int
    status: int
    body: bytes | None
    """Fixed answer; None to answer with scores."""
    blocked: bool
    """Whether it answers nothing until it ends."""
    dripping: bool
    """Whether it sends a byte at a time until it ends."""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])
    end: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, params: dict[str, Any]) -> bytes:
        """The body of an answer."""
        if self.body is not None:
            return self.body
        words = set(params["query"].casefold().split())
        results = [
            {"index": at, "relevance_score": float(len(words & set(text.casefold().split())))}
            for at, text in enumerate(params["documents"])
        ]
        return json.dumps({"results": results[::-1]}).encode()


@contextmanager
def reranking(
    *, status: int = 200, body: bytes | None = None, blocked: bool = False, dripping: bool = False
) -> Iterator[RerankServer]:
    """A server on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requested_value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            running.asked.append(requested_value)
            running.keys.append(self.headers["Authorization"])
            if running.blocked:
                running.end.wait()
                return
            answer = running.answer(requested_value)
            self.send_response(running.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer) + running.dripping))
            self.end_headers()
            while running.dripping and not running.end.wait(0.01):
                self.wfile.write(b" ")
                self.wfile.flush()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = RerankServer(server.server_port, status, body, blocked, dripping)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running
    finally:
        running.end.set()
        server.shutdown()
        server.server_close()
        thread.join()
