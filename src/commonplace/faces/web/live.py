"""Live updates: a stream of server-sent events for open pages."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from commonplace.faces.access.callers import caller_of
from commonplace.services.change_feed import ChangeFeed, ChangeNotice

PATH = "/events"
HEARTBEAT_SECONDS = 20.0
"""Interval in seconds of comments on a silent stream, so that proxies keep the connection open."""
MAX_STREAMS = 200
"""Maximum number of open streams. Further ones are refused, and their pages do not update."""
QUEUE = 100
"""Maximum number of queued notices for a slow reader; later ones are dropped."""


class LiveChanges:
    """All open streams."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._open: set[_Stream] = set()

    def end(self) -> None:
        """End all streams. Must be called on the event loop's thread."""
        for stream in tuple(self._open):
            stream.ended.set()

    async def describe(self, send: Send) -> None:
        """Respond to HEAD: with the headers of a stream, but no stream."""
        is_full = len(self._open) >= MAX_STREAMS
        status, headers = (503, [(b"retry-after", b"30")]) if is_full else (200, _HEADERS)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send changes until the client disconnects or the server shuts down."""
        if len(self._open) >= MAX_STREAMS:
            await self.describe(send)
            return
        stream = _Stream(caller_of(scope).collections)
        self._open.add(stream)
        unsubscribe = self._feed.subscribe(stream.notify)
        gone = asyncio.ensure_future(_until_gone(receive, stream.ended))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
            while not stream.ended.is_set():
                await send({"type": "http.response.body", "body": await stream.next(), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            unsubscribe()
            self._open.discard(stream)
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone


_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),
]


class _Stream:
    """The stream of one reader. Must be created on the event loop."""

    def __init__(self, visible: frozenset[str] | None) -> None:
        self.ended = asyncio.Event()
        self._visible = visible
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[ChangeNotice] = asyncio.Queue(QUEUE)

    def notify(self, notice: ChangeNotice) -> None:
        """Queue a notice if the reader may see its collection. Called on the feed's thread."""
        if (self._visible is None or notice.collection in self._visible) and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._offer, notice)

    async def next(self) -> bytes:
        """The next event; a comment after `HEARTBEAT_SECONDS` or at the end."""
        notice, end = asyncio.ensure_future(self._queue.get()), asyncio.ensure_future(self.ended.wait())
        await asyncio.wait((notice, end), timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        end.cancel()
        if notice.done():
            return _event(notice.result())
        notice.cancel()
        return b": alive\n\n"

    def _offer(self, notice: ChangeNotice) -> None:
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(notice)


async def _until_gone(receive: Receive, ended: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    ended.set()


def _event(notice: ChangeNotice) -> bytes:
    paths = sorted(address.path for address in notice.addresses)[:QUEUE]
    data = json.dumps({"collection": notice.collection, "paths": paths, "listing": notice.listing})
    return f"event: change\ndata: {data}\n\n".encode()
