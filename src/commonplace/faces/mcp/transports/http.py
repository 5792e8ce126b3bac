"""MCP over HTTP: the streamable transport of both eras at `/mcp` and `/mcp/<toolset>`, and the older SSE transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from commonplace.domain.errors import ForbiddenError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.faces.access.callers import Caller, caller_of, with_owner, without_owner
from commonplace.faces.mcp.sdk import McpServer
from commonplace.faces.mcp.toolset import PROPOSE
from commonplace.faces.mcp.transports.messages import MessageError, check_message
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
            streamable_http_session_manager = self._managers.get((toolset, tier))
            if streamable_http_session_manager is not None:
                return streamable_http_session_manager
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
            f"The toolset {toolset} takes no proposals.",
            kind="toolset",
            hint="Use the toolset notes, kb or wiki, or another key.",
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


# Wrappers around the SDK's HTTP transports: they check messages first and convert the SDK's errors to JSON.


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
    is_replayed = False

    async def again() -> Message:
        """Replay the message that was read before, then pass on the rest."""
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
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


# Answers that are too large for one event of a stream: sent as the JSON of the response instead.


MAX_EVENT = 1_000_000
"""Maximum size in bytes of an event of a stream. The MCP SDK for Python refuses those over 1,048,576 bytes unless told
otherwise (`DEFAULT_MAX_SSE_EVENT_SIZE` in `mcp.client.streamable_http`), and reads JSON of any size."""
STREAM = "text/event-stream"


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
