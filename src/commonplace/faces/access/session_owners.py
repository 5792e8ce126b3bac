"""The worker that holds an MCP session: its number follows the session's id, as in `0f3a….2`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.types import Message, Scope, Send

HEADER = b"mcp-session-id"
_OWNED = re.compile(rb"(.+)\.([0-9]{1,18})", re.DOTALL)
_HEAD_LINE = re.compile(rb"\r\nmcp-session-id:[ \t]*[!-~]+\.([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)


def owner_in(head: bytes) -> int | None:
    """The worker that holds the session of a request; None if the request names no session of a worker.

    Args:
        head: Line and headers of the request, with the empty line behind them.
    """
    found = _HEAD_LINE.search(head)
    return int(found[1]) if found else None


def without_owner(scope: Scope, worker: int) -> Scope:
    """A request as the holder of its session knows it.

    An id that names another worker stays as it is: no session has it, which is what its client is to be told.
    """
    return {
        **scope,
        "headers": [(name, _plain(value, worker) if name == HEADER else value) for name, value in _of(scope)],
    }


def with_owner(send: Send, worker: int) -> Send:
    """A `send` that appends the worker's number to the session id in answers."""
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
