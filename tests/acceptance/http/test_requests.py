"""Requests byte by byte, as attackers and careless proxies send them: framing, origins, types of bodies, rates."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from serving import REVISION, Server, rpc_request, served
from support import new_repo
from wiki_base import NOTES

API = "/api/v1"
ALLOWED = "http://localhost:3000"
"""An origin that the server was told to allow."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
WRITES: tuple[tuple[str, str, Any], ...] = (
    ("PUT", f"{API}/pages/Written", {"content": "x\n"}),
    ("PATCH", f"{API}/pages/Hub", {"revision": "1234567", "old_string": "a", "new_string": "b"}),
    ("DELETE", f"{API}/pages/Hub", {"revision": "1234567"}),
    ("POST", f"{API}/pages/Hub/rename", {"new_path": "Written"}),
    ("POST", f"{API}/pages/Hub/attachments", {"filename": "written.txt", "content": "aGk="}),
    ("DELETE", f"{API}/pages/Hub/attachments/x", {"commit_message": "x"}),
    ("POST", f"{API}/reindex", {}),
    ("POST", "/mcp", INITIALIZE),
    ("POST", "/mcp/kb", INITIALIZE),
    ("POST", "/sse/messages?session_id=00000000000000000000000000000000", INITIALIZE),
)
"""Every route that takes a body."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Keyless on this machine, with the older transport and one allowed origin."""
    repo = new_repo(tmp_path_factory.mktemp("site") / "wiki", NOTES)
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with served(repo.path, "--toolset", "wiki", "--sse", "--allow-origin", ALLOWED, env=env) as running:
        yield running


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as bytes; without `Host` among the headers it is this machine."""
    told = {"Host": "localhost", **headers}
    if body:
        told.setdefault("Content-Length", str(len(body)))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


NEXT = request("GET", "/health", {"Connection": "close"})
"""A request that a connection answers if it is still used, and closes after."""


def exchanged(server: Server, sent: bytes) -> bytes:
    """What comes back on one connection until the server closes it."""
    with server.connect() as connection:
        connection.sendall(sent)
        received = bytearray()
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    """The statuses of the answers on a connection."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", received)]


def answered(
    server: Server, method: str, path: str, headers: Mapping[str, str], body: object = None
) -> tuple[int, Any]:
    """Status and JSON of one request whose headers are sent as they are given."""
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    received = exchanged(server, request(method, path, {"Connection": "close", **headers}, raw))
    head, _, content = received.partition(b"\r\n\r\n")
    (status,) = statuses(received)
    assert b"content-type: application/json\r\n" in head.lower() + b"\r\n", received
    return status, json.loads(content)


@pytest.mark.parametrize("path", [f"{API}/pages/Smuggled", "/mcp", "/sse/messages"])
@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5 5\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked\n",
        "X-A: a\nX-B: b\r\nContent-Length: 5\r\n",
        "X-A: a\rX-B: b\r\nContent-Length: 5\r\n",
        "X-A: a\x00\r\nContent-Length: 5\r\n",
    ],
)
def test_a_body_whose_end_could_be_read_otherwise_ends_the_connection(framing: str, path: str, server: Server) -> None:
    method = "PUT" if path.startswith(API) else "POST"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{framing}\r\n"
    received = exchanged(server, head.encode() + b"0\r\n\r\n" + NEXT)
    assert statuses(received) == [400], received
    assert b'{"error":' in received
    assert b"\r\nconnection: close\r\n" in received.lower()
    assert server.page("GET", "Smuggled").status == 404


def test_a_line_that_ends_in_lf_alone_ends_the_connection(server: Server) -> None:
    put = f"PUT {API}/pages/Smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunked = f"{put}Transfer-Encoding: chunked\r\n\r\n"
    for sent in (
        "GET /health HTTP/1.1\nHost: localhost\n\n",
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\n",
        "GET /health HTTP/1.1\nHost: localhost\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
        "\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"{chunked}0\r\nX: y\n\r\n",
        f"{chunked}0\r\n\n",
        f"{chunked}2\n{{}}\r\n0\r\n\r\n",
    ):
        received = exchanged(server, sent.encode() + NEXT)
        assert statuses(received) == [400], (sent, received)
    assert server.page("GET", "Smuggled").status == 404


def test_transfer_encoding_in_the_older_http_ends_the_connection(server: Server) -> None:
    head = f"PUT {API}/pages/Smuggled HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    received = exchanged(server, f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + NEXT)
    assert statuses(received) == [400]


