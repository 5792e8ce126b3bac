"""Results are cached for one generation of a catalogue."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest

from commonplace.index.catalogue.database import MAX_ENTRIES, GenerationCache, grow, write_meta
from indexed import MakeBase


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """The table of a catalogue that a cache reads."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID")
    write_meta(made, "generation", 1)
    yield made
    made.close()


class Counted:
    """Work that counts how often it is done."""

    def __init__(self, answer: object = "answer") -> None:
        self.times = 0
        self.answer = answer

    def __call__(self) -> object:
        self.times += 1
        return self.answer


def test_a_result_is_computed_once_for_each_generation(connection: sqlite3.Connection) -> None:
    cache, work = GenerationCache(), Counted()
    assert [cache.get(connection, "key", work) for _ in range(3)] == ["answer"] * 3
    assert work.times == 1
    grow(connection, "generation")
    work.answer = "new"
    assert cache.get(connection, "key", work) == "new"
    assert work.times == 2


@pytest.mark.parametrize("answer", [None, (), 0, ""])
def test_a_result_that_is_nothing_is_cached_too(connection: sqlite3.Connection, answer: object) -> None:
    cache, work = GenerationCache(), Counted(answer)
    assert [cache.get(connection, "key", work) for _ in range(2)] == [answer] * 2
    assert work.times == 1


def test_keys_are_told_apart(connection: sqlite3.Connection) -> None:
    cache = GenerationCache()
    assert cache.get(connection, ("tags", "a"), lambda: 1) == 1
    assert cache.get(connection, ("tags", "b"), lambda: 2) == 2
    assert cache.get(connection, ("tags", "a"), lambda: 3) == 1


def test_the_oldest_result_makes_room(connection: sqlite3.Connection) -> None:
    cache = GenerationCache()
    for key in range(MAX_ENTRIES + 1):
        cache.get(connection, key, lambda: "first")
    assert cache.get(connection, MAX_ENTRIES, lambda: "again") == "first"
    assert cache.get(connection, 1, lambda: "again") == "first"
    assert cache.get(connection, 0, lambda: "again") == "again"


def test_a_query_that_began_before_a_change_neither_gets_nor_sets_later_results(connection: sqlite3.Connection) -> None:
    cache = GenerationCache()
    write_meta(connection, "generation", 5)
    cache.get(connection, "key", lambda: "later")
    write_meta(connection, "generation", 4)
    assert cache.get(connection, "key", lambda: "earlier") == "earlier"
    write_meta(connection, "generation", 5)
    assert cache.get(connection, "key", lambda: "again") == "later"


def test_work_that_fails_is_done_again(connection: sqlite3.Connection) -> None:
    cache = GenerationCache()

    def fail() -> Callable[[], object]:
        raise sqlite3.OperationalError

    with pytest.raises(sqlite3.OperationalError):
        cache.get(connection, "key", fail)
    assert cache.get(connection, "key", lambda: "answer") == "answer"


def test_answers_of_an_index_follow_a_change_by_another_one(base: MakeBase) -> None:
    made = base({"a.md": "---\ntags: [x]\n---\n"})
    assert made.index.counts().documents == 1
    other = made.another()
    try:
        other.update([made.write("b.md", "# B\n")], timeout=20)
    finally:
        other.close()
    assert made.index.counts().documents == 2
