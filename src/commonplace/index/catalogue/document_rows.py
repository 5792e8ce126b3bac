"""Rows of the catalogue's document tables: documents, records and outlines, and a cache of records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import NamedTuple, cast

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.citations import Citation, citations_of
from commonplace.domain.document_reader import FragmentMarks, FragmentNames, fragment_marks
from commonplace.domain.documents import Document, Outline
from commonplace.domain.links import NamedDocument, link_key
from commonplace.domain.query import Record
from commonplace.domain.query_parser import is_title
from commonplace.domain.records import STORED_FIELDS, day_number, fields_from_json, iso_timestamp, record_to_json
from commonplace.domain.status import DeclaredStatus, declared_statuses
from commonplace.index.catalogue.database import sql

# Rows of the catalogue's document tables: conversion to and from documents, records and outlines.


RECORD_COLUMNS = (
    "f.id, f.path, f.size, f.revision, f.ident, f.aliases, shown_title(f.title, f.path), f.type, f.date,"
    " f.created, f.updated, f.words, EXISTS (SELECT 1 FROM files o WHERE o.ident = f.ident AND o.id <> f.id), d.record"
)
RECORD_TABLES = "files f JOIN details d ON d.id = f.id"
"""Tables of the columns that `record_from` reads, which are `RECORD_COLUMNS` in order."""

GIVEN_CREATED = 1
GIVEN_UPDATED = 2
"""Bit of `files.given`: the frontmatter gives the updated date, so history does not replace it."""

DATE_NEW, DATE_KNOWN, DATE_EDITED, DATE_UNCOMMITTED = range(4)
"""Values of `files.dated`. DATE_NEW and DATE_EDITED are waiting for the history to be read.

DATE_NEW: the times are the file's. DATE_KNOWN: the times are the history's. DATE_EDITED: the document has changed, so
it may be newer than its last commit. DATE_UNCOMMITTED: the document is newer than its last commit.
"""

MAX_TITLED = 100
"""Maximum number of documents with one name that rank first in a search for it; a more common name gets no preference.
"""

_COLUMN_FIELDS = frozenset(
    {"id", "title", "type", "aliases", "date", "created", "updated", "words", "size", "revision"}
)
DETAIL_FIELDS = tuple([name for name in STORED_FIELDS if name not in _COLUMN_FIELDS])
"""Fields of a record that have no column, and are in `details.record`."""

RecordRow = tuple[int, str, int, str, str, str, str, str, str, str, str, int, int, str]

encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Encodes compact JSON. The encoder is shared, because creating it costs more than encoding a small value."""


