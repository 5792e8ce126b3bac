"""Routes that take one POST without a key: the body is authenticated by whoever reads it."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.faces.responses import send_error


async def post_body(path: str, scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """The body of a POST to a path; None if the request is another one, which is answered here.

    Args:
        path: The one path of the route.
        scope: The request. The size of its body has been checked, and it arrives in one message.
        receive: Its body.
        send: Where the answer goes.
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
