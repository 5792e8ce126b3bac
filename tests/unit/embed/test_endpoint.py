"""A server that embeds: what it answers becomes vectors, and what is wrong with it is said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.embed.endpoint import EndpointEncoder
from embeddings import EmbeddingServer


@contextmanager
def saying(body: bytes, status: int = 200) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The URL of a server that answers just this, and the headers of its requests."""
    heard: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            heard.append({**dict(self.headers), "path": self.path})
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/", heard
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


def answer(*vectors: list[float], **row: object) -> bytes:
    return json.dumps({"data": [{"embedding": vector, **row} for vector in vectors]}).encode()


def test_texts_become_vectors_of_length_one(server: EmbeddingServer) -> None:
    made = EndpointEncoder(server.url, "words").encode(["tea and milk", "", "漢字"])
    assert made.dtype == np.float32
    assert made.shape[0] == 3
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert server.texts == ["tea and milk", " ", "漢字"]


def test_texts_for_this_machine_go_through_no_proxy(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert EndpointEncoder(server.url, "m").encode(["a"]).shape[0] == 1


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer() -> None:
    rows = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 0]}]
    with saying(json.dumps({"data": rows}).encode()) as (url, heard):
        made = EndpointEncoder(url, "m", "secret").encode(["a", "b"])
    assert made.tolist() == [[1, 0], [0, 1]]
    assert (heard[0]["path"], heard[0]["Authorization"]) == ("/v1/embeddings", "Bearer secret")


def test_without_a_key_none_is_sent_and_without_indexes_the_order_counts() -> None:
    with saying(answer([0, 1], [5, 0])) as (url, heard):
        assert EndpointEncoder(url, "m").encode(["a", "b"]).tolist() == [[0, 1], [1, 0]]
    assert "Authorization" not in heard[0]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "null", '"x"', "9" * 400])
def test_a_vector_with_a_number_that_is_none_is_zeros(number: str) -> None:
    with saying(f'{{"data": [{{"embedding": [{number}, 1]}}]}}'.encode()) as (url, _):
        assert EndpointEncoder(url, "m").encode(["a"]).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"data": "text"}',
        b'{"data": null}',
        answer(),
        answer([1]),
        answer([1], [1, 2]),
        answer([], []),
        answer([1], [2], [3]),
        answer([1], [2], index=0),
        answer([1], [2], index="0"),
        b'{"data": [{"embedding": "AAAA"}, {"embedding": [1]}]}',
        b"no json",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_none_says_so(body: bytes) -> None:
    with saying(body) as (url, _), pytest.raises(UnavailableError, match="its answer") as refused:
        EndpointEncoder(url, "m", "secret").encode(["a", "b"])
    assert refused.value.kind == "model"
    assert "embedding_url" in refused.value.hint
    assert "secret" not in refused.value.advice


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_names_the_settings_to_check(status: int) -> None:
    with saying(b"", status) as (url, _), pytest.raises(StorageError, match=f"status {status}") as refused:
        EndpointEncoder(url, "m").encode(["a"])
    assert "embedding_key" in refused.value.hint


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_may_serve_later(status: int) -> None:
    with saying(b"", status) as (url, _), pytest.raises(UnavailableError, match=f"status {status}"):
        EndpointEncoder(url, "m").encode(["a"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "no url", "http://[::1", "ftp://127.0.0.1/"])
def test_a_server_that_cannot_be_reached_is_unavailable(url: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached"):
        EndpointEncoder(url, "m").encode(["a"])


def test_models_of_different_servers_are_never_compared() -> None:
    assert EndpointEncoder("http://a/v1", "m").identity != EndpointEncoder("http://b/v1", "m").identity
    assert EndpointEncoder("http://a/v1", "m").understood("anything") == 1.0
