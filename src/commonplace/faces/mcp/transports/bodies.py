"""Wrappers around the SDK's HTTP transports: messages are checked first, refusals of the SDK become our JSON."""

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
        receive: Of the request, whose body the guard has taken in whole.

    Returns:
        What receives the request for the SDK, and the JSON-RPC error that answers it instead, if one does.
    """
    first = await receive()
    given = False

    async def again() -> Message:
        """The bytes received before, then the rest."""
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
    """A `send` that turns HTTP refusals of the SDK, and those that are not JSON, into this server's JSON."""
    replaced = False

    async def sent(message: Message) -> None:
        """Send a message, or our refusal in the place of the SDK's."""
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
    """Whether the SDK serves a request as of the newer era, in which arguments that are no text are a tool's error."""
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
