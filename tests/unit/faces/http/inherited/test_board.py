"""Shared state of workers."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.faces.http.inherited import BOARD_BYTES, Board

LONG = 30.0
"""Seconds that no test waits."""


@pytest.fixture
def file() -> Iterator[int]:
    with tempfile.TemporaryFile() as made:
        made.truncate(BOARD_BYTES)
        yield made.fileno()


@pytest.fixture
def boards(file: int) -> list[Board]:
    """The supervisor's board and those of three workers."""
    supervisor = Board(file, 3)
    for row in range(3):
        supervisor.enter(row, row + 1)
    return [supervisor, *(Board(file, 3, row) for row in range(3))]


def test_the_least_connections_are_those_of_the_others(boards: list[Board]) -> None:
    supervisor, first, second, third = boards
    first.connections(5)
    second.connections(3)
    third.connections(9)
    assert [board.least_connections() for board in (first, second, third)] == [3, 5, 3]
    supervisor.enter(1, 0)
    assert [board.least_connections() for board in (first, third)] == [9, 5]
    supervisor.enter(0, 0)
    assert third.least_connections() is None


def test_an_update_of_another_worker_is_waited_for(boards: list[Board]) -> None:
    _, first, second, _ = boards
    assert second.wait(LONG)
    first.begin()
    assert first.wait(LONG), "its own update waits for nobody"
    assert not second.wait(0.01)
    threading.Timer(0.05, first.end).start()
    assert second.wait(LONG)


def test_updates_that_begin_later_are_not_waited_for(boards: list[Board]) -> None:
    _, first, second, _ = boards
    first.begin()

    def on() -> None:
        first.begin()
        first.end()

    threading.Timer(0.05, on).start()
    assert second.wait(LONG), "one of two has ended"


def test_an_update_of_a_worker_that_is_gone_is_not_waited_for(boards: list[Board]) -> None:
    supervisor, first, second, _ = boards
    first.begin()
    threading.Timer(0.05, supervisor.enter, (0, 4)).start()
    assert second.wait(LONG)
    assert second.wait(0.0)


def test_a_file_that_is_too_small_is_refused() -> None:
    with tempfile.TemporaryFile() as file, pytest.raises(ConfigError, match="shared memory"):
        Board(file.fileno(), 2)
