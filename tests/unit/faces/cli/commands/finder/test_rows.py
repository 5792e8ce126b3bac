"""The rows of the screen fit it, whatever its size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter
from commonplace.faces.cli.commands.finder import (
    FRAME,
    Choice,
    Choices,
    Finder,
    Panes,
    Preview,
    Selection,
    list_rows,
    state_row,
    text_rows,
)
from commonplace.faces.cli.output import BOLD, FAINT, PLAIN, width
from indexed import Indexed


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("rows"), {}) as made:
        yield made


@pytest.fixture(scope="module")
def settled(base: Indexed) -> Selection:
    """A selection that is settled on nothing, to be given choices."""
    with ThreadPoolExecutor(1) as worker:
        selection = Selection(Finder(base.collections, Filter(), "keyword"), worker, "tea")
        done = asyncio.Event()

        async def run() -> None:
            task = asyncio.create_task(selection.follow(lambda: done.set() if selection.settled else None))
            await asyncio.wait_for(done.wait(), 30)
            task.cancel()

        asyncio.run(run())
        return selection


@pytest.fixture
def choose(base: Indexed, settled: Selection) -> Callable[..., None]:
    """Gives the selection its choices: path and title of each."""

    def give(pages: Sequence[tuple[str, str]], total: int = 0, notice: str = "") -> None:
        choices = tuple(Choice(base.collection, Address(path), path, title, ("Brewing",)) for path, title in pages)
        settled.choices = Choices(choices, total or len(choices), notice)

    return give


def plain(text: str) -> str:
    return text.replace(BOLD, "").replace(FAINT, "").replace(PLAIN, "")


@each_case("columns", [1, 40, 99, 100, 160])
@each_case("rows", [1, 5, 11, 12, 24, 60])
def test_the_panes_fill_the_screen(columns: int, rows: int) -> None:
    panes = Panes(columns, rows)
    assert panes.text_columns >= 1
    assert panes.list_rows >= 2
    if panes.preview and panes.beside:
        assert panes.list_columns + 2 + panes.text_columns == columns
        assert panes.list_rows == panes.text_rows == rows - FRAME
    elif panes.preview:
        assert (panes.list_columns, panes.text_columns) == (columns, columns)
        assert panes.list_rows + 1 + panes.text_rows == rows - FRAME


@pytest.mark.parametrize("columns", [20, 40, 64])
def test_a_page_takes_two_rows_that_fit(settled: Selection, choose: Callable[..., None], columns: int) -> None:
    choose(
        [("tea.md", "Green tea"), ("a/long/path/of/a/page/about.md", "茶の湯は、日本の伝統的な文化である。" * 3)],
    )
    rows = list_rows(settled, columns)
    assert rows[:2] == [f"> Green {BOLD}tea{PLAIN}", f"> {FAINT}tea.md > Brewing{PLAIN}"]
    assert len(rows) == 4
    assert all(width(plain(row)) <= columns for row in rows)
    assert plain(rows[2]).endswith("…")


def test_the_state_counts_and_says_what_is_missing(settled: Selection, choose: Callable[..., None]) -> None:
    choose([])
    assert state_row(settled) == "Nothing found."
    choose([], notice="No page contains\na word.")
    assert state_row(settled) == "Nothing found. No page contains a word."
    choose([("a.md", "A")])
    assert state_row(settled) == "1 page"
    choose([("a.md", "A"), ("b.md", "B")], total=1234)
    assert state_row(settled) == "2 of 1,234 pages"


def preview(count: int, best: int) -> Preview:
    return Preview(tuple(f"line {number}" for number in range(count)), 1, best)


PANES = Panes(120, FRAME + 10)


def test_the_text_begins_at_its_beginning_if_the_best_line_is_seen_so() -> None:
    assert text_rows(preview(30, 9), PANES, 0)[0] == [f"line {number}" for number in range(10)]
    assert text_rows(preview(30, 10), PANES, 0)[0] == [f"line {number}" for number in range(5, 15)]
    assert text_rows(preview(30, 29), PANES, 0)[0][-1] == "line 29"
    assert text_rows(preview(3, 0), PANES, 0)[0] == ["line 0", "line 1", "line 2"]


def test_scrolling_ends_where_the_text_does() -> None:
    assert text_rows(preview(30, 0), PANES, 9)[0][0] == "line 9"
    assert text_rows(preview(30, 0), PANES, 900)[1] == 20
    assert text_rows(preview(30, 15), PANES, -900)[1] == -10
    assert text_rows(preview(3, 0), PANES, 5)[1] == 0
    assert text_rows(Preview(), PANES, 5) == ([], 0)


def test_long_lines_are_broken_between_words_and_count_as_rows() -> None:
    long = replace(preview(2, 1), lines=("tea leaves " * 100, "best"))
    rows, _ = text_rows(long, PANES, 0)
    assert all(width(row) <= PANES.text_columns for row in rows)
    assert "best" in rows
