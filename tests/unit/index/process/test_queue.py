"""Updates of an index run in their order, and nobody waits for them longer than they want."""

from __future__ import annotations

import logging
import threading

import pytest

from commonplace.index.process.queue import UpdateQueue
from indexed import WAIT_SECONDS


def test_a_caller_goes_on_while_an_update_lasts_and_questions_wait_for_it() -> None:
    queue, go_on, done = UpdateQueue("base"), threading.Event(), list[str]()

    def slow() -> None:
        assert go_on.wait(WAIT_SECONDS)
        done.append("slow")

    queue.run(slow, 0.0)
    queue.run(lambda: done.append("quick"), 0.0)
    assert not queue.settled(0.0)
    go_on.set()
    assert queue.settled(WAIT_SECONDS)
    assert done == ["slow", "quick"]
    queue.close()


def test_an_update_that_fails_is_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    queue, done = UpdateQueue("base"), list[int]()

    def failing() -> None:
        raise RuntimeError("no room")

    with caplog.at_level(logging.ERROR):
        queue.run(failing, WAIT_SECONDS)
        queue.run(lambda: done.append(1), WAIT_SECONDS)
        queue.close()
    assert done == [1]
    (record,) = caplog.records
    assert record.getMessage() == "base: the index could not take in a change; the next scan will"
    assert record.exc_info


def test_what_an_update_asks_itself_does_not_wait_for_it() -> None:
    queue, found = UpdateQueue("base"), list[bool]()
    queue.run(lambda: found.append(queue.settled(WAIT_SECONDS)), WAIT_SECONDS)
    assert found == [True]
    queue.close()
