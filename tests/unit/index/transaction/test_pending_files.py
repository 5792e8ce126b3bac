"""The list of files that are still to be taken in, from the beginning of a batch to its end."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.index.catalogue.database import Catalogue, create_catalogue
from commonplace.index.transaction import begun_paths, mark_batch_begun, mark_batch_done, pending_count


@pytest.fixture
def connection(tmp_path: Path) -> Generator[sqlite3.Connection]:
    create_catalogue(tmp_path / "catalogue")
    catalogue = Catalogue(tmp_path / "catalogue")
    with catalogue.writing() as connection:
        rows = [("a.md",), ("b.md",), ("c.md",), ("d.md",)]
        connection.executemany("INSERT INTO pending VALUES (?, 0)", rows)
        yield connection
    catalogue.close()


def begun(connection: sqlite3.Connection) -> dict[str, bool]:
    rows = connection.execute("SELECT path, begun FROM pending ORDER BY path").fetchall()
    assert pending_count(connection) == len(rows)
    return {path: bool(begun) for path, begun in rows}


def test_a_batch_that_ended_well_leaves_no_mark_on_what_it_did_not_come_to(connection: sqlite3.Connection) -> None:
    left = mark_batch_begun(connection, 3)
    assert (left, begun(connection)) == (frozenset(), {"a.md": True, "b.md": True, "c.md": True, "d.md": False})
    mark_batch_done(connection, ["a.md", "b.md", "c.md"], 1, left)
    assert begun(connection) == {"b.md": False, "c.md": False, "d.md": False}
    assert mark_batch_begun(connection, 3) == frozenset()


def test_what_an_earlier_batch_may_have_left_stays_marked_until_it_is_done(connection: sqlite3.Connection) -> None:
    mark_batch_begun(connection, 2)
    left = mark_batch_begun(connection, 4)
    assert left == {"a.md", "b.md"}
    mark_batch_done(connection, ["a.md", "b.md", "c.md", "d.md"], 1, left)
    assert begun(connection) == {"b.md": True, "c.md": False, "d.md": False}
    assert mark_batch_begun(connection, 4) == {"b.md"}


def test_a_batch_has_the_first_of_its_files_and_knows_which_are_new(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO files (id, path) VALUES (1, 'b.md')")
    mark_batch_begun(connection, 3)
    assert begun_paths(connection, 10) == [("a.md", True), ("b.md", False), ("c.md", True)]
    assert begun_paths(connection, 2) == [("a.md", True), ("b.md", False)]