@lru_cache(maxsize=65_536)
def document_key(path: str) -> int:
    """The document number in catalogue and full text, a hash of the path.

    A sequential number could be reused for another document if a killed process had used it in the full text alone.
    With 63 bits, a million documents collide with a probability of 1 in 10 million.
    """
    return int.from_bytes(blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


class NameWords(NamedTuple):
    """The words of the names of a document, and of its headings."""

    levels: str
    """The level of each section as one character, in order."""
    words: str
    """One line for title, aliases and file name, then one for each heading; blanks are between words."""


class DocumentColumns(NamedTuple):
    """The columns of a document that its bytes determine; plain values only."""

    path: str
    revision: Revision
    ident: str
    aliases: tuple[str, ...]
    title: str
    title_folded: str
    type: str
    type_folded: str
    date: str
    day: int
    created: str
    """Created time in the frontmatter; "" if there is none."""
    updated: str
    """Updated time in the frontmatter; "" if there is none."""
    words: int
    sections: int
    links: int
    findings: int
    record: str
    """The other fields of the record (`DETAIL_FIELDS`) as JSON."""
    outline: str
    marks: str
    """The names of its parts beside the outline, as stored by `outlines.stored_marks`."""
    tags: tuple[tuple[str, str], ...]
    """Tags, each folded and as written."""
    levels: str
    name_words: str
    """The parts of the `NameWords`."""
    statuses: tuple[tuple[str | int, ...], ...]
    """The fields of each `DeclaredStatus`."""
    citations: tuple[tuple[str | int, ...], ...]
    """The fields of each `Citation`."""
    blocks: tuple[str, ...]
    """References to blocks with an id, as in `NamedDocument`."""

    @property
    def names(self) -> NamedDocument:
        """The names by which links can refer to the document."""
        return NamedDocument(Address(self.path), self.ident, self.title, self.aliases, self.blocks)


def columns_of(document: Document, record: Record, name_words: NameWords) -> DocumentColumns:
    """The columns of a parsed document."""
    return DocumentColumns(
        path=record.address.path,
        revision=record.revision,
        ident=record.id,
        aliases=record.aliases,
        title=record.title,
        title_folded=record.title.casefold(),
        type=record.type,
        type_folded=fold(record.type),
        date=record.date,
        day=day_number(record.date),
        created=record.created,
        updated=record.updated,
        words=record.words,
        sections=len(document.sections),
        links=len(document.links),
        findings=len(record.findings),
        record=encode(record_to_json(record, DETAIL_FIELDS)),
        outline=Outline.of(document.sections).stored(),
        marks=stored_marks(fragment_marks(document)),
        tags=tuple([(fold(tag), tag) for tag in record.tags]),
        levels=name_words.levels,
        name_words=name_words.words,
        statuses=tuple(map(tuple, declared_statuses(document))),
        citations=tuple(map(tuple, citations_of(document))),
        blocks=record.blocks,
    )


class DocumentRows:
    """Inserts documents into `files` and the tables of their parts, all at once in the order of the tables.

    Old rows of a document remain until `finish`, because links that are resolved meanwhile must find a changed
    document.

    Args:
        connection: The catalogue, inside a write transaction.
        commit_time: Returns the time of the store's current commit in ISO 8601. Until its history is read, a document
            whose file has no time gets this date.
    """

    def __init__(self, connection: sqlite3.Connection, commit_time: Callable[[], str]) -> None:
        self._connection = connection
        self._commit_time = commit_time
        self._files: list[tuple[int | str, ...]] = []
        self._details: list[tuple[int, str, str, str]] = []
        self._name_words: list[tuple[int, str, str]] = []
        self._tags: list[tuple[str, int, str]] = []
        self._statuses: list[tuple[str | int, ...]] = []
        self._citations: list[tuple[int, str]] = []
        self._replaced: list[int] = []

    def add(self, columns: DocumentColumns, stat: FileStat, record: Record | None = None) -> None:
        """Add a document; it is written by `finish`.

        Args:
            columns: The document's columns.
            stat: Metadata of its file.
            record: Its old record; None if the document is new.
        """
        key = document_key(columns.path)
        if record:
            self._replaced.append(key)
        changed = iso_timestamp(stat.mtime_ns / 1e9) if stat.mtime_ns else self._commit_time()
        self._files.append(_file_row(key, columns, stat, record, changed))
        self._details.append((key, columns.record, columns.outline, columns.marks))
        self._name_words.append((key, columns.levels, columns.name_words))
        self._tags += [(folded, key, tag) for folded, tag in columns.tags]
        self._statuses += [(key, *declared) for declared in columns.statuses]
        if columns.citations:
            self._citations.append((key, encode(columns.citations)))

    def finish(self) -> None:
        """Write the added documents; called once."""
        remove_rows(self._connection, self._replaced)
        # Paths arrive in order, so their index grows at its end. The larger rows are sorted by key.
        self._connection.executemany(_INSERT_FILE, self._files)
        self._connection.executemany("INSERT INTO details VALUES (?, ?, ?, ?)", sorted(self._details))
        self._connection.executemany("INSERT INTO name_words VALUES (?, ?, ?)", sorted(self._name_words))
        self._connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", sorted(self._tags))
        statuses = sorted(self._statuses)
        self._connection.executemany("INSERT OR REPLACE INTO statuses VALUES (?, ?, ?, ?, ?, ?, ?)", statuses)
        self._connection.executemany("INSERT OR REPLACE INTO citations VALUES (?, ?)", sorted(self._citations))


def _file_row(
    key: int, columns: DocumentColumns, stat: FileStat, record: Record | None, changed: str
) -> tuple[int | str, ...]:
    created, updated = columns.created or (record.created if record else changed), columns.updated or changed
    given_number = (GIVEN_CREATED if columns.created else 0) | (GIVEN_UPDATED if columns.updated else 0)
    return (
        key, columns.path,
        stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, columns.revision,
        columns.ident, encode(columns.aliases) if columns.aliases else "",
        *columns[4:10],  # title to day
        created, day_number(created), updated, day_number(updated), given_number,
        DATE_EDITED if record else DATE_NEW,
        *columns[12:16],  # words to findings
    )  # fmt: skip


_INSERT_FILE = sql("INSERT INTO files VALUES (", ", ".join("?" * 25), ")")


def remove_rows(connection: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Delete documents from the tables that `DocumentRows` fills."""
    rows = [(key,) for key in keys]
    for statement in (
        "DELETE FROM tags WHERE file = ?",
        "DELETE FROM statuses WHERE file = ?",
        "DELETE FROM citations WHERE file = ?",
        "DELETE FROM details WHERE id = ?",
        "DELETE FROM name_words WHERE id = ?",
        "DELETE FROM files WHERE id = ?",
    ):
        connection.executemany(statement, rows)


def set_stat(connection: sqlite3.Connection, address: Address, stat: FileStat) -> None:
    """Store the new times of a file with unchanged bytes. They become the dates of an uncommitted document."""
    connection.execute(
        "UPDATE files SET dated = CASE WHEN mtime_ns <> ?2 AND dated % 2 = 1 THEN ?6 ELSE dated END,"
        " size = ?1, mtime_ns = ?2, ctime_ns = ?3, inode = ?4 WHERE path = ?5",
        (stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode, address.path, DATE_EDITED),
    )


class DamagedRowError(sqlite3.DatabaseError):
    """A row has a value that was not written there; SQLite does not notice changed bytes."""


def record_from(row: RecordRow) -> Record:
    """The record of a row of `RECORD_COLUMNS`.

    Raises:
        DamagedRowError: the row has no record.
    """
    _, path, size, revision, ident, aliases, title, type_, date, created, updated, words, shared, stored = row
    try:
        return Record(
            address=Address(path),
            id=ident,
            title=title,
            type=type_,
            aliases=aliases_from(aliases),
            date=date,
            created=created,
            updated=updated,
            words=words,
            size=size,
            revision=revision,
            shares_id=bool(shared),
            **fields_from_json(json.loads(stored)),
        )
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedRowError(f"the record of {path} is damaged") from error


def aliases_from(stored: str) -> tuple[str, ...]:
    """The aliases in the column of that name."""
    return tuple(cast("list[str]", json.loads(stored))) if stored else ()


def record_at(connection: sqlite3.Connection, path: str) -> Record | None:
    """The record at a path."""
    return next(iter(records_where(connection, "f.path = ?", (path,))), None)


def revisions_in(connection: sqlite3.Connection, keys: Sequence[int] | None = None) -> dict[Address, Revision]:
    """Documents of the catalogue with their revisions: all, or the existing ones among these numbers."""
    columns = "SELECT f.path, f.revision FROM"
    if keys is None:
        rows = connection.execute(sql(columns, "files f"))
    else:
        within = "json_each(?) w CROSS JOIN files f WHERE f.id = w.value"
        rows = connection.execute(sql(columns, within), (encode(keys),))
    return {Address(path): revision for path, revision in cast("list[tuple[str, str]]", rows.fetchall())}


def records_where(
    connection: sqlite3.Connection, condition: str, values: Iterable[str | int] = (), order: str = "f.path"
) -> list[Record]:
    """The records that match a condition on `files f`, in order."""
    rows = connection.execute(
        sql("SELECT", RECORD_COLUMNS, "FROM", RECORD_TABLES, "WHERE", condition, "ORDER BY", order), tuple(values)
    )
    return [record_from(cast("RecordRow", row)) for row in rows]


def statuses_by_address(connection: sqlite3.Connection) -> dict[Address, tuple[DeclaredStatus, ...]]:
    """The statuses that documents declare, of those that declare any, by path and ordinal."""
    rows = connection.execute(
        "SELECT f.path, s.ordinal, s.last, s.word, s.replaced_by, s.expires, s.review"
        " FROM statuses s CROSS JOIN files f ON f.id = s.file ORDER BY f.path, s.ordinal"
    )
    statuses: dict[Address, tuple[DeclaredStatus, ...]] = {}
    for path, *declared in rows:
        address = Address(path)
        statuses[address] = (*statuses.get(address, ()), DeclaredStatus(*declared))
    return statuses


def citations_by_address(
    connection: sqlite3.Connection, names: Sequence[str] = ()
) -> dict[Address, tuple[Citation, ...]]:
    """The citations of the documents that have any, or that cite something with one of these names; by path."""
    texts = [f"{before}{encode(name)[1:]}".lower() for name in names for before in '"/']
    rows = connection.execute(
        "SELECT f.path, c.citations FROM citations c CROSS JOIN files f ON f.id = c.file WHERE ? = '[]'"
        " OR EXISTS (SELECT 1 FROM json_each(?) n WHERE instr(lower(c.citations), n.value)) ORDER BY f.path",
        (encode(texts),) * 2,
    )
    return {Address(path): tuple([Citation(*element) for element in json.loads(stored)]) for path, stored in rows}


def paths_by_key(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, str]:
    """Paths by document number; unknown numbers are omitted."""
    rows = connection.execute(
        "SELECT f.id, f.path FROM json_each(?) w CROSS JOIN files f WHERE f.id = w.value", (encode(keys),)
    )
    return dict(cast("list[tuple[int, str]]", rows.fetchall()))


def titled_keys(connection: sqlite3.Connection, title: str) -> list[int]:
    """Numbers of the documents with this title or alias; empty if there are more than `MAX_TITLED`."""
    key = link_key(title)
    rows = connection.execute(
        "SELECT n.file, f.title, f.aliases FROM names n CROSS JOIN files f ON f.id = n.file WHERE n.key = ? LIMIT ?",
        (key, MAX_TITLED + 1),
    ).fetchall()
    if not key or len(rows) > MAX_TITLED:
        return []
    return [
        number
        for number, name, aliases in cast("list[tuple[int, str, str]]", rows)
        if is_title(title, (name, *aliases_from(aliases)))
    ]


StoredDocument = tuple[RecordRow, str]
"""The row of a document's record, and its stored outline."""


def rows_by_key(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, StoredDocument]:
    """Rows of documents by number, for `record_from`, with their outlines; unknown numbers are omitted."""
    columns = f"{RECORD_COLUMNS}, d.outline"
    rows = connection.execute(
        sql("SELECT", columns, "FROM json_each(?) w CROSS JOIN", RECORD_TABLES, "WHERE f.id = w.value"),
        (encode(keys),),
    )
    return {row[0]: (row[:-1], row[-1]) for row in cast("list[tuple[*RecordRow, str]]", rows.fetchall())}


def name_words_by_key(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, NameWords]:
    """The words of names by document number; unknown numbers are omitted."""
    rows = connection.execute(
        "SELECT n.id, n.levels, n.words FROM json_each(?) w CROSS JOIN name_words n WHERE n.id = w.value",
        (encode(keys),),
    )
    return {key: NameWords(levels, words) for key, levels, words in cast("Iterable[tuple[int, str, str]]", rows)}


def fragments_of(
    connection: sqlite3.Connection, keys: Sequence[int]
) -> Iterator[tuple[int, FragmentNames[OutlinePart]]]:
    """The number of each of these documents with the names of its parts; unknown numbers are omitted."""
    rows = connection.execute(
        "SELECT d.id, d.outline, d.marks FROM json_each(?) w CROSS JOIN details d WHERE d.id = w.value", (encode(keys),)
    )
    for key, outline, marks in cast("Iterable[tuple[int, str, str]]", rows):
        yield key, fragment_names(outline, marks)


# The names of a document's parts, from its stored outline.


class OutlinePart(NamedTuple):
    """The names of a section that fragments of links refer to."""

    path: tuple[str, ...]
    anchor: str


def stored_marks(marks: FragmentMarks) -> str:
    """The form of a document's other names that is stored in the catalogue; "" if there are none."""
    return encode((marks.sources, list(marks.elements), list(marks.blocks))) if any(marks) else ""


def fragment_names(outline: str, marks: str) -> FragmentNames[OutlinePart]:
    """The names of a document's parts, from its stored outline and the result of `stored_marks`."""
    parts: list[OutlinePart] = []
    above: list[tuple[int, str]] = []
    for level, heading, anchor, *_ in json.loads(outline):
        while above and above[-1][0] >= level:
            above.pop()
        above += [(level, heading)] if level else []
        parts.append(OutlinePart(tuple([text for _, text in above]), anchor))
    if not marks:
        return FragmentNames(parts, FragmentMarks({}, (), ()))
    sources, elements, blocks = cast("tuple[dict[str, str], list[str], list[str]]", json.loads(marks))
    return FragmentNames(parts, FragmentMarks(sources, frozenset(elements), frozenset(blocks)))


# A cache of the catalogue's records at one generation. Unchanged records are reused by later generations.


MAX_CACHED_DOCUMENTS = 1000
MAX_CACHED_PATHS = 50_000
"""Maximum number of cached paths; `MAX_CACHED_DOCUMENTS` is that of documents. A full cache is cleared."""


@dataclass(frozen=True)
class CachedDocument:
    """A cached document."""

    stored: StoredDocument

    @cached_property
    def record(self) -> Record:
        """The document's record, parsed on first use."""
        return record_from(self.stored[0])

    @cached_property
    def outline(self) -> Outline:
        """The document's sections, parsed on first use."""
        return Outline.from_stored(self.stored[1])


class RecordCache:
    """Documents by number, of one generation of the index. Thread-safe.

    A table only grows, and is replaced by an empty one when it is full.

    Args:
        before: Documents of earlier generations, which are reused if their rows are equal.
    """

    def __init__(self, before: Mapping[int, CachedDocument] | None = None) -> None:
        self._entries: dict[int, CachedDocument] = {}
        self._paths: dict[int, str] = {}
        self._before = before or {}

    def of_next_generation(self) -> RecordCache:
        """The cache of a later generation."""
        is_full = len(self._before) + len(self._entries) > MAX_CACHED_DOCUMENTS
        return RecordCache({**({} if is_full else self._before), **self._entries})

    def entries(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, CachedDocument]:
        """Documents in the order of their numbers; unknown numbers are omitted."""
        entries = self._entries
        documents = {key: entries[key] for key in keys if key in entries}
        missing = [key for key in keys if key not in documents]
        if missing:
            fresh = {key: self._document(key, stored) for key, stored in rows_by_key(connection, missing).items()}
            if len(entries) + len(fresh) > MAX_CACHED_DOCUMENTS:
                entries = self._entries = {}
            entries.update(fresh)
            documents |= fresh
        return {key: documents[key] for key in keys if key in documents}

    def paths(self, connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
        """Paths by document number; unknown numbers are omitted."""
        paths = self._paths
        found_paths = {key: paths[key] for key in keys if key in paths}
        missing = [key for key in keys if key not in found_paths]
        if missing:
            fresh = paths_by_key(connection, missing)
            if len(paths) + len(fresh) > MAX_CACHED_PATHS:
                paths = self._paths = {}
            paths.update(fresh)
            found_paths |= fresh
        return found_paths

    def _document(self, key: int, stored: StoredDocument) -> CachedDocument:
        before = self._before.get(key)
        return before if before and before.stored == stored else CachedDocument(stored)


# All records of the catalogue. Those of unchanged documents are reused by later generations.


MAX_REUSED = 30_000
"""Maximum number of documents whose records stay in memory, at about 2 kB each."""

_Stamp = tuple[int, str, int, int, str, str]
"""All that a record depends on besides the ids of other documents: number and file of the document, and its dates."""

_STAMPS = "SELECT id, revision, mtime_ns, findings, created, updated FROM files ORDER BY path"
_SHARING_ID = "SELECT id FROM files WHERE ident IN (SELECT ident FROM files GROUP BY ident HAVING count(*) > 1)"
"""The documents with an id that another one has, too: in one query, because one for each document costs three times."""


class RecordTable:
    """All records of one open catalogue. Thread-safe."""

    def __init__(self) -> None:
        self._before: tuple[dict[_Stamp, Record], frozenset[int]] = {}, frozenset()
        """The records of the last call, and the numbers of those that share their id."""

    def all(self, connection: sqlite3.Connection) -> tuple[Record, ...]:
        """All records by path.

        Args:
            connection: The catalogue, inside a transaction.
        """
        stamps = cast("list[_Stamp]", connection.execute(_STAMPS).fetchall())
        before, shared_before = self._before
        shared = frozenset(number for (number,) in connection.execute(_SHARING_ID))
        differing = shared ^ shared_before
        changed = {stamp[0]: stamp for stamp in stamps if stamp not in before or stamp[0] in differing}
        records = {stamp: before.get(stamp) for stamp in stamps}
        if changed:
            numbers = _records_of(connection, list(changed), len(stamps))
            records |= {stamp: numbers[number] for number, stamp in changed.items()}
        complete = cast("dict[_Stamp, Record]", records)
        self._before = (complete, shared) if len(complete) <= MAX_REUSED else ({}, frozenset())
        return tuple(complete.values())


def _records_of(connection: sqlite3.Connection, keys: Sequence[int], total: int) -> dict[int, Record]:
    """The records of documents by number; of all `total` documents, where that costs less."""
    few = len(keys) * 2 < total
    condition = "f.id IN (SELECT value FROM json_each(?))" if few else "1"
    fresh = records_where(connection, condition, (encode(keys),) if few else ())
    return {document_key(record.address.path): record for record in fresh}
