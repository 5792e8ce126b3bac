"""MCP over HTTP: the streamable transport of both eras at `/mcp` and `/mcp/<toolset>`, and the older SSE transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from commonplace.domain.errors import ForbiddenError, InvalidInputError, NotFoundError
from commonplace.faces.access.callers import Caller, caller_of, with_owner, without_owner
from commonplace.faces.mcp.sdk import McpServer
from commonplace.faces.mcp.toolset import PROPOSE
from commonplace.faces.mcp.transports.bodies import checked, in_json
from commonplace.faces.mcp.transports.large_answers import without_large_events
from commonplace.faces.responses import send_error, send_json
from commonplace.settings import Tier

MAX_BODY = 16 * 1024 * 1024
"""Maximum size of a message in bytes: enough for an attachment of 10 MB in base64."""
MAX_SESSIONS = 1000
IDLE_SECONDS = 30 * 60.0
"""Idle time in seconds after which a session ends."""
MESSAGES = "/messages"
ENDLESS = "subscriptions/listen"
"""Method whose response is a stream that ends only when client or server closes it."""

BuildServer = Callable[[str, Tier], McpServer]
"""Returns the server for a toolset's name and a tier."""


@dataclass(frozen=True, slots=True)
class ServedToolsets:
    """The toolsets that are served over HTTP."""

    toolsets: Sequence[str]
    default: str
    build: BuildServer
    default_tier: Callable[[str], Tier]
    """Returns a toolset's default tier."""
    proposes: Callable[[str], bool]
    """Whether a toolset takes proposals."""
    confined: frozenset[str]
    """Toolsets that respect a caller's collections. A caller with limited collections may use only these."""


@dataclass(slots=True)
class _Streams:
    """Open responses without an end of their own, so that a shutdown can end them."""

    ending: bool = False
    open: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    def end(self) -> None:
        self.ending = True
        for scope in self.open:
            scope.cancel()

    @asynccontextmanager
    async def member(self, send: Send) -> AsyncGenerator[None]:
        with anyio.CancelScope() as scope:
            self.open.add(scope)
            try:
                yield
            finally:
                self.open.discard(scope)
        if scope.cancelled_caught:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class StreamableHttpTransport:
    """`/mcp` and `/mcp/<toolset>`: one session manager for each toolset and tier, created on first use.

    Args:
        offer: The toolsets.
        prefix: Path prefix of the URLs.
        worker: Number of this process if it is one of several workers, for the ids of its sessions.
    """

    def __init__(self, offer: ServedToolsets, prefix: str = "/mcp", worker: int | None = None) -> None:
        self._served = offer
        self._prefix = prefix
        self._worker = worker
        self._managers: dict[tuple[str, Tier], StreamableHTTPSessionManager] = {}
        self._streams = _Streams()
        self._tasks: TaskGroup | None = None
        self._making = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        toolset = _toolset(self._served, scope["path"], self._prefix)
        if toolset is None:
            await send_error(send, _unknown(self._served, self._prefix))
            return
        tier = _tier(self._served, toolset, scope)
        if isinstance(tier, ForbiddenError):
            await send_error(send, tier)
            return
        send = in_json(send)
        if self._worker is not None:
            scope, send = without_owner(scope, self._worker), with_owner(send, self._worker)
        if scope["method"] == "POST":
            send = without_large_events(send)
            receive, malformed = await checked(scope, receive)
            if malformed is not None:
                await send_json(send, 400, malformed)
                return
        manager = self._managers.get((toolset, tier)) or await self._made(toolset, tier)
        if not _is_endless(scope):
            await manager.handle_request(scope, receive, send)
            return
        async with self._streams.member(send):
            await manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Run the sessions; all end when the context exits."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            yield
            tasks.cancel_scope.cancel()

    def end_streams(self) -> None:
        """End streams without an end of their own. Answers to calls are completed."""
        self._streams.end()

    async def _made(self, toolset: str, tier: Tier) -> StreamableHTTPSessionManager:
        async with self._making:
            found = self._managers.get((toolset, tier))
            if found is not None:
                return found
            assert self._tasks is not None, "a request came before the lifespan"  # noqa: S101
            server = self._served.build(toolset, tier)
            manager = StreamableHTTPSessionManager(
                server, max_request_body_size=MAX_BODY, max_sessions=MAX_SESSIONS, session_idle_timeout=IDLE_SECONDS
            )
            await self._tasks.start(_run, manager)
            self._managers[toolset, tier] = manager
            return manager