def test_what_is_framed_well_is_answered_in_order_on_one_connection(server: Server) -> None:
    put = request("PUT", f"{API}/pages/Framed", {"Content-Type": "application/json"}, b'{"content":"a\\n"}')
    head = f"PUT {API}/pages/Chunked HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunked = (
        f'{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{"con\r\nc\r\ntent":"b\\n"}}\r\n0\r\nX: y\r\n\r\n'.encode()
    )
    received = exchanged(server, put + chunked + NEXT)
    assert statuses(received) == [201, 201, 200]
    for page in ("Framed", "Chunked"):
        assert server.page("DELETE", page).status == 200


FOREIGN = (
    "http://localhost",
    "http://localhost:3001",
    "http://127.0.0.1:3000",
    "http://[::1]:3000",
    "https://localhost:3000",
    "http://203.0.113.7",
    "null",
)
TYPES = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")


def test_no_page_of_another_origin_writes_with_whatever_type(server: Server) -> None:
    before = server.ask("GET", f"{API}/changelog").json
    for (method, path, body), origin, kind in product(WRITES, FOREIGN, TYPES):
        told = {"Host": f"localhost:{server.port}", "Origin": origin, "Content-Type": kind} | ACCEPT
        status, said = answered(server, method, path, told, body)
        assert (status, said["kind"]) == (403, "origin"), (method, path, origin, kind)
    assert server.ask("GET", f"{API}/changelog").json == before


@pytest.mark.parametrize(
    "kind", [*TYPES[1:], "application/json-x", "application/jsonp", "text/plain; application/json", "text/json", "json"]
)
@pytest.mark.parametrize("origin", ["", "own", ALLOWED])
def test_a_body_that_is_not_declared_json_is_refused(origin: str, kind: str, server: Server) -> None:
    told = {"Origin": f"http://localhost:{server.port}" if origin == "own" else origin} if origin else {}
    for method, path, body in WRITES:
        sent = {"Host": f"localhost:{server.port}", "Content-Type": kind} | told | ACCEPT
        for era in ({}, {"MCP-Protocol-Version": REVISION}):
            status, said = answered(server, method, path, sent | era, body)
            assert (status, said["kind"]) == (415, "content-type"), (method, path)
            assert said["hint"]


