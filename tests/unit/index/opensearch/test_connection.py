"""A node's answer becomes a result, or an error with advice for the operator."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.index.opensearch.connection import BLOCKED, ClusterAddress, Connection


class Node:
    """A node that gives the answers it is given, in order."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.requests: list[tuple[str, str, str]] = []
        """Method, path and body."""
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Content-Encoding") == "gzip":
                    import gzip  # noqa: PLC0415

                    raw = gzip.decompress(raw)
                node.requests.append((self.command, self.path, raw.decode()))
                status, body = node.answers.pop(0)
                content = b"" if self.command == "HEAD" else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_HEAD = answer  # noqa: N815 - the library's names

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def connection(node: Node) -> Iterator[Connection]:
    with closing(Connection(ClusterAddress((node.url,)))) as made:
        yield made


def refused(connection: Connection, node: Node, status: int, kind: str = "some_exception") -> KnowledgeError:
    """The error of a request that is answered so."""
    node.answers = [(status, {"error": {"type": kind, "reason": "secret-index"}, "status": status})] * 3
    with pytest.raises(KnowledgeError) as failed:
        connection.ask("GET", "/notes/_search")
    assert failed.value.kind == "engine"
    assert failed.value.hint
    assert "secret-index" not in f"{failed.value} {failed.value.hint}"
    return failed.value


def test_an_answer_comes_as_json_and_parameters_are_sent(connection: Connection, node: Node) -> None:
    node.answers = [(200, {"found": 1})]
    assert connection.ask("POST", "/notes/_search", {"size": 0}, routing="x") == {"found": 1}
    ((method, path, body),) = node.requests
    assert (method, path, json.loads(body)) == ("POST", "/notes/_search?routing=x", {"size": 0})


def test_whether_a_path_exists_is_asked_without_its_content(connection: Connection, node: Node) -> None:
    node.answers = [(200, None), (404, None), (403, None)]
    assert connection.exists("/notes")
    assert not connection.exists("/notes")
    with pytest.raises(UnavailableError, match="credentials"):
        connection.exists("/notes")


def test_each_failure_says_what_the_operator_can_do(connection: Connection, node: Node) -> None:
    assert isinstance(refused(connection, node, 404), NotFoundError)
    assert "credentials" in str(refused(connection, node, 401))
    assert "credentials" in str(refused(connection, node, 403))
    assert "blocked" in str(refused(connection, node, 403, BLOCKED))
    assert "blocked" in str(refused(connection, node, 429, BLOCKED))
    failed = refused(connection, node, 400)
    assert (str(failed), failed.context["status"]) == ("The search cluster failed (400).", 400)


def test_a_search_on_a_node_that_dies_is_asked_again(connection: Connection, node: Node) -> None:
    node.answers = [(503, {}), (500, {}), (200, {"hits": 1})]
    assert connection.ask("GET", "/notes/_search") == {"hits": 1}


def test_a_cluster_that_is_not_there_does_not_answer() -> None:
    with closing(Connection(ClusterAddress(("http://127.0.0.1:1",)))) as connection:
        with pytest.raises(UnavailableError, match="does not answer") as failed:
            connection.ask("GET", "/")
        assert failed.value.context["status"] == 0


def bulk(*outcomes: tuple[str, int, str]) -> tuple[int, Any]:
    """The answer to a bulk."""
    items = [{kind: {"status": status, **({"error": {"type": why}} if why else {})}} for kind, status, why in outcomes]
    return 200, {"items": items}


LINES = [{"index": {"_id": "1"}}, {"text": "é"}, {"delete": {"_id": "2"}}, {"index": {"_id": "3"}}, {"text": "c"}]


def test_only_what_a_busy_cluster_rejected_is_written_again(connection: Connection, node: Node) -> None:
    node.answers = [
        bulk(("index", 201, ""), ("delete", 429, "busy"), ("index", 429, "busy")),
        bulk(("delete", 200, ""), ("index", 201, "")),
    ]
    connection.bulk("notes", LINES)
    first, second = ([json.loads(line) for line in body.splitlines()] for _, _, body in node.requests)
    assert first == LINES
    assert second == LINES[2:]


def test_what_is_newer_or_gone_already_is_no_failure(connection: Connection, node: Node) -> None:
    node.answers = [bulk(("index", 409, "version_conflict"), ("delete", 404, ""), ("index", 200, ""))]
    connection.bulk("notes", LINES)
    assert len(node.requests) == 1


def test_a_line_that_fails_for_another_reason_is_an_error_at_once(connection: Connection, node: Node) -> None:
    node.answers = [bulk(("index", 201, ""), ("delete", 429, BLOCKED), ("index", 201, ""))]
    with pytest.raises(UnavailableError, match="blocked"):
        connection.bulk("notes", LINES)
    node.answers = [bulk(("index", 400, "mapper_parsing_exception"), ("delete", 200, ""), ("index", 201, ""))]
    with pytest.raises(UnavailableError, match=r"failed \(400\)"):
        connection.bulk("notes", LINES)


@each_case(
    "url",
    [
        "ftp://host:9200",
        "host:9200",
        "https://host:9200/path",
        "https://user:word@host:9200",
        "https://host:0",
        "https://host:99999",
        "https://host:9200?x=1",
        "https://[::1",
        "",
    ],
)
def test_what_is_no_address_of_a_node_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as failed:
        Connection(ClusterAddress((url,)))
    assert failed.value.hint


def test_a_file_of_certificates_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="engine_ca"):
        Connection(ClusterAddress(("https://localhost:9200",), authority=tmp_path / "none.pem"))
