"""The lifetime of a catalogue's connections."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.index.catalogue import database
from commonplace.index.catalogue.database import Catalogue, create_catalogue, grow, read_number
from support import open_files


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalogue]:
    """An empty one, which does not wait long for what it holds itself."""
    monkeypatch.setattr(database, "WRITER_WAIT_SECONDS", 0.05)
    create_catalogue(tmp_path / "catalogue.sqlite3")
    catalogue = Catalogue(tmp_path / "catalogue.sqlite3")
    yield catalogue
    catalogue.close()


def test_a_connection_that_kept_the_lock_it_gave_back_is_opened_anew(catalogue: Catalogue) -> None:
    with catalogue.reading(), catalogue.writing() as idle:
        pass
    idle.execute("BEGIN IMMEDIATE")  # as after a lock that the system did not take back
    with catalogue.writing() as connection:
        assert connection is not idle
        grow(connection, "generation")
    with catalogue.reading() as connection:
        assert read_number(connection, "generation") == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        idle.execute("SELECT 1")


def test_a_connection_at_work_while_others_are_opened_anew_works_on_and_is_closed_then(catalogue: Catalogue) -> None:
    with catalogue.reading() as first:
        assert read_number(first, "generation") == 0
        with catalogue.reading(), catalogue.writing() as idle:
            pass
        idle.execute("BEGIN IMMEDIATE")
        with catalogue.writing() as connection:
            grow(connection, "generation")
        assert read_number(first, "generation") == 0
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")


def test_a_closed_catalogue_leaves_nothing_open(catalogue: Catalogue, tmp_path: Path) -> None:
    with catalogue.reading() as connection:
        catalogue.close()
        assert read_number(connection, "generation") == 0
    with catalogue.reading():
        pass
    assert open_files(str(tmp_path)) == []