def test_a_body_of_two_types_or_of_none_is_refused(server: Server) -> None:
    body = b'{"content":"x"}'
    head = (
        f"PUT {API}/pages/Written HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    )
    twice = "Content-Type: application/json\r\nContent-Type: application/json\r\n"
    for types in ("", twice):
        assert statuses(exchanged(server, f"{head}{types}\r\n".encode() + body)) == [415]


def test_what_declares_json_in_any_spelling_and_what_has_no_body_is_taken(server: Server) -> None:
    for kind in ("application/json", "Application/JSON", "application/json; charset=utf-8", "application/json ;x=y"):
        status, _ = answered(server, "PUT", f"{API}/pages/Typed", {"Content-Type": kind}, {"content": "x\n"})
        assert status == 201, kind
        status, _ = answered(server, "DELETE", f"{API}/pages/Typed", {})
        assert status == 200
    status, _ = answered(server, "POST", f"{API}/reindex", {"Content-Length": "0"})
    assert status == 202


def head_of(server: Server, sent: bytes) -> dict[str, str]:
    """The status and the headers of an answer, names in lower case; a header that is there twice is joined."""
    first, *lines = exchanged(server, sent).partition(b"\r\n\r\n")[0].decode().split("\r\n")
    found = {"status": first.split(" ")[1]}
    for name, _, value in (line.partition(": ") for line in lines):
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def test_pages_of_an_allowed_origin_may_ask_and_read(server: Server) -> None:
    asks = {"Origin": ALLOWED, "Access-Control-Request-Method": "PUT", "Connection": "close"}
    asks["Access-Control-Request-Headers"] = "authorization,content-type,mcp-protocol-version"
    for path in (f"{API}/pages/Hub", "/mcp", "/mcp/kb", "/sse", "/sse/messages", "/metrics", "/nothing"):
        told = head_of(server, request("OPTIONS", path, asks))
        assert told["status"] == "204"
        assert told["access-control-allow-origin"] == ALLOWED
        assert "PUT" in told["access-control-allow-methods"].split(", ")
        assert told["access-control-allow-headers"] == asks["Access-Control-Request-Headers"]
        assert "Origin" in told["vary"]
        assert "access-control-allow-credentials" not in told
    for path, status in ((f"{API}/pages/Hub", "200"), (f"{API}/pages/None", "404"), ("/metrics", "200"), ("/x", "404")):
        told = head_of(server, request("GET", path, {"Origin": ALLOWED, "Connection": "close"}))
        assert (told["status"], told["access-control-allow-origin"]) == (status, ALLOWED)
        assert "ETag" in told["access-control-expose-headers"]
    for era, status in ((INITIALIZE, "200"), (rpc_request("tools/list", {})[1], "200")):
        headers = {"Origin": ALLOWED, "Content-Type": "application/json", "Connection": "close"} | ACCEPT
        headers |= {} if era is INITIALIZE else rpc_request("tools/list", {})[0]
        told = head_of(server, request("POST", "/mcp", headers, json.dumps(era).encode()))
        assert (told["status"], told["access-control-allow-origin"]) == (status, ALLOWED)
        assert "Mcp-Session-Id" in told["access-control-expose-headers"]


def test_nobody_else_is_told_that_pages_may_ask(server: Server) -> None:
    for origin, path in product((*FOREIGN, f"http://localhost:{server.port}"), (f"{API}/pages", "/mcp", "/health")):
        told = {"Host": f"localhost:{server.port}", "Origin": origin, "Connection": "close"}
        for sent in (
            request("OPTIONS", path, {**told, "Access-Control-Request-Method": "GET"}),
            request("GET", path, told),
        ):
            assert not [name for name in head_of(server, sent) if name.startswith("access-control")], (origin, path)
    asked = {"Origin": ALLOWED, "Access-Control-Request-Method": "GET", "Connection": "close"}
    assert head_of(server, request("OPTIONS", "/health", {**asked, "Host": "evil.example"}))["status"] == "421"
    odd = head_of(server, request("OPTIONS", "/health", {**asked, "Access-Control-Request-Headers": "a, b c;d"}))
    assert "access-control-allow-headers" not in odd


@contextmanager
def limited(folder: Path, *arguments: str, key: str = "") -> Iterator[Server]:
    """A server that takes twenty calls a minute."""
    repo = new_repo(folder / "limited", {"A.md": "# A\n"})
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    env |= {"OTTERWIKI_API_KEY": key} if key else {}
    with served(repo.path, "--rate-limit", "20", *arguments, env=env) as running:
        yield running


ROUTES = (f"{API}/pages", "/mcp", "/metrics", f"{API}/openapi.json", "/nothing", "/sse/messages")


def test_calls_count_by_key_and_are_refused_on_every_route(tmp_path: Path) -> None:
    with limited(tmp_path, "--sse", key="secret") as server:
        answers = [server.ask("GET", f"{API}/pages", key="secret").status for _ in range(25)]
        assert answers[:20] == [200] * 20
        assert 429 in answers[20:]
        for route in ROUTES:
            refused = server.ask("POST", route, {}, key="secret")
            assert (refused.status, refused.json["code"]) == (429, "rate_limited"), route
            assert 1 <= int(refused.headers["retry-after"]) <= 3
        assert server.ask("GET", f"{API}/pages").status == 401, "another caller is counted by itself"
        assert server.ask("GET", "/health").status == 200


def test_wrong_keys_count_most_and_keep_nobody_else_out(tmp_path: Path) -> None:
    with limited(tmp_path, key="secret") as server:
        wrong = [server.ask("GET", f"{API}/pages", key=f"wrong {number}") for number in range(10)]
        assert [answer.status for answer in wrong] == [401] + [429] * 9
        assert 50 <= int(wrong[-1].headers["retry-after"]) <= 60
        assert server.ask("POST", "/mcp", {}, key="wrong").status == 429
        assert server.ask("GET", f"{API}/pages").status == 429, "counted by address"
        assert server.ask("GET", f"{API}/pages", key="secret").status == 200


def test_calls_that_need_no_key_count_by_address(tmp_path: Path) -> None:
    with limited(tmp_path) as server:
        assert [server.ask("GET", f"{API}/pages").status for _ in range(20)] == [200] * 20
        for route in ROUTES:
            assert server.ask("GET", route).status == 429, route


def test_behind_a_proxy_the_address_is_the_one_that_it_names(tmp_path: Path) -> None:
    with limited(tmp_path, "--public-url", "https://notes.example.org", key="secret") as server:
        for number in range(3):
            told = {"X-Forwarded-For": f"198.51.100.{number}, 203.0.113.7"}
            expected = 401 if number == 0 else 429
            assert server.ask("GET", f"{API}/pages", key="wrong", headers=told).status == expected
        told = {"X-Forwarded-For": "203.0.113.7, 198.51.100.9"}
        assert server.ask("GET", f"{API}/pages", key="wrong", headers=told).status == 401


def test_without_a_proxy_nobody_chooses_an_address(tmp_path: Path) -> None:
    with limited(tmp_path, key="secret") as server:
        told = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(3)]
        answers = [server.ask("GET", f"{API}/pages", key="wrong", headers=one).status for one in told]
        assert answers == [401, 429, 429]


def test_an_answer_leaves_at_once_and_in_one_piece(server: Server) -> None:
    with server.connect() as connection:
        for _ in range(20):
            connection.sendall(request("GET", f"{API}/pages/Hub", {}))
            head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length
            assert len(body) == int(length[1])
            assert length[1] != b"0"
