"""Texts go into the catalogue, which tells when they are too many, or into the full text."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.index.catalogue.database import Catalogue, create_catalogue
from commonplace.index.catalogue.document_rows import document_key
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.transaction import MIN_RECENT, FullTextBatch, RecentTextWriter
from indexed import full_text, searchable


def opened(folder: Path) -> Catalogue:
    create_catalogue(folder / "catalogue.sqlite3")
    return Catalogue(folder / "catalogue.sqlite3")


def test_a_catalogue_of_few_documents_is_full_after_sixteen_texts(tmp_path: Path) -> None:
    catalogue = opened(tmp_path)
    with catalogue.writing() as connection:
        writer = RecentTextWriter(connection)
        assert (writer.used, writer.times_full) == (False, 0)
        writer.put(Address("1.md"), searchable(1, "text"), new=True)
        assert (writer.used, writer.times_full) == (True, 1 / MIN_RECENT)
        writer.put(Address("1.md"), None, new=False)
        assert connection.execute("SELECT path, text FROM recent").fetchall() == [("1.md", None)]
        writer.put(Address("2.md"), searchable(2, "text"), new=True)
        assert writer.times_full == 2 / MIN_RECENT
    catalogue.close()


def test_a_text_of_the_batch_replaces_the_one_that_waits_and_the_older_one(tmp_path: Path) -> None:
    catalogue, key = opened(tmp_path), document_key("1.md")
    full = full_text(tmp_path / "full", {key: "old"})
    with catalogue.writing() as connection:
        RecentTextWriter(connection).put(Address("1.md"), searchable(1, "newer"), new=False)
        with full.writing(bulk=False) as writer:
            FullTextBatch(connection, writer).put(Address("1.md"), searchable(1, "newest"), new=False)
        assert not connection.execute("SELECT 1 FROM recent").fetchone()
    documents = FullText(tmp_path / "full").searchers(0).documents
    assert documents.num_docs == 1
    assert documents.doc_freq("body", "newest") == 1
    catalogue.close()
