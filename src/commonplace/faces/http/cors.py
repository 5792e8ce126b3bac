"""Cross-origin resource sharing: pages of allowed origins can read responses (Fetch, 3.3)."""

from __future__ import annotations

import re

from starlette.datastructures import Headers
from starlette.types import Message, Send

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
EXPOSED = "Allow, ETag, Mcp-Session-Id, Retry-After, WWW-Authenticate"
MAX_AGE = "600"
"""Seconds for which a browser may cache the response to a preflight."""
_HEADER_NAMES = re.compile(r"[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*", re.ASCII)
_MAX_NAMES = 1_000
"""Maximum characters of the list of requested headers."""


def is_preflight(method: str, headers: Headers) -> bool:
    """Whether a request is a preflight."""
    return method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


async def send_preflight(send: Send, headers: Headers) -> None:
    """Permit the request of a preflight; `shared` adds the origin."""
    wanted = headers.get("access-control-request-headers", "")
    answer = [
        ("access-control-allow-methods", METHODS),
        ("access-control-max-age", MAX_AGE),
        ("vary", "Access-Control-Request-Headers"),
    ]
    if len(wanted) <= _MAX_NAMES and _HEADER_NAMES.fullmatch(wanted):
        answer.append(("access-control-allow-headers", wanted))
    raw = [(name.encode(), value.encode()) for name, value in answer]
    await send({"type": "http.response.start", "status": 204, "headers": raw})
    await send({"type": "http.response.body", "body": b""})


def shared(send: Send, origin: str) -> Send:
    """A `send` that lets pages of an origin read the response."""
    added = [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED.encode()),
        (b"vary", b"Origin"),
    ]

    async def with_headers(message: Message) -> None:
        """Send a message; the first one gets the headers of CORS."""
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return with_headers
