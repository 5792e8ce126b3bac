"""The stream of changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message

from commonplace.domain.addresses import Address
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.web.live import MAX_STREAMS, QUEUE, LiveChanges
from commonplace.services.change_feed import ChangeFeed

WAIT = 10.0


class Reader:
    """A browser with one open stream."""

    def __init__(self, live: LiveChanges, caller: Caller | None = None) -> None:
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.gone = asyncio.Event()
        scope = {"type": "http", **({SCOPE_KEY: caller} if caller else {})}
        self.task = asyncio.ensure_future(live.serve(scope, self._receive, self.sent.put))

    async def _receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> Message:
        return await asyncio.wait_for(self.sent.get(), WAIT)

    async def opened(self) -> Message:
        """The head of the answer, once the stream listens."""
        head = await self.next()
        if head["status"] == 200:
            assert (await self.next())["body"] == b": open\n\n"
        return head

    async def event(self) -> dict[str, object]:
        name, data, *rest = (await self.next())["body"].decode().split("\n")
        assert (name, rest) == ("event: change", ["", ""])
        return json.loads(data.removeprefix("data: "))

    async def ended(self) -> None:
        await asyncio.wait_for(self.task, WAIT)


ALL = Caller("", "read")


def run(check: Callable[[LiveChanges, ChangeFeed], Awaitable[None]]) -> None:
    async def whole() -> None:
        feed = ChangeFeed(quiet=0.0, longest=0.0)
        await check(LiveChanges(feed), feed)

    asyncio.run(whole())


def test_a_reader_is_told_of_each_change_with_its_paths_in_order() -> None:
    async def check(live: LiveChanges, feed: ChangeFeed) -> None:
        reader = Reader(live, ALL)
        head = await reader.opened()
        assert dict(head["headers"])[b"content-type"] == b"text/event-stream"
        feed.publish("base", [Address("b.md"), Address("a/ü\u2028.md")], True)
        assert await reader.event() == {"collection": "base", "paths": ["a/ü\u2028.md", "b.md"], "listing": True}
        live.end()
        await reader.ended()

    run(check)


def test_a_reader_is_told_nothing_of_collections_that_the_key_does_not_open() -> None:
    async def check(live: LiveChanges, feed: ChangeFeed) -> None:
        some, none = Reader(live, Caller("k", "read", frozenset({"open"}))), Reader(live)
        await some.opened()
        await none.opened()
        for name in ("closed", "open"):
            feed.publish(name, [Address("a.md")], False)
        assert (await some.event())["collection"] == "open"
        live.end()
        await none.ended()
        assert (await none.next())["body"] in {b": alive\n\n", b""}

    run(check)


@pytest.mark.parametrize("count", [QUEUE, QUEUE + 50])
def test_a_change_of_very_many_pages_names_the_first(count: int) -> None:
    async def check(live: LiveChanges, feed: ChangeFeed) -> None:
        reader = Reader(live, ALL)
        await reader.opened()
        feed.publish("base", [Address(f"{number:04}.md") for number in range(count)], True)
        assert (await reader.event())["paths"] == [f"{number:04}.md" for number in range(QUEUE)]
        live.end()
        await reader.ended()

    run(check)


def test_a_stream_ends_when_its_reader_goes_and_makes_room() -> None:
    async def check(live: LiveChanges, _: ChangeFeed) -> None:
        readers = [Reader(live, ALL) for _ in range(MAX_STREAMS)]
        for reader in readers:
            assert (await reader.opened())["status"] == 200
        refused = Reader(live, ALL)
        head = await refused.opened()
        assert (head["status"], dict(head["headers"])[b"retry-after"]) == (503, b"30")
        await refused.ended()

        readers[0].gone.set()
        await readers[0].ended()
        again = Reader(live, ALL)
        assert (await again.opened())["status"] == 200
        live.end()
        for reader in (again, *readers):
            await reader.ended()

    run(check)


def test_a_stream_whose_connection_fails_listens_no_longer() -> None:
    async def check(live: LiveChanges, feed: ChangeFeed) -> None:
        async def broken(_: Message) -> None:
            raise OSError("gone")

        async def never() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        with pytest.raises(OSError, match="gone"):
            await live.serve({"type": "http"}, never, broken)
        reader = Reader(live, ALL)
        await reader.opened()
        feed.publish("base", [Address("a.md")], False)
        await reader.event()
        live.end()
        await reader.ended()

    run(check)
