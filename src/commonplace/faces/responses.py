"""JSON responses and errors over HTTP, the same for every route."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.types import Send

from commonplace.domain.errors import Code, ConflictError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.call_log import current_request
from commonplace.faces.errors import error_mapping

Headers = Sequence[tuple[str, str]]
_SAFE_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)
"""Headers of every JSON response, so that no browser stores, sniffs, frames or executes it."""


async def send_json(send: Send, status: int, value: Json, headers: Headers = (), *, with_body: bool = True) -> None:
    """Send a JSON response.

    Args:
        send: ASGI `send` of the request.
        status: HTTP status.
        value: The value to encode.
        headers: Additional headers.
        with_body: False for HEAD.
    """
    await send_body(send, status, json_bytes(value), headers, with_body=with_body)


async def send_body(
    send: Send,
    status: int,
    body: bytes,
    headers: Headers = (),
    *,
    with_body: bool = True,
    media_type: str = "application/json",
) -> None:
    """Send a response that is already encoded.

    Args:
        send: ASGI `send` of the request.
        status: HTTP status.
        body: The encoded body.
        headers: Additional headers.
        with_body: False for HEAD.
        media_type: Media type of the body.
    """
    raw = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        *_SAFE_HEADERS,
        *_encoded(headers),
    ]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body if with_body else b""})


async def send_bytes(
    send: Send, status: int, body: bytes, media_type: str, headers: Headers = (), *, with_body: bool = True
) -> None:
    """Send a file's bytes as an attachment, so that no browser displays, sniffs or executes them.

    Args:
        send: ASGI `send` of the request.
        status: HTTP status.
        body: The bytes.
        media_type: Media type of the bytes.
        headers: Additional headers.
        with_body: False for HEAD.
    """
    own = (("content-type", media_type), ("content-length", str(len(body))), ("content-disposition", "attachment"))
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*_encoded(own), *_SAFE_HEADERS, *_encoded(headers)],
        }
    )
    await send({"type": "http.response.body", "body": body if with_body else b""})


def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), text.encode("latin-1", "replace")) for name, text in headers]


async def send_empty(send: Send, status: int, headers: Headers = ()) -> None:
    """Send a response without a body, such as 304.

    Args:
        send: ASGI `send` of the request.
        status: HTTP status of a response without a body.
        headers: Additional headers.
    """
    await send({"type": "http.response.start", "status": status, "headers": [*_SAFE_HEADERS, *_encoded(headers)]})
    await send({"type": "http.response.body", "body": b""})


async def send_error(send: Send, error: KnowledgeError, *, status: int = 0, headers: Headers = ()) -> None:
    """Send an error response.

    Args:
        send: ASGI `send` of the request.
        error: The error.
        status: HTTP status; 0 for the status of the error's code.
        headers: Additional headers. `Retry-After` is added for retryable errors.
    """
    if (request := current_request()) is not None:
        request.fail(error)
    more = [*headers, *retry_headers(error).items()]
    await send_json(send, status or error_mapping(error).http, error_json(error), more)


def retry_headers(error: KnowledgeError) -> dict[str, str]:
    """The header `retry-after`, in seconds, of the answer to an error that passes; {} for any other."""
    retry_after = error.context.get("retry_after")
    if isinstance(retry_after, int):
        return {"retry-after": str(retry_after)}
    return {"retry-after": "2"} if error_mapping(error).retryable else {}


def error_json(error: KnowledgeError) -> JsonObject:
    """The error as a JSON object: always `error` and `code`, and the details that the error has."""
    shown: dict[str, Json] = {"error": str(error), "code": error.code.value}
    if error.kind:
        shown["kind"] = error.kind
    if error.hint:
        shown["hint"] = error.hint
    for name in ("nearest", "reference"):
        if error.context.get(name):
            shown[name] = error.context[name]
    if error.code in {Code.CONFLICT, Code.PRECONDITION} or error.context.get("current_revision"):
        shown["current_revision"] = error.context.get("current_revision") or None
    if isinstance(error, ConflictError) and error.changes:
        shown["changes"] = list(error.changes)
    return shown


def json_bytes(value: Json) -> bytes:
    """JSON in UTF-8. A lone surrogate, which YAML can express and UTF-8 cannot, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
