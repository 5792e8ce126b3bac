"""Answers over the size that clients accept as one event of a stream."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from commonplace.faces.mcp.transports.http import MAX_EVENT, without_large_events

LARGE = b"x" * MAX_EVENT
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"mcp-session-id", b"s1"),
    (b"x-accel-buffering", b"no"),
]


def sent(*events: bytes, headers: list[tuple[bytes, bytes]] = HEADERS) -> tuple[dict[bytes, bytes], list[bytes]]:
    """The headers and the bodies that go out for a response of these events."""
    out: list[Any] = []

    async def send(message: Any) -> None:
        out.append(message)

    async def run() -> None:
        through = without_large_events(send)
        await through({"type": "http.response.start", "status": 200, "headers": headers})
        for event in events:
            await through({"type": "http.response.body", "body": event, "more_body": True})
        await through({"type": "http.response.body", "body": b"", "more_body": False})

    anyio.run(run)
    start, *bodies = out
    assert [body["more_body"] for body in bodies][-1] is False
    return dict(start["headers"]), [body["body"] for body in bodies if body["body"]]


def event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


@pytest.mark.parametrize("key", [b"result", b"error"])
def test_a_large_answer_is_json_with_the_headers_of_its_session(key: bytes) -> None:
    answer = b'{"jsonrpc":"2.0","id":"a1","' + key + b'":{"text":"' + LARGE + b'"}}'
    headers, bodies = sent(event(answer))
    assert bodies == [answer]
    assert headers == {
        b"content-type": b"application/json",
        b"mcp-session-id": b"s1",
        b"content-length": str(len(answer)).encode(),
    }


@pytest.mark.parametrize(
    "first", [b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"method":"m","params":{"result":"' + LARGE + b'"},"id":3}']
)
def test_small_answers_and_requests_to_the_client_stay_events(first: bytes) -> None:
    headers, bodies = sent(event(first))
    assert (headers, bodies) == (dict(HEADERS), [event(first)])


def test_a_stream_that_has_begun_stays_a_stream() -> None:
    events = [
        event(b'{"method":"notifications/progress"}'),
        event(b'{"jsonrpc":"2.0","id":1,"result":"' + LARGE + b'"}'),
    ]
    assert sent(*events) == (dict(HEADERS), events)


def test_other_responses_are_not_changed() -> None:
    plain = [(b"content-type", b"application/json")]
    assert sent(LARGE, LARGE, headers=plain) == (dict(plain), [LARGE, LARGE])
