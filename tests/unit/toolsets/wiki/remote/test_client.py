"""Answers of a wiki's server that are no JSON object."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.wiki.remote.client import RestClient

ANSWERS = {
    "/object": b'{"distance": 0.5}',
    "/nan": b'{"distance": NaN}',
    "/large": b'{"distance": -1e999}',
    "/deep": b'{"distance": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "/list": b"[]",
    "/empty": b"{}",
    "/other": b'{"status": "ok"}',
}


class Wiki(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ANSWERS[self.path.removeprefix("/api/v1")])

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def client() -> Iterator[RestClient]:
    with HTTPServer(("127.0.0.1", 0), Wiki) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield RestClient(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def test_an_object_is_read(client: RestClient) -> None:
    assert client.get("/object", "distance") == {"distance": 0.5}


@pytest.mark.parametrize("path", ["/nan", "/large", "/deep", "/list", "/empty", "/other"])
def test_what_is_no_object_with_the_fields_of_the_call_is_an_error(client: RestClient, path: str) -> None:
    with pytest.raises(KnowledgeError, match="answered with status 200"):
        client.get(path, "distance")
