"""Writes as one server hands them to another: what is sent arrives the same, and what is not understood is refused."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

import pytest

from commonplace.domain.changes import Author
from commonplace.domain.cluster import WRITES_PATH, WRITES_SIGNATURE, signature_in
from commonplace.domain.errors import ConflictError, GitError, InvalidInputError
from commonplace.store.git.commits import CommitMessage, Signature
from commonplace.store.replica import writer_lease
from commonplace.store.replica.writer_lease import (
    ForwardedWrite,
    WriteResult,
    format_results,
    format_writes,
    is_alive,
    parse_writes,
    send_writes,
)
from remotes.replicas import free_port

COMMIT, PARENT, BLOB = "c" * 40, "b" * 40, "a" * 40
WHO = Signature(Author("Änne 'x' 工", "a@example.org"), 1_700_000_000, -330)
WRITE = ForwardedWrite(
    {"folder/ä 🙂.md": b"# \xff\x00 bytes\r\n", "gone.md": None, "empty.md": b""},
    {"folder/ä 🙂.md": BLOB, "gone.md": BLOB, "empty.md": ""},
    CommitMessage("Subject\n\nBody — ü", WHO, WHO),
    frozenset({"empty.md"}),
)
BODY = format_writes("key", [WRITE])


@contextmanager
def answering(status: int, answer: object) -> Generator[tuple[str, list[tuple[str, str, bytes]]]]:
    """A server with one answer to everything, and what it was asked: path, signature, body."""
    rows: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            rows.append((self.path, self.headers[WRITES_SIGNATURE], body))
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", rows
        finally:
            server.shutdown()
            thread.join()


def test_what_is_sent_arrives_the_same() -> None:
    base, writes = parse_writes(format_writes("key", [WRITE, WRITE]))
    assert (base, writes) == ("key", [WRITE, WRITE])


def test_results_come_back_with_their_errors() -> None:
    conflict = ConflictError("a.md was changed.", kind="document", hint="Read it.", path="a.md", current_revision=BLOB)
    results = [
        WriteResult(COMMIT, PARENT),
        WriteResult(error=conflict),
        WriteResult(error=GitError("Refused.", kind="remote")),
    ]
    with answering(200, {"results": format_results(results)}) as (url, rows):
        writes = send_writes(url, "secret", format_writes("key", [WRITE, WRITE, WRITE]), 3, "http://me")
    assert writes is not None
    assert writes[0] == results[0]
    assert isinstance(writes[1].error, ConflictError)
    assert (str(writes[1].error), writes[1].error.context["current_revision"]) == ("a.md was changed.", BLOB)
    assert isinstance(writes[2].error, GitError)
    ((path, signature, body),) = rows
    assert path == WRITES_PATH
    facts = signature_in(signature, body, "secret")
    assert facts is not None
    assert (facts.sender, facts.recipient) == ("http://me", url)


@pytest.mark.parametrize("when", [10**30, -1, 253_402_300_800, True, 1.5, "1"])
def test_a_time_that_git_cannot_record_is_refused(when: object) -> None:
    reported_value = json.loads(BODY)
    reported_value["writes"][0]["author"][2] = when
    with pytest.raises(InvalidInputError):
        parse_writes(json.dumps(reported_value).encode())


def test_a_message_with_nul_is_refused() -> None:
    reported_value = json.loads(BODY)
    reported_value["writes"][0]["message"] = "Subject\0hidden"
    with pytest.raises(InvalidInputError):
        parse_writes(json.dumps(reported_value).encode())


@pytest.mark.parametrize("status", [401, 404, 413, 422])
def test_a_server_that_refuses_them_has_not_written_them(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with answering(status, {"error": "no"}) as (url, _):
        assert send_writes(url, "secret", BODY, 1) is None
    assert ("cluster_secret must be the same" in caplog.text) == (status == 401)


def test_a_server_that_is_not_there_has_not_written_them() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert send_writes(url, "secret", BODY, 1) is None
    assert not is_alive(url)


@contextmanager
def listening() -> Generator[tuple[str, socket.socket]]:
    """A server that accepts connections and says nothing, as one that was stopped."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", listener


def test_a_server_that_accepts_and_hangs_is_given_up_long_before_its_answer_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_lease, "ANSWER_SECONDS", 3600.0)
    monkeypatch.setattr(writer_lease, "PROBE_SECONDS", 0.05)
    with listening() as (url, _), pytest.raises(ConnectionError):
        send_writes(url, "secret", BODY, 1)


def test_a_server_that_takes_long_and_answers_probes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_lease, "PROBE_SECONDS", 0.05)
    probes = iter(range(2 * writer_lease.PROBES))
    enough = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if next(probes, None) is None:
                enough.set()
            self._answer(b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            assert enough.wait(60)
            self._answer(json.dumps({"results": format_results([WriteResult(COMMIT, PARENT)])}).encode())

        def _answer(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        writes = send_writes(f"http://127.0.0.1:{server.server_address[1]}", "secret", BODY, 1)
        server.shutdown()
    assert writes == [WriteResult(COMMIT, PARENT)]


@pytest.mark.parametrize(
    "answer",
    [b"", b"not JSON", [], {"results": []}, {"results": [{"commit": "x", "parent": ""}]}, {"results": [{"error": 1}]}],
)
def test_an_answer_that_is_none_leaves_the_outcome_unknown(answer: object) -> None:
    with answering(200, answer) as (url, _), pytest.raises(ConnectionError):
        send_writes(url, "secret", BODY, 1)


def test_an_error_of_the_server_leaves_the_outcome_unknown() -> None:
    with answering(500, {"error": "x"}) as (url, _), pytest.raises(ConnectionError, match="HTTP 500"):
        send_writes(url, "secret", BODY, 1)


def _body(**changes: object) -> bytes:
    reported_value = json.loads(format_writes("key", [WRITE]))
    reported_value["writes"][0].update(changes)
    return json.dumps(reported_value).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b'{"base": "x"}', b'{"base": "x", "writes": []}', b'{"base": 1, "writes": [1]}',
        b"[" * 100_000,
        _body(files=[["a.md", "no id", None]]), _body(files=[["a.md", BLOB, "!"]]), _body(files=[["a.md", BLOB]]),
        _body(message=1), _body(author=["A", "a", "1", 0]), _body(author=["A\n<", "a", 1, 0]),
        _body(committer=["A", "a", 1, 99_999]), format_writes("key", [WRITE] * 101),
    ],
)  # fmt: skip
def test_a_body_of_another_form_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError):
        parse_writes(body)
