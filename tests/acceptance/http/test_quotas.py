"""Limits of subscriptions over HTTP, for one client and for all, in both eras, until clients end them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from commonplace.faces.mcp.subscriptions import MAX_ALL_RESOURCES, MAX_RESOURCES, MAX_STREAM_RESOURCES, MAX_STREAMS
from serving import RawSession, Server, create_key, rpc_request, served
from support import eventually

LISTEN = "subscriptions/listen"


@pytest.fixture
def folder(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "A.md").write_text("# A\n")
    return tmp_path / "kb"


def uris(number: int, name: str = "a") -> list[str]:
    return [f"commonplace://kbs/kb/files/{name}-{element}.md" for element in range(number)]


@contextmanager
def following(server: Server, urises: list[str], headers: dict[str, str]) -> Iterator[Any]:
    """The first message of a stream that stays open as long as the block lasts."""
    reported_values, body = rpc_request(LISTEN, {"notifications": {"resourceSubscriptions": urises}})
    raw = json.dumps(body).encode()
    lines = [f"{name}: {value}" for name, value in {"Host": "localhost", **reported_values, **headers}.items()]
    head = "\r\n".join(["POST /mcp/kb HTTP/1.1", *lines, f"Content-Length: {len(raw)}", "", ""])
    with server.connect() as connection:
        connection.sendall(head.encode() + raw)
        received = b""
        while b"\n" not in received.partition(b'{"jsonrpc"')[2] and not received.endswith(b"}"):
            received += connection.recv(1_000_000)
        yield json.loads(received[received.index(b'{"jsonrpc"') :].splitlines()[0])


def accepted(message: Any) -> bool:
    """Whether the stream was begun; otherwise the error says why not."""
    if "error" not in message:
        return True
    assert message["error"]["code"] == -32603, message
    return False


def begins(server: Server, urises: list[str], headers: dict[str, str]) -> bool:
    with following(server, urises, headers) as first:
        return accepted(first)


def test_what_clients_follow_is_bounded_for_each_and_in_all_and_given_back(folder: Path) -> None:
    with served(folder, "--public-url", "https://notes.example.org") as server, ExitStack() as open_streams:
        clients = [
            {"X-Forwarded-For": f"198.51.100.{number}"} for number in range(MAX_ALL_RESOURCES // MAX_RESOURCES + 1)
        ]
        *full, last = clients
        for client in full:
            for part in range(MAX_RESOURCES // MAX_STREAM_RESOURCES):
                stream = following(server, uris(MAX_STREAM_RESOURCES, str(part)), client)
                assert accepted(open_streams.enter_context(stream))
            assert not begins(server, uris(1, "more"), client)
        assert not begins(server, uris(1), last), "in all"
        assert begins(server, [], last)
        with following(server, uris(MAX_STREAM_RESOURCES + 1), last) as refused:
            assert refused["error"]["code"] == -32602
        open_streams.close()
        eventually(lambda: begins(server, uris(MAX_STREAM_RESOURCES), full[0]))
        assert begins(server, uris(1), last)


def test_the_streams_of_one_key_are_bounded_and_another_key_has_its_own(folder: Path) -> None:
    headers, other = ({"Authorization": f"Bearer {create_key(name)}"} for name in ("one", "other"))
    with served(folder) as server:
        with ExitStack() as open_streams:
            for _ in range(MAX_STREAMS):
                assert accepted(open_streams.enter_context(following(server, uris(1), headers)))
            assert not begins(server, uris(1), headers)
            assert begins(server, uris(1), other)
        eventually(lambda: begins(server, uris(1), headers))


@pytest.mark.soak
def test_sessions_of_the_older_era_count_together_with_streams(folder: Path) -> None:
    with served(folder) as server:
        sessions = [RawSession(server) for _ in range(2)]
        with following(server, uris(MAX_STREAM_RESOURCES, "b"), {}) as first:
            assert accepted(first)
            for session, urises in zip(sessions, (uris(600), uris(400, "c")), strict=True):
                for number, uri in enumerate(urises):
                    assert "result" in session.ask(number, "resources/subscribe", {"uri": uri}), uri
            refused = sessions[1].ask("more", "resources/subscribe", {"uri": "commonplace://kbs/kb/files/more.md"})
            assert refused["error"]["code"] == -32603
            assert "result" in sessions[1].ask("same", "resources/subscribe", {"uri": uris(400, "c")[0]})
            assert "result" in sessions[1].ask("less", "resources/unsubscribe", {"uri": uris(400, "c")[0]})
            again = sessions[1].ask("again", "resources/subscribe", {"uri": "commonplace://kbs/kb/files/more.md"})
            assert "result" in again
