"""Routing of MCP sessions to workers: a session id ends in the number of its worker, as in `0f3a….2`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.types import Message, Scope, Send

HEADER = b"mcp-session-id"
_OWNED = re.compile(rb"(.+)\.([0-9]{1,18})", re.DOTALL)
_HEAD_LINE = re.compile(rb"\r\nmcp-session-id:[ \t]*[!-~]+\.([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)


def owner_in(head: bytes) -> int | None:
    """The number of the worker that owns the request's session; None if the request has no such session id.

    Args:
        head: Request line and headers, including the final empty line.
    """
    found = _HEAD_LINE.search(head)
    return int(found[1]) if found else None


def without_owner(scope: Scope, worker: int) -> Scope:
    """The request with the worker's number removed from its session id.

    An id of another worker is unchanged: no session has it, so the client gets the error for an unknown session.
    """
    return {
        **scope,
        "headers": [(name, _plain(value, worker) if name == HEADER else value) for name, value in _of(scope)],
    }


def with_owner(send: Send, worker: int) -> Send:
    """Wrap `send` so that session ids in responses end in the worker's number."""
    mark = f".{worker}".encode()

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, value + mark if name.lower() == HEADER else value) for name, value in _of(message)]
            message = {**message, "headers": headers}
        await send(message)

    return sent


def _of(message: Message | Scope) -> Sequence[tuple[bytes, bytes]]:
    return message.get("headers") or ()


def _plain(value: bytes, worker: int) -> bytes:
    found = _OWNED.fullmatch(value)
    return found[1] if found and int(found[2]) == worker else value
