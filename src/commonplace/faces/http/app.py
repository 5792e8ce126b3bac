"""The ASGI application: dispatches requests to parts by path prefix, behind one guard, and runs their lifespans."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.faces.access.callers import TIERS
from commonplace.faces.access.tokens import SCOPE_PREFIX
from commonplace.faces.call_log import RequestRecord, recorded_request
from commonplace.faces.http.guard import Guard, RouteRules
from commonplace.faces.responses import send_error, send_json

log = logging.getLogger(__name__)

SMALL_BODY = 64 * 1024
"""Maximum size in bytes of a request's body for parts that use no body."""
Lifespan = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class MountedApp:
    """An application under a prefix."""

    prefix: str
    """Prefix without a trailing slash; "" for all paths that no other part serves."""
    app: ASGIApp
    rules: RouteRules
    lifespan: Lifespan | None = None
    is_document: bool = False
    """Whether the part is a single document at the prefix."""


def takes(part: MountedApp, path: str) -> bool:
    """Whether a part serves a path."""
    return not part.prefix or path == part.prefix or path.startswith(f"{part.prefix}/")


class App:
    """An ASGI application that dispatches to parts.

    Args:
        parts: Parts in order of precedence.
        guard: Checks every request first.
        probes: Parts below `/health`; they precede all others.
    """

    def __init__(self, parts: Sequence[MountedApp], guard: Guard, probes: Sequence[MountedApp] = ()) -> None:
        self._parts = (*probes, _HEALTH, *parts)
        self._guard = guard
        self._lifespan = Starlette(lifespan=self._running)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope["type"] == "http":
            part = next((part for part in self._parts if takes(part, scope["path"])), _NOTHING)
            if part.is_document and scope["path"] != part.prefix:
                part = _NOTHING
            app = _no_method if part.is_document and scope["method"] not in {"GET", "HEAD"} else part.app
            await self._serve(app, part, scope, receive, send)

    async def _serve(self, app: ASGIApp, part: MountedApp, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        record = RequestRecord(f"{scope['method'][:10]} {part.prefix or '/'}")

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            record.status = message.get("status", record.status)
            record.sent += len(message.get("body", b""))
            await send(message)

        try:
            with recorded_request(record):
                await self._guard.handle(app, part.rules, scope, receive, noted)
        except asyncio.CancelledError:  # shutdown: the grace period for requests is over
            if begun:
                raise
            await send_error(send, _cut_off(scope["method"]))
        except Exception:
            if begun:
                raise
            log.exception("a request failed before it was answered")
            await send_error(send, KnowledgeError("Internal error; the server's log has the details."))

    @asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for part in self._parts:
                if part.lifespan is not None:
                    await stack.enter_async_context(part.lifespan())
            yield


def small_body(_: Scope) -> int:
    """Body limit in bytes for parts that use no body."""
    return SMALL_BODY


async def _health(scope: Scope, receive: Receive, send: Send) -> None:
    del receive
    await send_json(send, 200, {"status": "ok"}, with_body=scope["method"] != "HEAD")


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    error = NotFoundError("There is nothing at this URL.", kind="url", hint="The REST API is at /api/v1, MCP at /mcp.")
    await send_error(send, error)


def _cut_off(method: str) -> KnowledgeError:
    """The error for a request that the server could not finish before its shutdown."""
    if method in {"GET", "HEAD"}:
        return UnavailableError(
            "This server ends and could not finish the request.", kind="ending", hint="Ask again.", retry_after=1
        )
    return KnowledgeError(
        "This server ends and could not finish the request. Whether it took effect is unknown.",
        kind="unknown",
        hint="Read what it was to change before it is sent again.",
    )


async def _no_method(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    error = InvalidInputError("This URL does not take this method.", kind="method", hint="It takes GET and HEAD.")
    await send_error(send, error, status=405, headers=(("allow", "GET, HEAD"),))


_HEALTH = MountedApp("/health", _health, RouteRules(small_body, lambda _: True), is_document=True)
_NOTHING = MountedApp("", _nothing, RouteRules(small_body, lambda _: False))


# Metadata of the protected resource: names the authorization server for clients without a token (RFC 9728).


METADATA = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """The metadata document. Served at its own path, and at that path followed by the resource's path."""

    resource: str
    issuer: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the document."""
        del receive
        document = {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": [f"{SCOPE_PREFIX}{tier}" for tier in TIERS],
            "bearer_methods_supported": ["header"],
        }
        await send_json(send, 200, document, with_body=scope["method"] != "HEAD")
