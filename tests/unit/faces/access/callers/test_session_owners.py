"""The owner of a request's session."""

from __future__ import annotations

import anyio
from starlette.types import Message

from cases import each_case
from commonplace.faces.access.callers import owner_in, with_owner, without_owner


@each_case(
    ("head", "owner"),
    [
        (b"POST /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: 0f3a.2\r\n\r\n", 2),
        (b"GET /mcp HTTP/1.1\r\nmcp-session-id:0f.3a.17 \r\nHost: x\r\n\r\n", 17),
        (b"POST /mcp HTTP/1.1\r\nMCP-SESSION-ID: 0f3a\r\n\r\n", None),
        (b"POST /mcp HTTP/1.1\r\nMcp-Session-Id: .2\r\n\r\n", None),
        (b"POST /mcp HTTP/1.1\r\nMcp-Session-Id: a.2 b\r\n\r\n", None),
        (b"POST /mcp HTTP/1.1\r\nMcp-Session-Id: a." + b"9" * 30 + b"\r\n\r\n", None),
        (b"POST /mcp HTTP/1.1\r\nX-Mcp-Session-Id: 0f3a.2\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\n\r\n", None),
    ],
)
def test_the_owner_stands_behind_the_id(head: bytes, owner: int | None) -> None:
    assert owner_in(head) == owner


def test_ids_carry_their_worker_outside_and_are_plain_inside() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def answer() -> None:
        marked = with_owner(send, 3)
        start = {"type": "http.response.start", "status": 200, "headers": [(b"Mcp-Session-Id", b"0f"), (b"a", b"b")]}
        await marked(start)
        await marked({"type": "http.response.body", "body": b"x"})

    anyio.run(answer)
    assert sent[0]["headers"] == [(b"Mcp-Session-Id", b"0f.3"), (b"a", b"b")]
    assert sent[1] == {"type": "http.response.body", "body": b"x"}
    scope = {"type": "http", "headers": [(b"mcp-session-id", b"0f.3"), (b"a", b"b.3")]}
    assert without_owner(scope, 3)["headers"] == [(b"mcp-session-id", b"0f"), (b"a", b"b.3")]
    assert without_owner(scope, 4)["headers"] == scope["headers"], "no session of this worker"
    assert scope["headers"][0] == (b"mcp-session-id", b"0f.3")
