"""Requests byte by byte, as attackers and careless proxies send them: framing, origins, types, methods, messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from serving import REVISION, Server, answered, exchanged, head_of, request, rpc_request, served, statuses
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


NEXT = request("GET", "/health", {"Connection": "close"})
"""A request that a connection answers if it is still used, and closes after."""


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
        "X-A: a\r\n Content-Length: 5\r\n",
        "Transfer-Encoding:\r\n\tchunked\r\n",
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


def test_the_host_of_an_absolute_target_counts(server: Server) -> None:
    port = server.port
    for target, host, expected in (
        (f"http://localhost:{port}/health", "localhost", 200),
        (f"HTTP://127.0.0.1:{port}/health?x=http://other.example", "rebound.example", 200),
        ("http://rebound.example/health", "localhost", 421),
        (f"http://rebound.example:{port}/health", "localhost", 421),
        ("http://ada@localhost/health", "localhost", 400),
        ("ftp://localhost/health", "localhost", 400),
        ("http:///health", "localhost", 400),
    ):
        head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert statuses(exchanged(server, head.encode())) == [expected], target
    own = answered(server, "GET", f"{API}/pages", {"Host": "rebound.example"})
    absolute = exchanged(server, f"GET http://rebound.example{API}/pages HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert absolute.startswith(f"HTTP/1.1 {own[0]} ".encode())
    assert json.loads(absolute.partition(b"\r\n\r\n")[2]) == own[1]


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


def test_an_origin_beside_another_is_not_allowed(server: Server) -> None:
    foreign, own = "http://other.example", f"http://localhost:{server.port}"
    for first, second in ((ALLOWED, foreign), (own, foreign), (foreign, own)):
        head = f"GET {API}/pages HTTP/1.1\r\nHost: localhost:{server.port}\r\nConnection: close\r\n"
        received = exchanged(server, f"{head}Origin: {first}\r\nOrigin: {second}\r\n\r\n".encode())
        assert statuses(received) == [403], received
        assert b"access-control-allow-origin" not in received.lower()


def test_a_version_or_a_chunk_that_is_not_taken_ends_the_connection(server: Server) -> None:
    head = f"PUT {API}/pages/Smuggled HTTP/{{}}\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{{}}\r\n\r\n"
    for version, size in (("1.0", "0"), ("2.0", "0"), ("1.1", "f" * 18)):
        received = exchanged(server, head.format(version, size).encode() + NEXT)
        assert statuses(received)[-1] == 400, received


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
        reported_values = {"Host": f"localhost:{server.port}", "Origin": origin, "Content-Type": kind} | ACCEPT
        status, said = answered(server, method, path, reported_values, body)
        assert (status, said["kind"]) == (403, "origin"), (method, path, origin, kind)
    assert server.ask("GET", f"{API}/changelog").json == before


@pytest.mark.parametrize(
    "kind", [*TYPES[1:], "application/json-x", "application/jsonp", "text/plain; application/json", "text/json", "json"]
)
@pytest.mark.parametrize("origin", ["", "own", ALLOWED])
def test_a_body_that_is_not_declared_json_is_refused(origin: str, kind: str, server: Server) -> None:
    reported_values = {"Origin": f"http://localhost:{server.port}" if origin == "own" else origin} if origin else {}
    for method, path, body in WRITES:
        sent = {"Host": f"localhost:{server.port}", "Content-Type": kind} | reported_values | ACCEPT
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


def test_pages_of_an_allowed_origin_may_ask_and_read(server: Server) -> None:
    asks = {"Origin": ALLOWED, "Access-Control-Request-Method": "PUT", "Connection": "close"}
    asks["Access-Control-Request-Headers"] = "authorization,content-type,mcp-protocol-version"
    for path in (f"{API}/pages/Hub", "/mcp", "/mcp/kb", "/sse", "/sse/messages", "/metrics", "/nothing"):
        head = head_of(server, request("OPTIONS", path, asks))
        assert head["status"] == "204"
        assert head["access-control-allow-origin"] == ALLOWED
        assert "PUT" in head["access-control-allow-methods"].split(", ")
        assert head["access-control-allow-headers"] == asks["Access-Control-Request-Headers"]
        assert "Origin" in head["vary"]
        assert "access-control-allow-credentials" not in head
    for path, status in ((f"{API}/pages/Hub", "200"), (f"{API}/pages/None", "404"), ("/metrics", "200"), ("/x", "404")):
        reported_head = head_of(server, request("GET", path, {"Origin": ALLOWED, "Connection": "close"}))
        assert (reported_head["status"], reported_head["access-control-allow-origin"]) == (status, ALLOWED)
        assert "ETag" in reported_head["access-control-expose-headers"]
    for era, status in ((INITIALIZE, "200"), (rpc_request("tools/list", {})[1], "200")):
        headers = {"Origin": ALLOWED, "Content-Type": "application/json", "Connection": "close"} | ACCEPT
        headers |= {} if era is INITIALIZE else rpc_request("tools/list", {})[0]
        reported_values = head_of(server, request("POST", "/mcp", headers, json.dumps(era).encode()))
        assert (reported_values["status"], reported_values["access-control-allow-origin"]) == (status, ALLOWED)
        assert "Mcp-Session-Id" in reported_values["access-control-expose-headers"]


def test_nobody_else_is_told_that_pages_may_ask(server: Server) -> None:
    for origin, path in product((*FOREIGN, f"http://localhost:{server.port}"), (f"{API}/pages", "/mcp", "/health")):
        reported_values = {"Host": f"localhost:{server.port}", "Origin": origin, "Connection": "close"}
        for sent in (
            request("OPTIONS", path, {**reported_values, "Access-Control-Request-Method": "GET"}),
            request("GET", path, reported_values),
        ):
            assert not [name for name in head_of(server, sent) if name.startswith("access-control")], (origin, path)
    candidate = {"Origin": ALLOWED, "Access-Control-Request-Method": "GET", "Connection": "close"}
    assert head_of(server, request("OPTIONS", "/health", {**candidate, "Host": "evil.example"}))["status"] == "421"
    odd = head_of(server, request("OPTIONS", "/health", {**candidate, "Access-Control-Request-Headers": "a, b c;d"}))
    assert "access-control-allow-headers" not in odd


@pytest.mark.parametrize(
    ("method", "below", "allowed"),
    [
        ("PUT", "/attachments", "GET, HEAD, POST"),
        ("PATCH", "/attachments", "GET, HEAD, POST"),
        ("DELETE", "/attachments", "GET, HEAD, POST"),
        ("OPTIONS", "/attachments", "GET, HEAD, POST"),
        ("PUT", "/history", "GET, HEAD"),
        ("POST", "/history", "GET, HEAD"),
        ("DELETE", "/history", "GET, HEAD"),
        ("PUT", "/rename", "POST"),
        ("GET", "/rename", "POST"),
        ("POST", "", "GET, HEAD, PUT, PATCH, DELETE"),
        ("TRACE", "", "GET, HEAD, PUT, PATCH, DELETE"),
    ],
)
def test_a_method_that_a_path_does_not_take_names_those_that_it_does(
    method: str, below: str, allowed: str, server: Server
) -> None:
    pages = server.ask("GET", f"{API}/pages").json["total"]
    sent = {"content": "x\n", "revision": "", "filename": "x", "old_string": "a", "new_string": "b", "new_path": "x"}
    headers = {"Content-Type": "application/json", "Connection": "close"}
    reported_request = request(method, f"{API}/pages/Hub{below}", headers, json.dumps(sent).encode())
    assert head_of(server, reported_request)["status"] == "405"
    assert head_of(server, reported_request)["allow"] == allowed
    assert server.ask("GET", f"{API}/pages").json["total"] == pages


def test_every_route_says_in_json_what_methods_it_takes(server: Server) -> None:
    for method, path, allowed in (
        ("DELETE", "/health", "GET, HEAD"),
        ("PUT", "/metrics", "GET, HEAD"),
        ("POST", f"{API}/openapi.json", "GET, HEAD"),
        ("PUT", f"{API}/search", "GET, HEAD"),
        ("GET", f"{API}/reindex", "POST"),
        ("PUT", "/mcp", "GET, POST, DELETE"),
        ("OPTIONS", "/mcp/kb", "GET, POST, DELETE"),
        ("DELETE", "/sse", "GET"),
        ("GET", "/sse/messages", "POST"),
    ):
        head = head_of(server, request(method, path, {"Connection": "close"}))
        assert (head["status"], head["allow"]) == ("405", allowed), path
        status, said = answered(server, method, path, {})
        assert (status, said["kind"], bool(said["hint"])) == (405, "method", True)
    for method in ("GET", "PUT", "DELETE"):
        reported_head = head_of(
            server, request(method, "/mcp", {"MCP-Protocol-Version": REVISION, "Connection": "close"})
        )
        assert (reported_head["status"], reported_head["allow"]) == ("405", "POST")


def test_a_page_of_the_name_of_an_operation_is_written_where_it_is_meant(server: Server) -> None:
    for name in ("history", "attachments", "rename"):
        created = server.page("PUT", f"Hub/{name}", {"content": "x\n"})
        assert created.status == 201, created.body
        sent = {"content": "y\n", "revision": created.json["revision"]}
        assert server.ask("PUT", f"{API}/pages/Hub/{name}", sent).status == 200, "an existing page wins"
        assert server.ask("DELETE", f"{API}/pages/Hub/{name}").status == 200
        assert server.ask("DELETE", f"{API}/pages/Hub/{name}").status == 405


@pytest.mark.parametrize("path", ["%2FHub", "%2Fabs", "/Hub", "%2F%2Fabs", "//abs", "a%2F%2Fb", "a//b", "%2F", "/"])
def test_an_absolute_path_is_refused_in_every_spelling(path: str, server: Server) -> None:
    pages = server.ask("GET", f"{API}/pages").json["total"]
    headers = {"Content-Type": "application/json"}
    for method, url, body in (
        ("GET", f"{API}/pages/{path}", None),
        ("PUT", f"{API}/pages/{path}", {"content": "x\n"}),
        ("DELETE", f"{API}/pages/{path}", None),
        ("GET", f"{API}/pages/{path}/history", None),
        ("POST", f"{API}/pages/{path}/rename", {"new_path": "New"}),
        ("POST", f"{API}/pages/{path}/attachments", {"filename": "x.txt", "content": "aGk="}),
        ("GET", f"{API}/links/{path}", None),
    ):
        status, said = answered(server, method, url, headers, body)
        assert (status, said["kind"]) == (422, "path"), (method, url, said)
    renamed = server.page("POST", "Hub", {"new_path": "/abs"}, below="/rename")
    assert (renamed.status, renamed.json["kind"]) == (422, "path")
    for tool, arguments in (("write_note", {"content": "x\n"}), ("read_note", {}), ("get_history", {})):
        assert server.call("wiki", tool, {"path": "/abs", **arguments})["isError"], tool
    assert server.ask("GET", f"{API}/pages").json["total"] == pages


DEEP = b"[" * 5000 + b"]" * 5000
MALFORMED: tuple[tuple[bytes, int, int | str | None], ...] = (
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":%s}}' % DEEP, -32600, 7),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":"seven","method":5}', -32600, "seven"),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32600, 7),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
    (b'{"jsonrpc":"2.0","id":7,', -32700, None),
    (b"\xff", -32700, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xff"}}', -32700, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":%s}}' % (b"[" * 100_000 + b"]" * 100_000), -32600, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":-Infinity}}', -32700, None),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":1e999}}', -32600, 7),
)
"""A message, and code and id of the error that answers it."""


@pytest.mark.parametrize("way", ["older", "newer", "sse", "opening"])
def test_a_malformed_message_is_answered_with_its_code_and_its_id(way: str, server: Server) -> None:
    headers = {"Content-Type": "application/json"} | ACCEPT
    path = "/mcp"
    with server.connect() as stream:
        if way == "older":
            opened = head_of(
                server, request("POST", path, headers | {"Connection": "close"}, json.dumps(INITIALIZE).encode())
            )
            headers["Mcp-Session-Id"] = opened["mcp-session-id"]
        elif way == "newer":
            headers |= {"MCP-Protocol-Version": REVISION, "Mcp-Method": "ping"}
        elif way == "sse":
            stream.sendall(request("GET", "/sse", {}))
            received = b""
            while b"session_id=" not in received or not received.endswith(b"\r\n\r\n"):
                received += stream.recv(1000)
            (path,) = re.findall(r"/sse/messages\?session_id=\w+", received.decode())
        for raw, code, identifier in MALFORMED:
            status, said = answered(server, "POST", path, headers, raw)
            assert (status, said["error"]["code"], said["id"]) == (400, code, identifier), raw[:60]
            assert said["jsonrpc"] == "2.0"
    assert not [line for line in server.lines if "Traceback" in line]


def test_a_body_with_a_number_that_is_not_finite_is_refused(server: Server) -> None:
    for number in (b"NaN", b"-Infinity", b"1e999"):
        raw = b'{"content":"x","frontmatter":{"n":[%s]}}' % number
        status, said = answered(server, "PUT", f"{API}/pages/Number", {"Content-Type": "application/json"}, raw)
        assert (status, said["kind"], said["hint"]) == (400, "body", "Send finite numbers, or null.")
    assert server.page("GET", "Number").status == 404
    assert server.page("PUT", "Number", {"content": "NaN, Infinity and 1e999\n"}).status == 201
    assert server.page("DELETE", "Number").status in {200, 204}


def test_a_client_that_takes_no_type_of_answer_is_told_so_in_json(server: Server) -> None:
    for era, method in product(({}, {"MCP-Protocol-Version": REVISION}), ("POST", "GET")):
        if method == "GET" and era:
            continue
        headers = {"Content-Type": "application/json", "Accept": "text/html"} | era
        status, said = answered(server, method, "/mcp", headers, INITIALIZE if method == "POST" else None)
        assert (status, said["kind"]) == (406, "accept")
        assert said["hint"] == "Send Accept: application/json, text/event-stream."
    for path in ("/sse/messages", "/sse/messages?session_id=x", "/sse/messages?session_id=" + "0" * 32):
        status, said = answered(server, "POST", path, {"Content-Type": "application/json"}, INITIALIZE)
        assert (status, said["kind"]) in {(400, "session"), (404, "session")}


def test_an_answer_leaves_at_once_and_in_one_piece(server: Server) -> None:
    with server.connect() as connection:
        for _ in range(20):
            connection.sendall(request("GET", f"{API}/pages/Hub", {}))
            head, _, body = connection.recv(65_536).partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            assert length
            assert len(body) == int(length[1])
            assert length[1] != b"0"
