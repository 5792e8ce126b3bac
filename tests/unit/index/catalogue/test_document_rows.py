"""A document in the catalogue: what goes in comes out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.document_reader import read_document
from commonplace.domain.query import Record
from commonplace.domain.records import build_record, names_of_record
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue.database import Catalogue, create_catalogue
from commonplace.index.catalogue.document_rows import (
    DATE_EDITED,
    DATE_KNOWN,
    DATE_NEW,
    MAX_TITLED,
    DocumentRows,
    columns_of,
    document_key,
    fragments_of,
    paths_by_key,
    record_at,
    record_from,
    records_where,
    remove_rows,
    revisions_in,
    rows_by_key,
    set_stat,
    titled_keys,
)
from commonplace.index.fulltext.name_coverage import name_words
from commonplace.index.index_files import CATALOGUE_FILE
from indexed import Indexed

A = """---
id: one
type: Note
tags: [X, x/y]
aliases: [Eins, 'Ein "s"']
date: 2024-02-29
created: 2024-01-01
summary: Größe & Ziel
extra: {deep: [1, null, true]}
---
# Titel

text [[b]]

## Teil
"""
STAT = FileStat(len(A.encode()), 1_700_000_000_000_000_000, 5, 7)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    create_catalogue(tmp_path / "catalogue.sqlite")
    with closing(Catalogue(tmp_path / "catalogue.sqlite")) as catalogue, catalogue.writing() as made:
        yield made


COMMITTED = "2026-01-02T03:04:05Z"


def add(
    connection: sqlite3.Connection, path: str, text: str, known_record: Record | None = None, stat: FileStat = STAT
) -> Record:
    document = read_document(Address(path), text.encode())
    record = build_record(document, revision_of(document.raw))
    rows = DocumentRows(connection, lambda: COMMITTED)
    rows.add(columns_of(document, record, name_words(document, record)), stat, known_record)
    rows.finish()
    return record


def column(connection: sqlite3.Connection, name: str, path: str) -> object:
    return connection.execute(f"SELECT {name} FROM files WHERE path = ?", (path,)).fetchone()[0]  # noqa: S608


def test_a_record_comes_back_as_it_went_in_with_the_times_of_its_file(connection: sqlite3.Connection) -> None:
    record = add(connection, "notes/a.md", A)
    found_record = record_at(connection, "notes/a.md")
    assert found_record == replace(record, updated="2023-11-14T22:13:20Z")
    assert found_record is not None
    assert names_of_record(found_record).aliases == ("Eins", 'Ein "s"')
    assert record_at(connection, "notes/b.md") is None


def test_a_document_whose_file_has_no_time_has_that_of_the_commit(connection: sqlite3.Connection) -> None:
    add(connection, "notes/a.md", A, stat=FileStat(len(A.encode()), 0, 0, 0))
    record = record_at(connection, "notes/a.md")
    assert record is not None
    assert record.updated == COMMITTED


def test_a_finding_comes_back_with_its_place(connection: sqlite3.Connection) -> None:
    record = add(connection, "a.md", "---\ntags: [a\n---\n# A\n")
    found_record = record_at(connection, "a.md")
    assert record.findings
    assert found_record is not None
    assert found_record.findings == record.findings


def test_a_replaced_document_leaves_nothing_of_the_old_one(connection: sqlite3.Connection) -> None:
    old = add(connection, "a.md", A)
    add(connection, "a.md", "# New\n\n#other\n", old)
    record = record_at(connection, "a.md")
    assert record is not None
    assert (record.title, record.tags, record.id) == ("New", ("other",), "a")
    assert connection.execute("SELECT tag FROM tags").fetchall() == [("other",)]
    assert column(connection, "dated", "a.md") == DATE_EDITED
    assert record.created == old.created, "an edit does not make a document newer"


def test_two_documents_of_one_id_know_of_it(connection: sqlite3.Connection) -> None:
    add(connection, "a.md", A)
    assert not records_where(connection, "1")[0].shares_id
    add(connection, "b.md", A)
    assert [record.shares_id for record in records_where(connection, "1")] == [True, True]


def test_removed_documents_are_gone_from_every_table(connection: sqlite3.Connection) -> None:
    add(connection, "a.md", A)
    add(connection, "b.md", A)
    remove_rows(connection, [document_key("a.md"), 12345])
    assert list(revisions_in(connection)) == [Address("b.md")]
    for table, name in (("tags", "file"), ("details", "id")):
        rows = connection.execute(f"SELECT DISTINCT {name} FROM {table}").fetchall()  # noqa: S608
        assert rows == [(document_key("b.md"),)]


def test_documents_are_found_by_number_and_unknown_numbers_are_left_out(connection: sqlite3.Connection) -> None:
    record = add(connection, "a.md", A)
    key = document_key("a.md")
    assert paths_by_key(connection, [1, key]) == {key: "a.md"}
    assert revisions_in(connection, [key, 2]) == {Address("a.md"): record.revision}
    assert revisions_in(connection, []) == {}
    assert [record_from(row).title for row, _ in rows_by_key(connection, [key, 3]).values()] == ["Titel"]
    assert 0 <= key < 2**63
    assert document_key("A.md") != key


def test_the_names_of_parts_come_back_and_unknown_documents_are_left_out(connection: sqlite3.Connection) -> None:
    add(connection, "a.md", A)
    ((key, names),) = fragments_of(connection, [document_key("a.md"), document_key("none.md")])
    assert key == document_key("a.md")
    assert [name in names for name in ("titel", "Titel#Teil", "Teil#Titel", "none")] == [True, True, False, False]
    assert list(fragments_of(connection, [])) == []


@pytest.mark.parametrize(
    ("dated", "moved", "after"),
    [(DATE_KNOWN, True, DATE_EDITED), (DATE_KNOWN, False, DATE_KNOWN), (DATE_NEW, True, DATE_NEW)],
)
def test_new_times_of_the_same_bytes_wait_for_the_history_if_it_was_read(
    connection: sqlite3.Connection, dated: int, moved: bool, after: int
) -> None:
    add(connection, "a.md", A)
    connection.execute("UPDATE files SET dated = ?", (dated,))
    stat = STAT._replace(inode=8, mtime_ns=STAT.mtime_ns + moved)
    set_stat(connection, Address("a.md"), stat)
    assert column(connection, "dated", "a.md") == after
    assert (column(connection, "inode", "a.md"), column(connection, "mtime_ns", "a.md")) == (8, stat.mtime_ns)


def test_a_name_of_few_documents_is_a_title_and_one_of_many_says_little(tmp_path: Path) -> None:
    many = {f"d{n}.md": "# Same\n" for n in range(MAX_TITLED + 1)}
    files = {"a.md": "# Große Frage\n", "b.md": "---\naliases: [GROSSE FRAGE]\n---\n# B\n", **many}
    with Indexed(tmp_path, files) as base:
        (path,) = base.cache.rglob(CATALOGUE_FILE)
        with closing(sqlite3.connect(path)) as connection:
            assert {document_key("a.md"), document_key("b.md")} == set(titled_keys(connection, "große frage"))
            assert titled_keys(connection, "Same") == []
            assert titled_keys(connection, "") == []
            assert titled_keys(connection, "none") == []
