"""Notifications of clients about changed resources and a changed list of resources.

In the older era, a session subscribes to single resources and always gets notifications of the list. In the newer era,
a client opens one or several streams and states what each reports.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from commonplace.faces.access.callers import caller_of
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.sdk import Context, asgi_scope, at_end, session_of
from commonplace.faces.mcp.toolset import Call, Resources, ResourceSource
from commonplace.services.change_feed import ChangeNotice

WATCHED_TIMEOUT = 20.0
"""Timeout in seconds until file watching is active after a start."""
NOTIFY_TIMEOUT = 5.0
"""Timeout in seconds for sending the notifications of one change to a slow client."""


@dataclass(slots=True)
class _Subscriber:
    """A session of the older era or a stream of the newer era."""

    deliver: Callable[[Sequence[ServerEvent]], None]
    """Delivers events to the client. May be called from any thread; returns at once."""
    sees: frozenset[str] | None
    """The collections that the caller may use; None for all."""
    listing: bool
    """Whether to send changes of the list of resources."""
    client: str
    """The client's name in `Quota`."""
    asked: set[str] = field(default_factory=set[str])
    """The URIs counted in the quota."""
    uris: dict[str, Callable[[], ResourceSource | None]] = field(
        default_factory=dict[str, Callable[[], ResourceSource | None]]
    )
    """Looks up the source of each subscribed URI."""
    known: dict[str, ResourceSource] = field(default_factory=dict[str, ResourceSource])
    """Resolved sources by URI; cached so that the deletion of a document can be reported."""


