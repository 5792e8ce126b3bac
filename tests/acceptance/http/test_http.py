"""The HTTP server itself: names, slow and vanishing clients, shutdown, and MCP in every form."""

from __future__ import annotations

import fcntl
import json
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from serving import Server, commonplace, rpc_request, served
from support import GitRepo, MakeRepo, eventually, new_repo
from wiki_base import NOTES, wiki_repo

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
    "/sse/messages",
    "/.well-known/oauth-protected-resource",
    "/x",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, GitRepo]]:
    """One server for all tests that leave it as it was."""
    large = {"Large.md": "much " * 1_000_000}
    repo = new_repo(tmp_path_factory.mktemp("site") / "wiki", NOTES | large)
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with served(repo.path, "--toolset", "wiki", "--sse", env=env) as running:
        yield running, repo


@pytest.fixture
def server(site: tuple[Server, GitRepo]) -> Server:
    return site[0]


@pytest.fixture
def repo(git_repo: MakeRepo, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return wiki_repo(git_repo)


def test_a_foreign_host_or_origin_is_refused_on_every_route(server: Server) -> None:
    for route in ROUTES:
        for method in ("GET", "POST", "OPTIONS"):
            for host in ("evil.example", "evil.example:8090", "127.0.0.1.evil.example", "", "[::1", "localhost:x"):
                answer = server.ask(method, route, headers={"Host": host})
                assert answer.status in {400, 421}, (route, host)
                assert answer.status == 421 or host == "", (route, host)
            for origin in (
                "https://evil.example",
                "http://localhost:6274",
                "http://203.0.113.7",
                "null",
                "http://127.0.0.1.evil.example",
                "file://",
                "",
                "http://",
            ):
                answer = server.ask(method, route, headers={"Origin": origin})
                assert answer.status == 403, (route, origin)
                assert answer.json["hint"]
    for host in ("localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST:8090"):
        assert server.ask("GET", "/health", headers={"Host": host}).status == 200
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert server.ask("GET", "/health", headers={"Origin": f"http://{name}:{server.port}"}).status == 200


def test_a_taken_port_is_told(server: Server, repo: GitRepo) -> None:
    done = commonplace("serve", str(repo.path), "--port", str(server.port))
    assert done.returncode == 2
    assert f"Cannot listen on 127.0.0.1, port {server.port}" in done.stderr


SLOW = 1_000


def test_a_thousand_slow_connections_keep_nobody_out(server: Server) -> None:
    """Each kind is slow in its way: with nothing, a request's head, a later one's, a body, taking an answer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, SLOW + 500)), hard))
    requested_flag = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    kinds = (
        b"",
        b"GET /health HTTP/1.1\r\nHost: ",
        requested_flag + b"\r\n" + requested_flag,
        b"PUT /api/v1/pages/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        b"GET /api/v1/pages/Large HTTP/1.1\r\nHost: localhost\r\n\r\n",
    )
    with ExitStack() as stack:
        slow = [stack.enter_context(server.connect(receive=4096)) for _ in range(SLOW)]
        for number, connection in enumerate(slow):
            connection.sendall(kinds[number % 4] if number > 20 else kinds[number % len(kinds)])
        assert server.ask("GET", f"{API}/pages").json["total"] == 7
        eventually(lambda: _has_few_files(server), 60)
        assert server.ask("GET", f"{API}/pages/x").status == 404


def test_a_server_that_gets_no_more_files_says_so_in_one_line_and_goes_on(repo: GitRepo) -> None:
    with served(repo.path, "--toolset", "wiki") as server:
        eventually(lambda: _answers(server))
        with server.connect() as last:
            last.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while last.recv(1000):
                pass  # until the server has closed it, and every connection before
        open_now = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (open_now + 10, open_now + 10))
        with ExitStack() as stack:
            for _ in range(50):
                stack.enter_context(server.connect())
            eventually(lambda: any("no connection can be taken in now" in line for line in server.lines))
        eventually(lambda: _answers(server))
        assert len([line for line in server.lines if "no connection can be taken in" in line]) == 1, server.lines[:20]
        assert not [line for line in server.lines if "Traceback" in line]


def _answers(server: Server) -> bool:
    with suppress(OSError):
        return server.ask("GET", f"{API}/pages").status == 200
    return False


def _has_few_files(server: Server) -> bool:
    """Whether the server has given its connections up; waits half a second first, in which it must not die."""
    with suppress(subprocess.TimeoutExpired):
        server.process.wait(0.5)
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())) < SLOW / 10


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_mcp_is_served_in_both_eras_at_each_toolset(server: Server, mode: Any) -> None:
    async def talk() -> None:
        async with Client(f"{server.url}/mcp", mode=mode) as client:
            shown = await client.call_tool("list_notes", {})
            assert shown.content[0].text.startswith("Found 7 notes:")
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


def test_what_json_can_spell_and_is_no_text_is_refused_before_any_code_runs(server: Server) -> None:
    half = "\ud800"
    calls = (
        ("wiki", "list_notes", {"prefix": half}),
        ("wiki", "list_notes", {"tag": half}),
        ("wiki", "search_notes", {"query": half}),
        ("wiki", "write_note", {"path": "x", "content": half}),
        ("kb", "kb_search", {"query": half}),
        ("kb", "kb_search", {"query": "x", half: 1}),
    )
    for toolset, tool, arguments in calls:
        refused = server.call(toolset, tool, arguments)
        assert refused["isError"], arguments
        assert "half a surrogate pair" in refused["content"][0]["text"], refused
    rpc = server.rpc("kb", "prompts/get", {"name": "daily_briefing", "arguments": {"days": half}})
    assert "half a surrogate pair" in rpc["error"]["message"]
    assert server.call("wiki", "list_notes", {})["isError"] is False
    assert not [line for line in server.lines if "index failed" in line]


def test_what_is_to_be_got_is_got_and_nothing_else(server: Server) -> None:
    for path in ("/health", "/metrics"):
        assert server.ask("GET", path).status == server.ask("HEAD", path).status == 200
        for method in ("POST", "PUT", "DELETE"):
            refused = server.ask(method, path, {})
            assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
        assert server.ask("GET", f"{path}/x").status == 404
    with server.connect() as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        assert b'{"error":' in connection.recv(1000)


@pytest.mark.parametrize("path", ["/sse", "/sse/wiki"])
def test_the_older_transport_is_served_where_it_is_asked_for(server: Server, path: str) -> None:
    async def talk() -> None:
        async with Client(sse_client(server.url + path), mode="legacy") as client:
            shown = await client.call_tool("list_notes", {})
            assert shown.content[0].text.startswith("Found 7 notes:")

    anyio.run(talk)


def test_the_older_transport_alone_is_at_mcp(repo: GitRepo) -> None:
    async def talk(url: str) -> None:
        async with Client(sse_client(f"{url}/mcp"), mode="legacy") as client:
            assert "read_note" in {tool.name for tool in (await client.list_tools()).tools}

    with served(repo.path, "--transport", "sse", "--toolset", "wiki", command="mcp") as server:
        anyio.run(talk, server.url)
        assert server.ask("GET", f"{API}/pages").status == 404


@contextmanager
def held(repo: GitRepo) -> Iterator[None]:
    """Nobody writes in this block: the folder's writer lock is taken, as another process would."""
    with (repo.path / ".git" / "commonplace.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sent(server: Server, method: str, path: str, body: Any, headers: dict[str, str] | None = None) -> socket.socket:
    """A connection on which a request was sent, and nothing received yet."""
    raw = json.dumps(body).encode()
    report = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": len(raw), **(headers or {})}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in report.items())]
    connection = server.connect()
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)
    return connection


def put(server: Server, path: str) -> socket.socket:
    return sent(server, "PUT", f"{API}/pages/{quote(path, safe='')}", {"content": f"{path}\n"})


def write_note(server: Server, path: str) -> socket.socket:
    headers, body = rpc_request("tools/call", {"name": "write_note", "arguments": {"path": path, "content": path}})
    return sent(server, "POST", "/mcp/wiki", body, headers)


def test_the_end_waits_for_calls_in_flight_and_for_nothing_else(repo: GitRepo) -> None:
    with served(repo.path, "--toolset", "wiki", "--sse") as server, ExitStack() as stack:
        stream = stack.enter_context(server.connect())
        stream.sendall(b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in stream.recv(100)
        assert server.page("PUT", "First", {"content": "x\n"}).status == 201
        with held(repo):
            calls = [stack.enter_context(put(server, "Rest")), stack.enter_context(write_note(server, "Mcp"))]
            assert server.ask("GET", "/health").status == 200
            server.process.terminate()
            eventually(lambda: stream.recv(1000) == b"")
        for call in calls:
            assert call.recv(1000).split(b" ")[1] in {b"200", b"201"}
        assert server.process.wait(20) == 0
    assert repo.git("show", "HEAD:Rest.md") == "Rest"
    assert repo.git("show", "HEAD:Mcp.md") == "Mcp"


def test_a_signal_as_soon_as_it_serves_ends_it_in_good_order(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    for _ in range(5):
        with served(tmp_path) as server:
            assert server.stop() == 0


@pytest.mark.soak
def test_killed_clients_free_their_calls(site: tuple[Server, GitRepo]) -> None:
    server, repo = site
    before = int(repo.git("rev-list", "--count", "HEAD"))
    with held(repo):
        for number in range(60):
            for begin in (put, write_note):
                with begin(server, f"killed/{begin.__name__} {number}"):
                    pass
        assert server.ask("GET", f"{API}/pages?prefix=A").json["total"] == 1, "readers wait for nobody"
        assert server.call("wiki", "read_note", {"path": "Actors/Iran"})["isError"] is False
    assert server.page("PUT", "After", {"content": "x\n"}).status == 201
    assert server.page("DELETE", "After").status == 200
    done = int(repo.git("rev-list", "--count", "HEAD")) - before - 2
    listed = [page["path"] for page in server.ask("GET", f"{API}/pages?prefix=killed").json["pages"]]
    assert len(listed) == done < 120, "who waited for a turn and went away changed nothing"
    for path in listed:
        assert server.page("DELETE", path).status == 200
    assert repo.git("status", "--porcelain") == ""
