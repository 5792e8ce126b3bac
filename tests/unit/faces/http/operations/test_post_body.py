"""A route that takes one POST answers everything else itself."""

from __future__ import annotations

import json

import anyio
import pytest
from starlette.types import Message

from commonplace.faces.http.operations import post_body


def asked(method: str, path: str) -> tuple[bytes | None, list[Message]]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"signed", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> bytes | None:
        return await post_body("/hooks/git", {"type": "http", "path": path, "method": method}, receive, send)

    return anyio.run(run), sent


def test_the_body_of_a_post_is_given_and_nothing_is_answered() -> None:
    assert asked("POST", "/hooks/git") == (b"signed", [])


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/hooks/git", 405, "method"),
        ("PUT", "/hooks/git", 405, "method"),
        ("POST", "/hooks/git/", 404, "url"),
        ("POST", "/hooks/git/more", 404, "url"),
    ],
)
def test_anything_else_is_answered_as_what_it_is(method: str, path: str, status: int, kind: str) -> None:
    body, (start, content) = asked(method, path)
    assert body is None
    assert start["status"] == status
    assert json.loads(content["body"])["kind"] == kind
    assert ((b"allow", b"POST") in start["headers"]) == (status == 405)
