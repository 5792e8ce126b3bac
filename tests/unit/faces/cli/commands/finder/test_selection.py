"""The answer follows what is typed and chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from commonplace.domain.query import Filter
from commonplace.faces.cli.commands.finder import Finder, Selection
from indexed import Indexed

FILES = {f"page{number}.md": f"# Page {number}\n\nword{number} common\n" for number in range(5)}
TIMEOUT = 30.0


class Gate(ThreadPoolExecutor):
    """A worker that does nothing while the gate is closed, and remembers the last argument of each call."""

    def __init__(self) -> None:
        super().__init__(1)
        self.open = Event()
        self.open.set()
        self.calls: list[str] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call as any executor does, behind the gate."""
        self.calls.append(args[-1])

        def passed() -> Any:
            assert self.open.wait(TIMEOUT)
            return fn(*args, **kwargs)

        return super().submit(passed)


@pytest.fixture
def worker() -> Iterator[Gate]:
    with Gate() as made:
        yield made
        made.open.set()


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def selection(base: Indexed, worker: Gate, text: str) -> Selection:
    return Selection(Finder(base.collections, Filter(), "keyword"), worker, text)


def walk(blind: Selection, *steps: tuple[Callable[[], object], Callable[[], bool]]) -> None:
    """Take each step, and wait after each until what it leads to is there."""

    async def run() -> None:
        changed = asyncio.Event()
        task = asyncio.create_task(blind.follow(changed.set))
        async with asyncio.timeout(TIMEOUT):
            for step, reached in steps:
                step()
                while not reached():
                    changed.clear()
                    await changed.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def nothing() -> None:
    """No step: wait alone."""


def test_the_text_at_first_is_answered_with_a_preview(base: Indexed, worker: Gate) -> None:
    other_selection = selection(base, worker, "word3")
    assert not other_selection.settled
    walk(other_selection, (nothing, lambda: other_selection.settled))
    assert other_selection.choice is not None
    assert (other_selection.choice.path, other_selection.preview.line) == ("page3.md", 3)


def test_a_text_that_was_typed_over_is_not_searched(base: Indexed, worker: Gate) -> None:
    other_selection = selection(base, worker, "")
    walk(other_selection, (nothing, lambda: other_selection.settled))
    before = len(worker.calls)
    worker.open.clear()

    def type_fast() -> None:
        for text in ("w", "wo", "wor", "word4"):
            other_selection.type(text)
        worker.open.set()

    walk(other_selection, (type_fast, lambda: other_selection.settled))
    assert worker.calls[before:] == ["word4", "word4"], "one search and one preview"
    assert other_selection.choice is not None
    assert other_selection.choice.path == "page4.md"


def test_moving_stops_at_both_ends_and_a_new_text_begins_at_the_first(base: Indexed, worker: Gate) -> None:
    other_selection = selection(base, worker, "common")
    walk(
        other_selection,
        (lambda: other_selection.move(3), lambda: other_selection.settled),
        (lambda: other_selection.move(1), lambda: other_selection.settled and other_selection.chosen == 1),
        (lambda: other_selection.move(99), lambda: other_selection.settled and other_selection.chosen == 4),
        (lambda: other_selection.move(-99), lambda: other_selection.settled and other_selection.chosen == 0),
        (lambda: other_selection.move(2), lambda: other_selection.settled and other_selection.chosen == 2),
        (lambda: other_selection.type("common word1"), lambda: other_selection.settled),
    )
    assert other_selection.chosen == 0


def test_nothing_found_is_settled_without_a_choice(base: Indexed, worker: Gate) -> None:
    element = selection(base, worker, "word1")
    walk(element, (nothing, lambda: element.settled), (lambda: element.type("qqqxyz"), lambda: element.settled))
    assert (element.choice, element.preview.lines) == (None, ())


def test_what_cannot_be_shown_or_searched_is_said(base: Indexed, worker: Gate) -> None:
    other_selection = selection(base, worker, "word2")
    worker.open.clear()

    def lose() -> None:
        (base.folder / "page2.md").unlink()
        worker.open.set()

    walk(other_selection, (lose, lambda: other_selection.settled))
    assert "page2" in other_selection.problem
    blind = Selection(Finder(base.collections, Filter(), "semantic"), worker, "word2")
    walk(blind, (nothing, lambda: blind.settled))
    assert "model" in blind.choices.notice or "meaning" in blind.choices.notice


def test_a_problem_ends_with_the_next_page(base: Indexed, worker: Gate) -> None:
    element = selection(base, worker, "word2")
    (base.folder / "page2.md").unlink()
    walk(element, (nothing, lambda: bool(element.problem)), (lambda: element.type("word1"), lambda: element.settled))
    assert element.problem == ""