class SubscriptionManager:
    """Manages subscriptions and sends their notifications.

    Args:
        resources: The toolset's resources.
        runner: Runs lookups with the permissions of the caller.
        quota: Limits of the clients.
    """

    def __init__(self, resources: Resources, runner: Runner, quota: Quota) -> None:
        self._quota = quota
        self._resources = resources
        self._runner = runner
        self._lock = Lock()
        self._followers: dict[object, _Subscriber] = {}
        runner.services.change_feed.subscribe(self._noticed)
        if resources.changes is not None:
            resources.changes(self._changed)

    async def begin(self, context: Context, _: types.NotificationParams) -> None:
        """Register a new session of the older era. Beyond the quota, a session gets no notifications of the list."""
        with suppress(MCPError):
            self._begin(context)

    def _begin(self, context: Context) -> _Subscriber:
        key = session_of(context)
        with self._lock:
            subscriber = self._followers.get(key)
        if subscriber is not None:
            return subscriber
        reported_partial = partial(_hand_over, asyncio.get_running_loop(), context.session)
        follower = _Subscriber(reported_partial, _seen(context), listing=True, client=_client(context))
        self._add(key, follower)
        at_end(context, partial(self._remove, key))
        return follower

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Subscribe this session to a resource."""
        follower = self._begin(context)
        self._count(follower, [params.uri])
        await self._follow(context, follower, [params.uri])
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Unsubscribe this session from a resource."""
        with self._lock:
            follower = self._followers.get(session_of(context))
            if follower is not None:
                follower.uris.pop(params.uri, None)
                follower.known.pop(params.uri, None)
                if params.uri in follower.asked:
                    follower.asked.remove(params.uri)
                    self._quota.remove_resources(follower.client, 1)
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of the newer era until its client ends it."""
        subscription_filter = params.notifications
        uris = list(dict.fromkeys(subscription_filter.resource_subscriptions or ()))
        check_subscriptions(uris)
        bus = InMemorySubscriptionBus()
        reported_partial = partial(_publish, asyncio.get_running_loop(), bus)
        listing = subscription_filter.resources_list_changed is True
        follower = _Subscriber(reported_partial, _seen(context), listing=listing, client=_client(context))
        async with self._member(follower):
            self._count(follower, uris)
            await self._follow(context, follower, uris)
            return await ListenHandler(bus)(context, params)

    @asynccontextmanager
    async def _member(self, follower: _Subscriber) -> AsyncGenerator[None]:
        key = object()
        self._add(key, follower)
        try:
            yield
        finally:
            self._remove(key)

    def _add(self, key: object, follower: _Subscriber) -> None:
        self._quota.open_stream(follower.client)
        with self._lock:
            self._followers[key] = follower

    def _remove(self, key: object) -> None:
        with self._lock:
            follower = self._followers.pop(key, None)
            if follower is not None:
                self._quota.close_stream(follower.client, len(follower.asked))
                follower.asked.clear()

    def _count(self, follower: _Subscriber, uris: Sequence[str]) -> None:
        with self._lock:
            new = [uri for uri in uris if uri not in follower.asked]
            check_subscriptions(new, len(follower.asked))
            self._quota.add_resources(follower.client, len(new))
            follower.asked.update(new)

    async def _follow(self, context: Context, follower: _Subscriber, uris: Sequence[str]) -> None:
        """Resolve the sources of URIs. Sources that do not exist yet are resolved again on later changes."""

        def look(call: Call) -> None:
            # The client may change a document as soon as its subscription is confirmed, so watching must be active
            # before.
            call.services.collections.wait_watched(WATCHED_TIMEOUT)
            for uri in uris:
                with self._lock:
                    follower.uris[uri] = partial(self._look, call, uri)
                _find(follower, uri)

        await self._runner.run(context, "resources/follow", look, ready=False)

    def _look(self, call: Call, uri: str) -> ResourceSource | None:
        return self._resources.source_of(call, uri) if self._resources.source_of else None

    def _noticed(self, notice: ChangeNotice) -> None:
        with self._lock:
            followers = [
                subscriber
                for subscriber in self._followers.values()
                if subscriber.sees is None or notice.collection in subscriber.sees
            ]
        for follower in followers:
            events: list[ServerEvent] = [
                ResourceUpdated(uri) for uri in list(follower.uris) if _is_meant(follower, uri, notice)
            ]
            if notice.listing and follower.listing:
                events.append(ResourcesListChanged())
            if events:
                follower.deliver(events)

    def _changed(self, uri: str) -> None:
        """Notify the subscribers of a changed resource that has no document."""
        with self._lock:
            followers = [subscriber for subscriber in self._followers.values() if uri in subscriber.uris]
        for follower in followers:
            follower.deliver([ResourceUpdated(uri)])


def _find(follower: _Subscriber, uri: str) -> ResourceSource | None:
    """The source of a URI, from the cache or resolved now; None if it has none."""
    source = follower.known.get(uri)
    look = follower.uris.get(uri)
    if source is None and look is not None:
        source = look()
        if source is not None:
            follower.known[uri] = source
    return source


def _is_meant(follower: _Subscriber, uri: str, notice: ChangeNotice) -> bool:
    source = _find(follower, uri)
    if source is None or source.collection not in {None, notice.collection}:
        return False
    meant = source.address is None or source.address in notice.addresses
    if meant:
        # The document may have moved, or another document may be the source from now on.
        follower.known.pop(uri, None)
        _find(follower, uri)
    return meant


def _seen(context: Context) -> frozenset[str] | None:
    scope = asgi_scope(context)
    return caller_of(scope).collections if scope else None


def _client(context: Context) -> str:
    scope = asgi_scope(context)
    return caller_of(scope).counted_as if scope else ""


def _hand_over(loop: asyncio.AbstractEventLoop, session: ServerSession, events: Sequence[ServerEvent]) -> None:
    if not loop.is_closed():
        asyncio.run_coroutine_threadsafe(_send(session, events), loop)


async def _send(session: ServerSession, events: Sequence[ServerEvent]) -> None:
    with anyio.move_on_after(NOTIFY_TIMEOUT):
        for event in events:
            if isinstance(event, ResourceUpdated):
                await session.send_resource_updated(event.uri)
            else:
                await session.send_resource_list_changed()


def _publish(loop: asyncio.AbstractEventLoop, bus: InMemorySubscriptionBus, events: Sequence[ServerEvent]) -> None:
    if not loop.is_closed():
        asyncio.run_coroutine_threadsafe(_spread(bus, events), loop)


async def _spread(bus: InMemorySubscriptionBus, events: Sequence[ServerEvent]) -> None:
    for event in events:
        await bus.publish(event)


# Quotas of subscriptions: streams and resources, for each client and for all clients of a process.


MAX_URI = 4_096
"""Maximum characters of a subscribed URI."""
MAX_STREAMS = 100
"""Maximum number of streams of one client; a session of the older era counts as a stream."""
MAX_ALL_STREAMS = 2_000
MAX_RESOURCES = 2_000
"""Maximum number of resources that one client subscribes to on all streams. One stream may have half of them."""
MAX_STREAM_RESOURCES = MAX_RESOURCES // 2
MAX_ALL_RESOURCES = 20_000
"""Each subscription takes about 1 kB of memory."""


@dataclass(slots=True)
class Quota:
    """Current subscriptions of the clients of one process; shared by all its servers.

    A client is a key, the subject of a token, or a network address. The client on standard input and output is the only
    one of its process.
    """

    _streams: Counter[str] = field(default_factory=Counter[str])
    _resources: Counter[str] = field(default_factory=Counter[str])
    _lock: Lock = field(default_factory=Lock)

    def open_stream(self, client: str) -> None:
        """Count a new stream.

        Raises:
            MCPError: the limit of streams is reached.
        """
        with self._lock:
            if self._streams[client] >= MAX_STREAMS:
                raise _full(f"One client can follow on at most {MAX_STREAMS} streams at once; end one first.")
            if self._streams.total() >= MAX_ALL_STREAMS:
                raise _full("Too many clients follow resources; try again later.")
            self._streams[client] += 1

    def add_resources(self, client: str, number: int) -> None:
        """Count resources that a client subscribes to.

        Raises:
            MCPError: the limit would be exceeded; none of the resources is counted.
        """
        with self._lock:
            if self._resources[client] + number > MAX_RESOURCES:
                raise _full(f"One client can follow at most {MAX_RESOURCES} resources at once; follow fewer.")
            if self._resources.total() + number > MAX_ALL_RESOURCES:
                raise _full("Too many resources are followed; try again later.")
            self._resources[client] += number

    def remove_resources(self, client: str, number: int) -> None:
        """Subtract resources from a client's count."""
        with self._lock:
            _lower(self._resources, client, number)

    def close_stream(self, client: str, resources: int) -> None:
        """Subtract a stream and its resources from a client's counts."""
        with self._lock:
            _lower(self._streams, client, 1)
            _lower(self._resources, client, resources)


def check_subscriptions(uris: list[str], more: int = 0) -> None:
    """Check the limits of one stream.

    Args:
        uris: The resources to subscribe to.
        more: Number of resources that the stream has subscribed to already.

    Raises:
        MCPError: there are too many resources, or a URI is too long.
    """
    if len(uris) + more > MAX_STREAM_RESOURCES:
        message = f"At most {MAX_STREAM_RESOURCES} resources can be followed on one stream."
        raise MCPError(code=types.INVALID_PARAMS, message=message)
    if any(len(uri) > MAX_URI for uri in uris):
        raise MCPError(code=types.INVALID_PARAMS, message=f"A URI that is followed has at most {MAX_URI} characters.")


def _lower(counts: Counter[str], client: str, number: int) -> None:
    counts[client] -= number
    if counts[client] <= 0:
        del counts[client]


def _full(message: str) -> MCPError:
    return MCPError(code=types.INTERNAL_ERROR, message=message)
