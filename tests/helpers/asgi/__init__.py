"""One request to an ASGI application, in this process: `answer = asked(app, "GET", "/metrics")`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.types import ASGIApp, Message


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of an application."""

    status: int
    headers: dict[str, str]
    """Headers by lower-case name; values of one name are joined with a comma."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def read_answer(messages: list[Message]) -> Answer:
    """The messages of one answer as a value."""
    start, *parts = messages
    assert start["type"] == "http.response.start"
    headers: dict[str, str] = {}
    for name, value in start.get("headers", ()):
        text = value.decode("latin-1")
        headers[name.decode()] = f"{headers[name.decode()]}, {text}" if name.decode() in headers else text
    return Answer(start["status"], headers, b"".join(part.get("body", b"") for part in parts))


def asked(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    scope: Mapping[str, object] | None = None,
) -> Answer:
    """The response of an application to a request for a path, which may have a query.

    `scope` is merged into the ASGI scope.
    """
    path, _, query = path.partition("?")
    given_pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    whole = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode("latin-1"),
        "headers": given_pairs,
        "client": ("127.0.0.1", 1),
        **(scope or {}),
    }
    sent: list[Message] = []
    received = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(received, {"type": "http.disconnect"})

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(app, whole, receive, send)
    return read_answer(sent)
