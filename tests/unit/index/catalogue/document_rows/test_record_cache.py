"""Records of the catalogue are read once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from commonplace.index.catalogue.database import Catalogue
from commonplace.index.catalogue.document_rows import MAX_CACHED_DOCUMENTS, RecordCache, document_key
from indexed import MakeBase

FILES: dict[str, str | bytes] = {"a.md": "# A\n\n## Teil\n", "漢字.md": "---\ntitle: Größe\n---\n", "c.md": ""}
KEYS = [document_key(path) for path in FILES]


@pytest.fixture
def connection(base: MakeBase) -> Iterator[sqlite3.Connection]:
    """The catalogue of an index."""
    cache = base(FILES).cache
    (path,) = [file for file in cache.rglob("*") if file.is_file() and file.read_bytes()[:6] == b"SQLite"]
    with closing(Catalogue(path)) as catalogue, catalogue.reading() as made:
        made.rollback()
        made.isolation_level = ""  # a statement that writes begins a transaction
        yield made


def test_documents_come_in_the_asked_order_and_unknown_ones_are_left_out(connection: sqlite3.Connection) -> None:
    cache = RecordCache()
    entries = cache.entries(connection, [KEYS[2], 12345, KEYS[0]])
    assert [document.record.address.path for document in entries.values()] == ["c.md", "a.md"]
    assert list(cache.entries(connection, [KEYS[0], KEYS[1], KEYS[2]])) == KEYS
    assert cache.entries(connection, []) == {}


def test_a_document_is_read_once(connection: sqlite3.Connection) -> None:
    cache, statements = RecordCache(), list[str]()
    first = cache.entries(connection, KEYS)
    paths = cache.paths(connection, KEYS)
    connection.set_trace_callback(statements.append)
    assert all(cache.entries(connection, [key])[key] is first[key] for key in KEYS)
    assert cache.paths(connection, KEYS) == paths == dict(zip(KEYS, FILES, strict=True))
    assert statements == []


def test_records_have_their_facts_and_their_outline(connection: sqlite3.Connection) -> None:
    entries = RecordCache().entries(connection, KEYS)
    assert [entries[key].record.title for key in KEYS] == ["A", "Größe", "c"]
    outline = entries[KEYS[0]].outline
    assert outline.path(outline.last) == ("A", "Teil")
    assert entries[KEYS[0]].outline is outline


def test_unknown_numbers_have_no_path(connection: sqlite3.Connection) -> None:
    assert RecordCache().paths(connection, [1, KEYS[1], 2]) == {KEYS[1]: "漢字.md"}


def test_more_documents_than_are_cached_are_all_found(base: MakeBase) -> None:
    many = range(2, MAX_CACHED_DOCUMENTS + 1)
    cache = RecordCache()
    found_base = base(FILES)
    (path,) = [f for f in found_base.cache.rglob("*") if f.is_file() and f.read_bytes()[:6] == b"SQLite"]
    with closing(Catalogue(path)) as catalogue, catalogue.reading() as connection:
        assert list(cache.entries(connection, [*KEYS, *many])) == KEYS
        assert list(cache.entries(connection, KEYS)) == KEYS


def test_a_document_that_has_not_changed_outlives_its_generation(connection: sqlite3.Connection) -> None:
    first = RecordCache()
    before = first.entries(connection, KEYS)
    connection.execute("UPDATE files SET updated = '2030-01-01T00:00:00Z' WHERE id = ?", (KEYS[1],))
    later = first.of_next_generation().of_next_generation()  # of a generation after one without a search
    now = later.entries(connection, KEYS)
    assert [now[key] is before[key] for key in KEYS] == [True, False, True]
    assert now[KEYS[1]].record.updated == "2030-01-01T00:00:00Z"
    connection.rollback()
    assert later.of_next_generation().entries(connection, KEYS)[KEYS[1]].record == before[KEYS[1]].record
