"""Reading of a request's body: completely, within its size limit and timeout, before it is processed."""

from __future__ import annotations

from collections import Counter

import anyio
from starlette.types import Message, Receive

from commonplace.domain.errors import RateLimitedError, TooLargeError, UnavailableError

BODY_TIMEOUT = 30.0
"""Timeout in seconds for the whole body."""

MAX_OF_CALLER = 64 * 1024 * 1024
"""Maximum size in bytes of the unfinished bodies of one caller, in one process."""
MAX_OF_ALL = 256 * 1024 * 1024
"""Maximum size in bytes of the unfinished bodies of all callers, in one process."""
RETRY_SECONDS = 2
"""Seconds after which a caller may send a refused body again."""


class ClientDisconnectError(Exception):
    """The client disconnected before its request was complete; no response is sent."""


class RequestTimeoutError(UnavailableError):
    """The body timed out: status 408."""


class UnfinishedBodies:
    """The sizes of the bodies that are being received in this process, by caller."""

    def __init__(self) -> None:
        self._sizes: Counter[str] = Counter()
        self._total = 0

    def add(self, caller: str, size: int) -> None:
        """Count bytes that were received.

        Raises:
            RateLimitedError: the caller's bodies exceed `MAX_OF_CALLER`. The bytes count until they are removed.
            UnavailableError: the bodies of all callers exceed `MAX_OF_ALL`; the same holds.
        """
        self._sizes[caller] += size
        self._total += size
        if self._sizes[caller] > MAX_OF_CALLER:
            raise RateLimitedError(
                f"The unfinished bodies of your requests are over the limit of {MAX_OF_CALLER:,} bytes in all.",
                kind="body",
                hint=f"Send fewer at a time: wait {RETRY_SECONDS} s, and send this one again.",
                retry_after=RETRY_SECONDS,
            )
        if self._total > MAX_OF_ALL:
            raise UnavailableError(
                "The server receives too many large bodies at the moment.",
                kind="body",
                hint=f"Send it again after {RETRY_SECONDS} s.",
                retry_after=RETRY_SECONDS,
            )

    def remove(self, caller: str, size: int) -> None:
        """Stop counting the bytes of a body that is complete or given up."""
        self._total -= size
        self._sizes[caller] -= size
        if not self._sizes[caller]:
            del self._sizes[caller]


async def buffered_body(
    receive: Receive, limit: int, declared: str, unfinished: UnfinishedBodies, caller: str
) -> bytes:
    """The body of a request.

    Args:
        receive: Of the ASGI request.
        limit: Bytes.
        declared: `Content-Length`, or "".
        unfinished: Counts the body until it is complete.
        caller: For whom the body counts.

    Raises:
        TooLargeError: it is, or says that it is, over the limit.
        RateLimitedError: the caller's unfinished bodies are too large together.
        UnavailableError: the unfinished bodies of all callers are.
        RequestTimeoutError: it takes too long.
        ClientDisconnectError: the client went away.
    """
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > limit:
        raise _too_large(limit)
    counted = 0
    body = bytearray()
    try:
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
                before, counted = counted, len(body)
                unfinished.add(caller, counted - before)
    finally:
        unfinished.remove(caller, counted)
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