class SseTransport:
    """The older SSE transport: a stream at one path, and a second path for posted messages."""

    def __init__(self, offer: ServedToolsets, prefix: str) -> None:
        self._served = offer
        self._prefix = prefix
        self._transport = SseServerTransport(prefix + MESSAGES, max_request_body_size=MAX_BODY)
        self._servers: dict[tuple[str, Tier], McpServer] = {}
        self._streams = _Streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope["path"]
        if path == self._prefix + MESSAGES:
            _identify(scope)
            await self._post(scope, receive, in_json(send))
            return
        toolset = _toolset(self._served, path, self._prefix)
        if toolset is None:
            await send_error(send, _unknown(self._served, self._prefix))
        elif scope["method"] != "GET":
            error = InvalidInputError("This URL takes GET.", kind="method", hint="Post messages where the stream says.")
            await send_error(send, error, status=405, headers=(("allow", "GET"),))
        else:
            await self._stream(toolset, scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            receive, malformed = await checked(scope, receive)
            if malformed is not None:
                await send_json(send, 400, malformed)
                return
        await self._transport.handle_post_message(scope, receive, send)

    def end_streams(self) -> None:
        """End all streams."""
        self._streams.end()

    async def _stream(self, toolset: str, scope: Scope, receive: Receive, send: Send) -> None:
        tier = _tier(self._served, toolset, scope)
        if isinstance(tier, ForbiddenError):
            await send_error(send, tier)
            return
        server = self._servers.get((toolset, tier)) or self._served.build(toolset, tier)
        self._servers[toolset, tier] = server
        async with self._streams.member(send), self._transport.connect_sse(scope, receive, send) as (read, write):
            await server.run(read, write, server.create_initialization_options())


def max_body(_: Scope) -> int:
    """Maximum size of a message in bytes."""
    return MAX_BODY


async def _run(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _toolset(offer: ServedToolsets, path: str, prefix: str) -> str | None:
    name = path.removeprefix(prefix).strip("/") or offer.default
    return name if name in offer.toolsets else None


def _unknown(offer: ServedToolsets, prefix: str) -> NotFoundError:
    return NotFoundError(
        "There is no such toolset.", kind="toolset", hint=f"There is {prefix} and {prefix}/{', '.join(offer.toolsets)}."
    )


def _tier(offer: ServedToolsets, toolset: str, scope: Scope) -> Tier | ForbiddenError:
    """The tier at which a toolset is served to the caller; an error if the caller may not use the toolset."""
    caller = _identify(scope)
    if caller.collections is not None and toolset not in offer.confined:
        return _not_confined(toolset)
    if caller.tier == PROPOSE and not offer.proposes(toolset):
        return ForbiddenError(
            f"The toolset {toolset} takes no proposals.", kind="toolset", hint="Use another toolset, or another key."
        )
    return offer.default_tier(toolset) if caller.is_default else caller.tier


def _identify(scope: Scope) -> Caller:
    """The caller. Also passed to the SDK, which refuses to let a caller use another caller's session."""
    caller = caller_of(scope)
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.id, scopes=[]))
    return caller


def _not_confined(toolset: str) -> ForbiddenError:
    return ForbiddenError(
        f"The toolset {toolset} is for keys of all collections.", kind="toolset", hint="Use another toolset or key."
    )


def _is_endless(scope: Scope) -> bool:
    return scope["method"] == "GET" or Headers(scope=scope).get("mcp-method") == ENDLESS
