"""Wrappers around the SDK's HTTP transports: they check messages first and convert the SDK's errors to JSON."""

from __future__ import annotations

from typing import cast

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.faces.mcp.transports.messages import MessageError, check_message
from commonplace.faces.responses import send_error

JSON = "application/json"
NOT_FOUND, NO_METHOD, NOT_ACCEPTABLE, UNSUPPORTED = 404, 405, 406, 415
FIRST_ERROR = 400


async def checked(scope: Scope, receive: Receive) -> tuple[Receive, JsonObject | None]:
    """Check the message of a POST.

    Args:
        scope: The request.
        receive: ASGI `receive` of the request; the guard has already read the whole body.

    Returns:
        A `receive` that replays the request for the SDK, and a JSON-RPC error to send instead, or None.
    """
    first = await receive()
    given = False

    async def again() -> Message:
        """Replay the message that was read before, then pass on the rest."""
        nonlocal given
        if given:
            return await receive()
        given = True
        return first

    try:
        check_message(first.get("body", b""), surrogates=_is_newer(scope))
    except MessageError as error:
        return again, cast("JsonObject", error.answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
    return again, None


def in_json(send: Send) -> Send:
    """A `send` that replaces the SDK's HTTP errors, and errors that are not JSON, by this server's JSON errors."""
    replaced = False

    async def sent(message: Message) -> None:
        """Send a message, or this server's error instead of the SDK's."""
        nonlocal replaced
        if message["type"] == "http.response.start":
            status, headers = int(message["status"]), Headers(raw=message.get("headers", []))
            is_json = headers.get("content-type", "").partition(";")[0] == JSON
            if status >= FIRST_ERROR and (not is_json or status in {NO_METHOD, NOT_ACCEPTABLE, UNSUPPORTED}):
                replaced = True
                allowed = headers.get("allow", "")
                more = (("allow", allowed),) if allowed else ()
                await send_error(send, _error(status, allowed), status=status, headers=more)
        if not replaced:
            await send(message)

    return sent


def _is_newer(scope: Scope) -> bool:
    """Whether the SDK serves a request as of the newer era, in which invalid Unicode in arguments is a tool error."""
    version = Headers(scope=scope).get("mcp-protocol-version")
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


def _error(status: int, allowed: str) -> KnowledgeError:
    if status == NO_METHOD:
        return InvalidInputError("This URL does not take this method.", kind="method", hint=f"It takes {allowed}.")
    if status == NOT_ACCEPTABLE:
        return InvalidInputError(
            "The request accepts no type in which it can be answered.",
            kind="accept",
            hint=f"Send Accept: {JSON}, text/event-stream.",
        )
    if status == UNSUPPORTED:
        return InvalidInputError(
            "The body is not declared to be JSON.", kind="content-type", hint=f"Send it with Content-Type: {JSON}."
        )
    if status == NOT_FOUND:
        return NotFoundError("There is no such session.", kind="session", hint="Open a stream, and post where it says.")
    return InvalidInputError(
        "The request names no session.", kind="session", hint="Post where the first event of the stream says."
    )
