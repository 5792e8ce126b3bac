"""Searches of one generation share what they read; a new generation is seen at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.index.fulltext.scoring import SnapshotCache
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.index_files import CATALOGUE_FILE, FULLTEXT_FOLDER
from indexed import Indexed


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": "# A\n\nalpha\n"}) as made:
        yield made


@pytest.fixture
def place(base: Indexed) -> Path:
    """The folder of the index."""
    (path,) = base.cache.rglob(CATALOGUE_FILE)
    return path.parent


@pytest.fixture
def connection(place: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(place / CATALOGUE_FILE)) as made:
        yield made


def test_one_generation_is_opened_once(place: Path, connection: sqlite3.Connection) -> None:
    cache = SnapshotCache(FullText(place / FULLTEXT_FOLDER))
    first = cache.at(connection)
    assert cache.at(connection) is first
    assert first.searchers.documents.num_docs + len(first.recent.documents) == 1


def test_a_change_is_in_the_next_snapshot_and_not_in_the_one_that_is_held(
    base: Indexed, place: Path, connection: sqlite3.Connection
) -> None:
    cache = SnapshotCache(FullText(place / FULLTEXT_FOLDER))
    held = cache.at(connection)
    base.update("b.md", "# B\n\nbeta\n")
    later = cache.at(connection)
    assert later is not held
    assert later.generation > held.generation
    assert later.recent.holders("body", "beta") + later.searchers.documents.doc_freq("body", "beta") == 1
    assert held.recent.holders("body", "beta") + held.searchers.documents.doc_freq("body", "beta") == 0
