"""Routes for a POST without a key, whose handler authenticates the body."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.faces.responses import send_error


async def post_body(path: str, scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """The body of a POST to `path`. Any other request gets an error response, and the result is None.

    Args:
        path: The only path of the route.
        scope: The request. Its body has a checked size and arrives in one message.
        receive: ASGI `receive` of the request.
        send: ASGI `send` of the request.
    """
    if scope["path"] != path:
        await send_error(send, NotFoundError("There is nothing at this URL.", kind="url"))
        return None
    if scope["method"] != "POST":
        error = InvalidInputError("This URL does not take this method.", kind="method", hint="It takes POST.")
        await send_error(send, error, status=405, headers=(("allow", "POST"),))
        return None
    body: bytes = (await receive()).get("body", b"")
    return body
