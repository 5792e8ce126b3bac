"""Rate limits of callers: by key, else by address, on every route."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from serving import TIMEOUT, Server, request, served, statuses
from support import eventually, new_repo

API = "/api/v1"


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
            headers = {"X-Forwarded-For": f"198.51.100.{number}, 203.0.113.7"}
            expected = 401 if number == 0 else 429
            assert server.ask("GET", f"{API}/pages", key="wrong", headers=headers).status == expected
        reported_headers = {"X-Forwarded-For": "203.0.113.7, 198.51.100.9"}
        assert server.ask("GET", f"{API}/pages", key="wrong", headers=reported_headers).status == 401


def test_without_a_proxy_nobody_chooses_an_address(tmp_path: Path) -> None:
    with limited(tmp_path, key="secret") as server:
        reported_values = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(3)]
        answers = [
            server.ask("GET", f"{API}/pages", key="wrong", headers=reported_value).status
            for reported_value in reported_values
        ]
        assert answers == [401, 429, 429]


def test_bodies_that_callers_leave_unfinished_have_a_total_size(tmp_path: Path) -> None:
    mib = 1024 * 1024
    head = {"Content-Type": "application/json", "Content-Length": str(16 * mib)}
    with served(new_repo(tmp_path / "base", {"a.md": "# A\n"}).path) as server, ExitStack() as stack:
        opened = [stack.enter_context(server.connect()) for _ in range(5)]
        for connection in opened:
            connection.sendall(request("POST", "/mcp", head) + b" " * (15 * mib))
        (refused, *_), _, _ = select.select(opened, [], [], TIMEOUT)
        answer = refused.recv(65_536)
        assert statuses(answer) == [429]
        assert b"retry-after: 2\r\n" in answer.lower()
        for connection in opened:
            connection.close()
        eventually(lambda: server.ask("GET", "/api/v1/pages").status == 200)
        with server.connect() as connection:
            connection.sendall(request("POST", "/mcp", head) + b" " * (16 * mib))
            assert statuses(connection.recv(65_536)) == [400]
