"""The HTTP server itself: names, keys, tiers, collections, rates, slow clients, shutdown, and MCP in every form."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from serving import Server, commonplace, create_key, served
from support import GitRepo, MakeRepo, eventually
from wiki_base import wiki_repo

API = "/api/v1"
ROUTES = (
    "/health",
    f"{API}/health",
    f"{API}/pages",
    f"{API}/openapi.json",
    "/mcp",
    "/mcp/wiki",
    "/metrics",
    "/sse",
    "/x",
)
CANARY = "canary-7f3a9c1e"
EVERYWHERE = ".".join("0000")


@pytest.fixture
def repo(git_repo: MakeRepo, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return wiki_repo(git_repo)


@pytest.fixture
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--toolset", "wiki", "--sse") as running:
        yield running


def test_a_foreign_host_or_origin_is_refused_on_every_route(server: Server) -> None:
    for route in ROUTES:
        for method in ("GET", "POST", "OPTIONS"):
            for host in ("evil.example", "evil.example:8090", "127.0.0.1.evil.example", "", "[::1", "localhost:x"):
                answer = server.ask(method, route, headers={"Host": host})
                assert answer.status in {400, 421}, (route, host)
                assert answer.status == 421 or host == "", (route, host)
            for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "", "http://"):
                answer = server.ask(method, route, headers={"Origin": origin})
                assert answer.status == 403, (route, origin)
                assert answer.json["hint"]
    for host in ("localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST:8090"):
        assert server.ask("GET", "/health", headers={"Host": host}).status == 200
    assert server.ask("GET", "/health", headers={"Origin": "http://localhost:6274"}).status == 200


def test_other_addresses_need_a_key_first(repo: GitRepo) -> None:
    done = commonplace("serve", str(repo.path), "--host", EVERYWHERE, "--port", "0")
    assert done.returncode == 2
    assert "Others can reach 0.0.0.0, and no key is needed there." in done.stderr
    with served(repo.path, "--host", EVERYWHERE, "--allow-anonymous") as server:
        assert server.ask("GET", f"{API}/pages").status == 200
        assert server.ask("GET", f"{API}/pages", headers={"Host": "evil.example"}).status == 421
    with served(repo.path, "--host", EVERYWHERE, env={"OTTERWIKI_API_KEY": "k"}) as server:
        assert server.ask("GET", f"{API}/pages").status == 401
        assert server.ask("GET", f"{API}/pages", key="k").status == 200


def test_a_taken_port_is_told(server: Server, repo: GitRepo) -> None:
    done = commonplace("serve", str(repo.path), "--port", str(server.port))
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1, port {server.port}" in done.stderr


def test_keys_are_created_listed_revoked_and_stored_as_digests(repo: GitRepo, cache_dir: Path) -> None:
    with served(repo.path) as server:
        assert server.ask("GET", f"{API}/pages").status == 200
        key = create_key("laptop", "--tier", "write")
        assert key.startswith("cpk_")
        assert server.ask("GET", f"{API}/pages").status == 401
        for wrong in ("x", key[:-1], f"{key}x", key.upper(), "Basic"):
            answer = server.ask("GET", f"{API}/pages", key=wrong)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json["hint"]
        assert server.ask("GET", f"{API}/pages", key=key).status == 200
        assert server.ask("GET", f"{API}/health").status == 200
        for route in ("/mcp", "/metrics", f"{API}/openapi.json", "/nothing"):
            assert server.ask("GET", route).status == 401, route
        listed = json.loads(commonplace("keys", "list", "--json").stdout)
        assert [(row["name"], row["tier"], row["collections"]) for row in listed["keys"]] == [("laptop", "write", None)]
        assert commonplace("keys", "revoke", "laptop").returncode == 0
        again = create_key("other")
        assert server.ask("GET", f"{API}/pages", key=key).status == 401
        assert server.ask("GET", f"{API}/pages", key=again).status == 200
    assert commonplace("keys", "revoke", "nobody").returncode == 3
    assert commonplace("keys", "create", "x", "--tier", "root").returncode == 4
    (file,) = (Path(p) for p in Path(os.environ["XDG_STATE_HOME"]).rglob("keys.json"))
    stored = file.read_text()
    assert key not in stored
    assert again not in stored
    assert file.stat().st_mode & 0o077 == 0
    assert cache_dir.is_dir()


def test_revoking_the_last_key_opens_nothing(repo: GitRepo) -> None:
    create_key("only")
    with served(repo.path) as server:
        assert commonplace("keys", "revoke", "only").returncode == 0
        assert server.ask("GET", f"{API}/pages").status == 401


async def _tools(url: str, key: str, mode: Any = "auto") -> dict[str, Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        shown = await client.call_tool("list_notes", {}) if "list_notes" in tools else None
        return {"tools": tools, "list": shown}


@pytest.mark.timeout(300)
def test_every_tool_and_endpoint_heeds_tier_and_collection(git_repo: MakeRepo, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    open_ = git_repo("open", {"Open.md": "---\ncategory: a\n---\nshared [[closed:Closed]]\n"})
    closed = git_repo("closed", {"Closed.md": f"{CANARY} shared [[open:Open]]\n", "More.md": f"{CANARY}\n"})
    keys = {tier: create_key(f"all {tier}", "--tier", tier) for tier in ("read", "write", "admin")}
    confined = {tier: create_key(f"open {tier}", "--tier", tier, "--collection", "open") for tier in keys}
    nowhere = create_key("nowhere", "--tier", "admin", "--collection", "other")
    with served(closed.path, open_.path, "--log-level", "debug") as server:
        endpoints = _endpoints(server, keys["read"])
        for tier, key in keys.items():
            for method, path, needed in endpoints:
                status = server.ask(method, path, b"{}" if method != "GET" else None, key=key).status
                allowed = needed == "read" or tier != "read"
                assert (status != 403) == allowed, (tier, method, path, status)
                assert status != 401
        for key in confined.values():
            for method, path, _ in endpoints:
                if method == "GET":
                    answer = server.ask(method, path, key=key)
                    assert CANARY.encode() not in answer.body, path
                    assert b"More" not in answer.body, path
                    assert answer.status != 500
            assert server.ask("GET", f"{API}/pages/Closed", key=key).status == 404
            assert server.ask("GET", f"{API}/pages/Open", key=key).status == 200
            assert server.ask("GET", f"{API}/search?q={CANARY}", key=key).json["total"] == 0
            assert server.ask("GET", f"{API}/links/Open", key=key).json["linked_from"] == []
            assert server.ask("GET", f"{API}/changelog", key=key).json["total"] == 1
        for method, path, _ in endpoints:
            if path not in {f"{API}/health", f"{API}/openapi.json"}:
                assert server.ask(method, path, b"{}", key=nowhere).status in {400, 403, 422, 503}, path
        writers = {"write_note", "edit_note", "rename_note", "delete_note", "upload_attachment", "delete_attachment"}
        for tier, key in {**keys}.items():
            found = anyio.run(_tools, f"{server.url}/mcp/wiki", key)
            assert writers.isdisjoint(found["tools"]) == (tier == "read"), tier
        found = anyio.run(_tools, f"{server.url}/mcp/wiki", confined["read"])
        assert found["list"].content[0].text.startswith("Found 1 notes:")
        assert server.ask("POST", "/mcp/cascade", {}, key=confined["admin"]).status == 403
        for key in (*keys.values(), *confined.values()):
            assert key not in "".join(server.lines)
        assert CANARY not in "".join(server.lines)
        assert CANARY.encode() not in server.ask("GET", "/metrics", key=keys["read"]).body


def _endpoints(server: Server, key: str) -> list[tuple[str, str, str]]:
    paths = server.ask("GET", f"{API}/openapi.json", key=key).json["paths"]
    writing = {"PUT", "PATCH", "DELETE", "POST"}
    rows: list[tuple[str, str, str]] = []
    for template, item in paths.items():
        path = API + template.replace("{path}", "Nope").replace("{filename}", "n.png")
        methods = [name.upper() for name in item if name != "parameters"]
        rows += [(method, path, "write" if method in writing else "read") for method in methods]
    return rows


def test_the_tier_of_the_server_is_the_most_that_anybody_gets(repo: GitRepo) -> None:
    with served(repo.path, "--tier", "read", env={"OTTERWIKI_API_KEY": "k"}) as server:
        refused = server.page("PUT", "x", {"content": "x"}, key="k")
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        assert server.ask("GET", f"{API}/pages", key="k").status == 200


def test_a_key_that_calls_too_often_is_told_when_to_go_on(repo: GitRepo) -> None:
    with served(repo.path, "--rate-limit", "30", env={"OTTERWIKI_API_KEY": "k"}) as server:
        answers = [server.ask("GET", f"{API}/pages", key="k") for _ in range(14)]
        late = [answer for answer in answers if answer.status == 429]
        assert late
        assert {answer.status for answer in answers} == {200, 429}
        assert int(late[0].headers["retry-after"]) in {1, 2}
        assert late[0].json["hint"]
        assert server.ask("GET", "/health").status == 200


def test_many_slow_connections_keep_nobody_out(server: Server) -> None:
    slow: list[socket.socket] = []
    try:
        for number in range(800):
            connection = server.connect()
            slow.append(connection)
            if number % 2:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: ")
            elif number % 4:
                connection.sendall(b"PUT /api/v1/pages/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        assert server.ask("GET", f"{API}/pages").json["total"] == 6
        eventually(lambda: _closed(slow[0]) and _closed(slow[1]), 30)
    finally:
        for connection in slow:
            connection.close()


def _closed(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_mcp_is_served_in_both_eras_at_each_toolset(server: Server, mode: Any) -> None:
    async def talk() -> None:
        async with Client(f"{server.url}/mcp", mode=mode) as client:
            shown = await client.call_tool("list_notes", {})
            assert shown.content[0].text.startswith("Found 6 notes:")
            conflict = await client.call_tool("write_note", {"path": "Hub", "content": "x"})
            assert conflict.is_error
            await client.call_tool("read_note", {"path": "Hub"})
            written = await client.call_tool("write_note", {"path": "Hub", "content": f"{mode}\n"})
            assert not written.is_error, written
        async with Client(f"{server.url}/mcp/kb", mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert "kb_search" in names
            assert "kb_create" not in names

    anyio.run(talk)
    assert server.ask("POST", "/mcp/nothing", {}).status == 404


@pytest.mark.parametrize("path", ["/sse", "/sse/wiki"])
def test_the_older_transport_is_served_where_it_is_asked_for(server: Server, path: str) -> None:
    async def talk() -> None:
        async with Client(sse_client(server.url + path), mode="legacy") as client:
            shown = await client.call_tool("list_notes", {})
            assert shown.content[0].text.startswith("Found 6 notes:")

    anyio.run(talk)


def test_the_older_transport_alone_is_at_mcp(repo: GitRepo) -> None:
    async def talk(url: str) -> None:
        async with Client(sse_client(f"{url}/mcp"), mode="legacy") as client:
            assert "read_note" in {tool.name for tool in (await client.list_tools()).tools}

    with served(repo.path, "--transport", "sse", "--toolset", "wiki", command="mcp") as server:
        anyio.run(talk, server.url)
        assert server.ask("GET", f"{API}/pages").status == 404


def test_the_end_waits_for_calls_in_flight_and_for_nothing_else(repo: GitRepo) -> None:
    with (
        served(repo.path, "--toolset", "wiki", "--sse") as server,
        server.connect() as stream,
        server.connect() as call,
    ):
        stream.sendall(b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in stream.recv(100)
        body = b'{"content": "at the end\\n"}'
        head = f"PUT /api/v1/pages/Last HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        call.sendall(head.encode() + body[:5])
        assert server.ask("GET", "/health").status == 200
        server.process.terminate()
        call.sendall(body[5:])
        answer = call.recv(1000)
        assert answer.startswith(b"HTTP/1.1 201"), answer
        assert server.process.wait(20) == 0
    assert repo.git("show", "HEAD:Last.md") == "at the end"


def test_a_killed_client_frees_its_call(server: Server) -> None:
    for _ in range(60):
        with server.connect() as connection:
            connection.sendall(b"GET /api/v1/pages HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert server.ask("GET", f"{API}/pages").json["total"] == 6
