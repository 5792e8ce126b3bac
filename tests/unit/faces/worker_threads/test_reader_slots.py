"""Slots of calls that read: few short ones at once, in their order, and never none because others wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps

from commonplace.faces.worker_threads import MAX_READERS, MAX_SHORT_READERS, SHORT_SECONDS, ReaderSlots


class Calls:
    """Calls that hold a slot until they are told to end."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slots = ReaderSlots(lambda: self.now)
        self.begun: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.last_begun = asyncio.Event()
        self._ends: list[asyncio.Event] = []

    async def begin(self, number: int) -> None:
        for _ in range(number):
            self._ends.append(asyncio.Event())
            self.tasks.append(asyncio.create_task(self._call(len(self.tasks))))
        await self.settle()

    async def end(self, *numbers: int) -> None:
        for number in numbers:
            self._ends[number].set()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def _call(self, number: int) -> None:
        async with self.slots.acquired():
            self.begun.append(number)
            self.last_begun.set()
            await self._ends[number].wait()


def on_a_loop(test: Callable[[Calls], Coroutine[object, object, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        async def main() -> None:
            calls = Calls()
            await test(calls)
            for task in calls.tasks:
                task.cancel()
            await asyncio.gather(*calls.tasks, return_exceptions=True)

        asyncio.run(main())

    del run.__wrapped__  # pytest would look for fixtures in its signature
    return run


@on_a_loop
async def test_short_calls_run_a_few_at_a_time_and_in_their_order(calls: Calls) -> None:
    await calls.begin(10)
    assert calls.begun == list(range(MAX_SHORT_READERS))
    await calls.end(1)
    assert calls.begun == list(range(MAX_SHORT_READERS + 1))
    await calls.end(0, *range(2, 10))
    assert calls.begun == list(range(10))


@on_a_loop
async def test_calls_that_run_long_keep_no_other_call_from_running(calls: Calls) -> None:
    await calls.begin(MAX_SHORT_READERS + 1)
    calls.now = 2 * SHORT_SECONDS
    calls.last_begun.clear()
    async with asyncio.timeout(30):  # the slots look again by themselves, though no call ends
        await calls.last_begun.wait()
    assert calls.begun == list(range(MAX_SHORT_READERS + 1))


@on_a_loop
async def test_long_calls_have_a_limit_too(calls: Calls) -> None:
    for _ in range(MAX_READERS + 5):
        await calls.begin(1)
        calls.now += 2 * SHORT_SECONDS
    assert len(calls.begun) == MAX_READERS
    await calls.end(0)
    assert len(calls.begun) == MAX_READERS + 1


@on_a_loop
async def test_a_call_that_is_cancelled_while_it_waits_or_runs_leaves_its_slot(calls: Calls) -> None:
    await calls.begin(MAX_SHORT_READERS + 3)
    calls.tasks[MAX_SHORT_READERS].cancel()
    calls.tasks[0].cancel()
    await calls.settle()
    assert calls.begun == [*range(MAX_SHORT_READERS), MAX_SHORT_READERS + 1]


@on_a_loop
async def test_a_call_that_is_cancelled_at_its_admission_leaves_its_slot(calls: Calls) -> None:
    await calls.begin(MAX_SHORT_READERS + 2)
    calls.tasks[0].cancel()
    await asyncio.sleep(0)  # the slot of the first call goes to the first that waits, which has not run since
    calls.tasks[MAX_SHORT_READERS].cancel()
    await calls.settle()
    assert calls.begun == [*range(MAX_SHORT_READERS), MAX_SHORT_READERS + 1]
