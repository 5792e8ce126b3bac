"""All records of the catalogue. Those of unchanged documents are reused by later generations."""

from __future__ import annotations

import sqlite3
from typing import cast

from commonplace.domain.query import Record
from commonplace.index.catalogue.document_rows import document_key, encode, records_where

MAX_REUSED = 30_000
"""Maximum number of documents whose records stay in memory, at about 2 kB each."""

_Stamp = tuple[int, str, int, int, str, str, int]
"""All that a record depends on: number and file of the document, its dates, and whether another one has its id."""

_STAMPS = (
    "SELECT f.id, f.revision, f.mtime_ns, f.findings, f.created, f.updated,"
    " EXISTS (SELECT 1 FROM files o WHERE o.ident = f.ident AND o.id <> f.id) FROM files f ORDER BY f.path"
)


class RecordTable:
    """All records of one open catalogue. Thread-safe."""

    def __init__(self) -> None:
        self._records: dict[_Stamp, Record] = {}

    def all(self, connection: sqlite3.Connection) -> tuple[Record, ...]:
        """All records by path.

        Args:
            connection: The catalogue, inside a transaction.
        """
        stamps = cast("list[_Stamp]", connection.execute(_STAMPS).fetchall())
        before = self._records
        changed = {stamp[0]: stamp for stamp in stamps if stamp not in before}
        records = {stamp: before.get(stamp) for stamp in stamps}
        if changed:
            few = len(changed) * 2 < len(stamps)
            condition = "f.id IN (SELECT value FROM json_each(?))" if few else "1"
            fresh = records_where(connection, condition, (encode(list(changed)),) if few else ())
            numbers = {document_key(one.address.path): one for one in fresh}
            records |= {stamp: numbers[number] for number, stamp in changed.items()}
        complete = cast("dict[_Stamp, Record]", records)
        self._records = complete if len(complete) <= MAX_REUSED else {}
        return tuple(complete.values())
