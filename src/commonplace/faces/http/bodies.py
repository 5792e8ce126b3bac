"""Reading of a request's body: completely, within its size limit and timeout, before it is processed."""

from __future__ import annotations

import anyio
from starlette.types import Message, Receive

from commonplace.domain.errors import TooLargeError, UnavailableError

BODY_TIMEOUT = 30.0
"""Timeout in seconds for the whole body."""


class ClientDisconnectError(Exception):
    """The client disconnected before its request was complete; no response is sent."""


class RequestTimeoutError(UnavailableError):
    """The body timed out: status 408."""


async def buffered_body(receive: Receive, limit: int, declared: str) -> bytes:
    """Read the whole body of a request.

    Args:
        receive: ASGI `receive` of the request.
        limit: Maximum size in bytes.
        declared: Value of `Content-Length`; "" if absent.

    Raises:
        TooLargeError: the declared or actual size is over the limit.
        RequestTimeoutError: the body did not arrive within `BODY_TIMEOUT`.
        ClientDisconnectError: the client disconnected.
    """
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
        raise _too_large(limit)
    body = bytearray()
    with anyio.move_on_after(BODY_TIMEOUT) as scope:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnectError
            body += message.get("body", b"")
            if len(body) > limit:
                raise _too_large(limit)
            if not message.get("more_body"):
                break
    if scope.cancelled_caught:
        raise RequestTimeoutError("The request took too long to arrive.", kind="body", hint="Send it at once.")
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the buffered body and then the rest of the request."""
    given = False

    async def again() -> Message:
        """Return the body at the first call, later messages after it."""
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large(limit: int) -> TooLargeError:
    if not limit:
        return TooLargeError(
            "Nothing at this address takes a body.", kind="body", hint="Check the path and the method."
        )
    return TooLargeError(f"The body is over the limit of {limit:,} bytes.", kind="body", hint="Send less at a time.")
