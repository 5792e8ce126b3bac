"""Changed documents move from the catalogue into the full text, beside the writes that fill it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

from commonplace.domain.addresses import Address
from commonplace.index.local import FlushWorker
from commonplace.index.transaction import MIN_RECENT
from indexed import WAIT_SECONDS, Indexed, MakeBase, eventually

FILES = {f"n{number:02}.md": f"# N{number}\n\nword{number}\n" for number in range(40)}


def asked(base: Indexed, question: str) -> int:
    """A number out of the catalogue."""
    (file,) = base.cache.rglob("catalogue.sqlite3")
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute(question).fetchone()[0])


def test_what_waits_in_the_catalogue_moves_without_being_asked(base: MakeBase) -> None:
    made = base(FILES)
    before = asked(made, "SELECT value FROM meta WHERE key = 'fulltext'")
    for number in range(MIN_RECENT + 1):
        made.update(f"n{number:02}.md", f"# N{number}\n\nkangaroo{number:02}\n")
    assert eventually(lambda: asked(made, "SELECT value FROM meta WHERE key = 'fulltext'") > before)
    assert eventually(lambda: asked(made, "SELECT count(*) FROM recent") <= MIN_RECENT)
    assert [made.found(f"kangaroo{number:02}") for number in range(2)] == [[f"n{number:02}.md"] for number in range(2)]


def test_what_came_during_a_move_is_moved_by_the_next_one() -> None:
    begun, go_on, moves = threading.Event(), threading.Event(), list[int]()

    def move() -> None:
        begun.set()
        assert go_on.wait(WAIT_SECONDS)
        moves.append(len(moves))

    moving = FlushWorker(move)
    moving.wake()
    assert begun.wait(WAIT_SECONDS)
    moving.wake()
    moving.wake()
    go_on.set()
    assert eventually(lambda: len(moves) == 2)
    moving.close()
    moving.wake()
    assert len(moves) == 2


def test_a_change_that_is_in_the_index_already_is_not_taken_in_by_the_watcher(base: MakeBase) -> None:
    made = base(FILES)
    with made.index.watch():
        made.write_settled("n00.md", FILES["n00.md"])
        made.write("n01.md", "# N1\n\nkangaroo\n")
        assert eventually(lambda: made.found("kangaroo") == ["n01.md"])
    stored = asked(made, "SELECT mtime_ns FROM files WHERE path = 'n00.md'")
    assert stored != (made.folder / "n00.md").stat().st_mtime_ns, "its times are the next scan's to set"
    assert made.index.sync().updated == 0
    assert asked(made, "SELECT mtime_ns FROM files WHERE path = 'n00.md'") != stored
    assert made.index.record(Address("n00.md")) is not None
