"""Writers of the searchable texts of documents: into the catalogue, or into the full text."""

from __future__ import annotations

import sqlite3
from typing import Protocol, cast

from commonplace.domain.addresses import Address
from commonplace.index.catalogue.database import read_number
from commonplace.index.catalogue.document_rows import document_key
from commonplace.index.fulltext.document_text import DocumentText, text_to_json
from commonplace.index.fulltext.tantivy_index import FullTextWriter

MAX_RECENT = 64
RECENT_SHARE = 16
"""The maximum number of recent documents is one per `RECENT_SHARE` documents, but at most `MAX_RECENT`."""
LARGE_TEXT = 1_000_000
"""Maximum size of a text in characters; a larger one is flushed at once, because every process would tokenize it."""


class TextWriter(Protocol):
    """Writes the searchable texts of documents."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        """Replace the text of a document.

        Args:
            address: The document.
            text: The text; None to delete it.
            new: Whether there is certainly no old text.
        """
        ...


class RecentTextWriter:
    """Writes texts into the catalogue, until they are flushed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._large = False
        self.used = False
        """Whether any text was written."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:  # noqa: ARG002
        """Replace the text of a document, whether or not there is an old one."""
        # The transaction increments the generation, so this number is unique among a document's texts.
        seq = read_number(self._connection, "generation") + 1
        self.used = True
        stored = text_to_json(text) if text else None
        self._large = self._large or len(stored or "") > LARGE_TEXT
        row = (document_key(address.path), seq, address.path, stored)
        self._connection.execute("INSERT OR REPLACE INTO recent VALUES (?, ?, ?, ?)", row)

    @property
    def times_full(self) -> float:
        """Number of recent documents relative to its limit; from 1 on, they should be flushed."""
        waiting = self._connection.execute("SELECT count(*) FROM recent").fetchone()[0]
        documents = self._connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM files LIMIT ?)", (MAX_RECENT * RECENT_SHARE,)
        ).fetchone()[0]
        return 1.0 if self._large else waiting / (documents // RECENT_SHARE + 1)


class FullTextBatch:
    """Writes texts into the full text."""

    def __init__(self, connection: sqlite3.Connection, writer: FullTextWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._recent = {cast("int", row[0]) for row in connection.execute("SELECT id FROM recent")}

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        """Replace the text of a document in the full text, and remove its text from the catalogue."""
        key = document_key(address.path)
        if key in self._recent:
            self._connection.execute("DELETE FROM recent WHERE id = ?", (key,))
        if not new:
            self._writer.remove(key)
        if text:
            self._writer.add(key, text)
