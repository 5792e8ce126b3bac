"""Background work waits while a call is answered, and for no more than half of the time."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from commonplace.domain import foreground as module
from commonplace.domain.foreground import foreground, give_way


@contextmanager
def background(turns: list[int]) -> Generator[threading.Thread]:
    """A thread that gives way once and then notes a turn."""

    def work() -> None:
        give_way()
        turns.append(len(turns))

    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join()


def test_background_work_waits_until_the_call_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 60.0)
    turns: list[int] = []
    with foreground(), foreground():
        with foreground():
            give_way()  # a call does not wait for itself
        thread = threading.Thread(target=lambda: (give_way(), turns.append(1)))
        thread.start()
        thread.join(0.05)
        assert not turns
    thread.join()
    assert turns == [1]


def test_background_work_goes_on_during_a_long_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.0)
    turns: list[int] = []
    with foreground(), background(turns):
        pass
    assert turns == [0]
