"""Answers that are too large for one event of a stream: sent as the JSON of the response instead."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

MAX_EVENT = 1_000_000
"""Maximum size in bytes of an event of a stream. The MCP SDK for Python refuses those over 1,048,576 bytes unless told
otherwise (`DEFAULT_MAX_SSE_EVENT_SIZE` in `mcp.client.streamable_http`), and reads JSON of any size."""
STREAM = "text/event-stream"
JSON = "application/json"
ANSWER = (b'"result":', b'"error":')
"""Keys of an answer in JSON-RPC, after its version and id; requests and notifications have `method` there."""
_DATA = b"data: "


def without_large_events(send: Send) -> Send:
    """A `send` for the answer to a POST.

    The head of a stream is held until its first event. If that is the answer itself and over `MAX_EVENT`, the response
    is the answer as JSON. The transport permits either form for each request; a stream that has begun with another
    event, such as progress, stays a stream.
    """
    head: Message | None = None
    replaced = False

    async def sent(message: Message) -> None:
        """Send a message of the response, or hold the head of a stream."""
        nonlocal head, replaced
        if message["type"] == "http.response.start" and _is_stream(message):
            head = message
            return
        if replaced:
            return
        if head is not None:
            begun, head = head, None
            answer = _large_answer(message.get("body", b""))
            if answer is not None:
                replaced = True
                await _send_json(send, begun, answer)
                return
            await send(begun)
        await send(message)

    return sent


def _is_stream(start: Message) -> bool:
    return MutableHeaders(raw=list(start.get("headers", []))).get("content-type", "").startswith(STREAM)


def _large_answer(event: bytes) -> bytes | None:
    """The JSON of the answer that an event holds; None if the event is small or no answer."""
    if len(event) <= MAX_EVENT:
        return None
    data = b"\n".join(line.removeprefix(_DATA) for line in event.splitlines() if line.startswith(_DATA))
    before_params = data.partition(b"{")[2].partition(b"{")[0]
    return data if any(key in before_params for key in ANSWER) else None


async def _send_json(send: Send, start: Message, answer: bytes) -> None:
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["content-type"] = JSON
    headers["content-length"] = str(len(answer))
    del headers["x-accel-buffering"]
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": answer, "more_body": False})
