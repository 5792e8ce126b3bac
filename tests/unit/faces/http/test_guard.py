"""Whom the guard counts."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from commonplace.faces.access.authentication import Authenticator
from commonplace.faces.access.callers import client_address
from commonplace.faces.access.keys import KeyStore
from commonplace.faces.access.rate_limits import RateLimiter
from commonplace.faces.http.allowed_hosts import allowed_hosts_of
from commonplace.faces.http.guard import Guard, RouteRules

RULES = RouteRules(lambda _: 100, lambda _: False)


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _asked(guard: Guard, peer: str) -> int:
    """The status of a request from an address."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"127.0.0.1")], "client": (peer, 1)}
    anyio.run(guard.handle, _app, RULES, scope, receive, send)
    (status,) = statuses
    return status


def test_only_this_machine_is_not_counted_and_only_where_no_limit_was_chosen(tmp_path: Path) -> None:
    gate = Authenticator(KeyStore(tmp_path), always_closed=False)
    for spares, expected in ((True, [200, 200, 200]), (False, [200, 200, 429])):
        guard = Guard(allowed_hosts_of("127.0.0.1", None), gate, RateLimiter(2), spares_loopback=spares)
        assert [_asked(guard, "127.0.0.1") for _ in range(3)] == expected
        assert [_asked(guard, "203.0.113.7") for _ in range(3)] == [200, 200, 429]
        assert _asked(guard, "203.0.113.8") == 200


@pytest.mark.parametrize(
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
