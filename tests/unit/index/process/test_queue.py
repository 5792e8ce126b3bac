"""Updates of an index run in their order, those that wait run together, and nobody waits longer than they want."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pytest

from commonplace.index.process import UpdateQueue
from indexed import WAIT_SECONDS


class Work:
    """A queue whose first update lasts until it may go on."""

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self.done: list[Sequence[str]] = []
        self.queue = UpdateQueue("base", self.update)

    def update(self, items: Sequence[str]) -> None:
        if "slow" in items:
            self.began.set()
            assert self.go_on.wait(WAIT_SECONDS)
        if "bad" in items:
            raise RuntimeError("no room")
        self.done.append(items)

    def begin(self) -> None:
        """Begin the update that lasts."""
        self.queue.run(["slow"], 0.0)
        assert self.began.wait(WAIT_SECONDS)


def test_a_caller_goes_on_while_an_update_lasts_and_questions_wait_for_it() -> None:
    work = Work()
    work.begin()
    work.queue.run(["quick"], 0.0)
    assert not work.queue.settled(0.0)
    work.go_on.set()
    assert work.queue.settled(WAIT_SECONDS)
    assert work.done == [["slow"], ["quick"]]
    work.queue.close()


def test_updates_that_wait_for_another_one_are_run_together_in_their_order() -> None:
    work = Work()
    work.begin()
    for item in ("a", "b", "c"):
        work.queue.run([item], 0.0)
    work.go_on.set()
    assert work.queue.settled(WAIT_SECONDS)
    assert work.done == [["slow"], ["a", "b", "c"]]
    work.queue.close()


def test_an_update_that_fails_is_logged_and_does_not_take_along_those_that_waited_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work()
    with caplog.at_level(logging.ERROR):
        work.begin()
        for item in ("a", "bad", "c"):
            work.queue.run([item], 0.0)
        work.go_on.set()
        work.queue.close()
    assert work.done == [["slow"], ["a"], ["c"]]
    (record,) = caplog.records
    assert record.getMessage() == "base: the index could not take in a change; the next scan will"
    assert record.exc_info


def test_what_an_update_asks_itself_does_not_wait_for_it() -> None:
    found_flags = list[bool]()
    queue = UpdateQueue[str]("base", lambda _: found_flags.append(queue.settled(WAIT_SECONDS)))
    queue.run(["a"], WAIT_SECONDS)
    assert found_flags == [True]
    queue.close()
