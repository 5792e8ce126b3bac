"""Messages are checked before the SDK sees them, and its refusals are told as all others are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from cases import each_case
from commonplace.faces.mcp.transports.http import checked, in_json


def looked_at(body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()) -> tuple[list[Any], Any]:
    """The messages that the SDK receives, and the error that is sent instead."""
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": list(headers)}
    messages = [{"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"}]

    async def receive() -> Any:
        return messages.pop(0)

    async def run() -> tuple[list[Any], Any]:
        again, error = await checked(scope, receive)
        return [await again(), await again()], error

    return anyio.run(run)


def test_a_good_message_reaches_the_sdk_as_it_came() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    received, error = looked_at(body)
    assert error is None
    assert received[0]["body"] == body
    assert received[1] == {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("body", "code"), [(b"{", -32700), (b"[]", -32600), (b'{"jsonrpc":"1.0","id":7,"method":"x"}', -32600)]
)
def test_a_message_that_is_none_is_answered_with_an_error_of_json_rpc(body: bytes, code: int) -> None:
    _, error = looked_at(body)
    assert (error["jsonrpc"], error["error"]["code"]) == ("2.0", code)


def test_text_that_is_none_is_refused_by_the_transport_only_in_the_older_era() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\\ud800"}}'
    assert looked_at(body)[1] is not None
    assert looked_at(body, [(b"mcp-protocol-version", b"2025-06-18")])[1] is not None
    assert looked_at(body, [(b"mcp-protocol-version", b"2026-07-28")])[1] is None


def sent(status: int, body: bytes, content_type: bytes, **headers: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    """The bytes sent for a response of the SDK."""
    out: list[Any] = []

    async def send(message: Any) -> None:
        out.append(message)

    async def run() -> None:
        through = in_json(send)
        content_types = [(b"content-type", content_type), *((name.encode(), value) for name, value in headers.items())]
        await through({"type": "http.response.start", "status": status, "headers": content_types})
        await through({"type": "http.response.body", "body": body, "more_body": False})

    anyio.run(run)
    start, *bodies = out
    return start["status"], dict(start["headers"]), b"".join(body.get("body", b"") for body in bodies)


def test_an_answer_and_an_error_in_json_go_out_as_they_are() -> None:
    assert sent(200, b"text", b"text/plain")[2] == b"text"
    assert sent(400, b'{"jsonrpc":"2.0"}', b"application/json; charset=utf-8")[2] == b'{"jsonrpc":"2.0"}'


@each_case(
    ("status", "said"), [(404, "no such session"), (405, "does not take this method"), (406, "accepts no type"),
                         (415, "not declared to be JSON"), (400, "names no session")]
)  # fmt: skip
def test_a_refusal_of_http_s_own_is_told_in_json_with_what_to_do(status: int, said: str) -> None:
    found_number, headers, body = sent(status, b"Plain words", b"text/plain", allow=b"GET, POST")
    assert found_number == status
    assert headers[b"content-type"] == b"application/json"
    assert said in body.decode()
    assert b"Plain words" not in body
    assert json.loads(body)
    assert headers.get(b"allow", b"GET, POST") == b"GET, POST"


def test_what_a_url_takes_is_told_in_the_header_and_in_the_hint() -> None:
    _, headers, body = sent(405, b"", b"application/json", allow=b"GET")
    assert headers[b"allow"] == b"GET"
    assert b"It takes GET." in body
