"""Whom the guard counts."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import anyio
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cases import each_case
from commonplace.faces.access.authentication import Authenticator, KeyStore
from commonplace.faces.access.callers import RateLimiter, client_address
from commonplace.faces.http.guard import Guard, RouteRules, allowed_hosts_of

RULES = RouteRules(lambda _: 100, lambda _: False)


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _asked(
    guard: Guard,
    peer: str,
    app: ASGIApp = _app,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    rules: RouteRules = RULES,
) -> int:
    """The status of a request from an address."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "client": (peer, 1)}
    scope["headers"] = [(b"host", b"127.0.0.1"), *headers]
    anyio.run(guard.handle, app, rules, scope, receive, send)
    (status,) = statuses
    return status


def test_only_this_machine_is_not_counted_and_only_where_no_limit_was_chosen(tmp_path: Path) -> None:
    gate = Authenticator(KeyStore(tmp_path), always_closed=False)
    for spares, expected in ((True, [200, 200, 200]), (False, [200, 200, 429])):
        guard = Guard(allowed_hosts_of("127.0.0.1", None), gate, RateLimiter(2), spares_loopback=spares)
        assert [_asked(guard, "127.0.0.1") for _ in range(3)] == expected
        assert [_asked(guard, "203.0.113.7") for _ in range(3)] == [200, 200, 429]
        assert _asked(guard, "203.0.113.8") == 200


@each_case(
    ("peer", "forwarded", "address"),
    [
        ("8.8.8.8", "", "8.8.8.8"),
        ("8.8.8.8", "198.51.100.9", "8.8.8.8"),
        ("127.0.0.1", "198.51.100.9", "198.51.100.9"),
        ("172.17.0.1", "192.0.2.1, 198.51.100.9", "198.51.100.9"),
        ("127.0.0.1", "198.51.100.9, unknown", "127.0.0.1"),
        ("2001:db9::1:2:3:4", "", "2001:db9::/64"),
        ("::ffff:203.0.113.7", "", "203.0.113.7"),
        ("", "198.51.100.9", ""),
    ],
)
def test_the_address_that_is_counted(peer: str, forwarded: str, address: str) -> None:
    assert client_address(peer, forwarded) == address


def test_a_route_that_needs_no_key_may_count_for_its_address(tmp_path: Path) -> None:
    gate = Authenticator(KeyStore(tmp_path), always_closed=True)
    guard = Guard(allowed_hosts_of("127.0.0.1", None), gate, RateLimiter(50))
    rules = RouteRules(lambda _: 100, lambda _: True, cost=lambda _: 20)
    assert [_asked(guard, "203.0.113.7", rules=rules) for _ in range(3)] == [200, 200, 429]
    assert _asked(guard, "203.0.113.8", rules=rules) == 200


@pytest.mark.parametrize(
    ("peer", "proxies", "believed"),
    [
        ("127.0.0.1", (), True),
        ("::1", (), True),
        ("8.8.8.8", (), False),
        ("10.1.2.3", ("10.0.0.0/8",), True),
        ("::ffff:10.1.2.3", ("10.0.0.0/8",), True),
        ("127.0.0.1", ("10.0.0.0/8",), False),
        ("", (), False),
    ],
)
def test_only_proxies_are_believed(peer: str, proxies: tuple[str, ...], believed: bool, tmp_path: Path) -> None:
    gate = Authenticator(KeyStore(tmp_path), always_closed=False)
    networks = tuple(map(ip_network, proxies))
    guard = Guard(allowed_hosts_of("127.0.0.1", None), gate, RateLimiter(0), proxies=networks)
    seen: list[bool] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(any(name == b"x-forwarded-proto" for name, _ in scope["headers"]))
        await _app(scope, receive, send)

    assert _asked(guard, peer, app, ((b"x-forwarded-proto", b"https"),)) == 200
    assert seen == [believed]
    address = client_address(peer, "192.0.2.1, 198.51.100.9, 10.9.9.9", networks)
    assert (address == peer) != believed
    if proxies and believed:
        assert address == "198.51.100.9", "behind the named proxies"
