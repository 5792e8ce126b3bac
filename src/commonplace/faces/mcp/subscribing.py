"""Telling clients of the older era that a resource which they follow has changed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.session import ServerSession

from commonplace.faces.mcp.sdk import Context, session_of

MAX_FOLLOWED = 10_000
"""Pairs of a session and a resource; the oldest are forgotten."""
TELL_TIMEOUT = 5.0
"""Seconds after which a client that does not read is followed no longer."""


@dataclass(frozen=True, slots=True)
class _Follower:
    session: ServerSession
    loop: asyncio.AbstractEventLoop


class Subscriptions:
    """Who follows what.

    Args:
        changes: Calls a listener with the URI of every resource that changes, from any thread.
    """

    def __init__(self, changes: Callable[[Callable[[str], None]], None]) -> None:
        self._followers: OrderedDict[tuple[str, str], _Follower] = OrderedDict()
        self._lock = Lock()
        changes(self._changed)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell this session from now on."""
        with self._lock:
            self._followers[session_of(context), params.uri] = _Follower(context.session, asyncio.get_running_loop())
            while len(self._followers) > MAX_FOLLOWED:
                self._followers.popitem(last=False)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell this session no longer."""
        with self._lock:
            self._followers.pop((session_of(context), params.uri), None)
        return types.EmptyResult()

    def _changed(self, uri: str) -> None:
        with self._lock:
            told = [(key, one) for key, one in self._followers.items() if key[1] == uri]
        for key, follower in told:
            if not follower.loop.is_closed():
                asyncio.run_coroutine_threadsafe(self._tell(key, follower), follower.loop)

    async def _tell(self, key: tuple[str, str], follower: _Follower) -> None:
        try:
            with anyio.fail_after(TELL_TIMEOUT):
                await follower.session.send_resource_updated(key[1])
        except (TimeoutError, MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            with self._lock:
                self._followers.pop(key, None)
