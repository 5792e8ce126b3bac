"""One transaction of an ingestion: reads files, and writes the data derived from them, and the files still pending."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.foreground import give_way
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue.database import Catalogue, grow, read_number
from commonplace.index.catalogue.document_rows import (
    DocumentRows,
    document_key,
    encode,
    record_at,
    remove_rows,
    set_stat,
)
from commonplace.index.catalogue.links import LinkWriter
from commonplace.index.fulltext.document_text import DocumentText, text_to_json
from commonplace.index.fulltext.tantivy_index import FullTextWriter
from commonplace.index.parse_worker import FileToParse, PreparedDocument, prepare
from commonplace.index.process import file_limit_error, is_file_limit

# One transaction of an ingestion: reads files, and writes the data derived from them.


@dataclass(slots=True)
class Outcome:
    """The changes of an ingestion."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    changed: list[Address] = field(default_factory=list[Address])
    """All counted documents."""
    flush_due: bool = False
    """Whether `flush` should run, in the background."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an ingestion."""

    stat: Callable[[Address], FileStat | None]
    """Returns a file's metadata; None if there is no such file."""
    read: Callable[[Address], bytes]
    """Returns a file's bytes."""
    commit_time: Callable[[], str]
    """Returns the time of the current commit in ISO 8601; called for files without a time."""


class LoadedFile(NamedTuple):
    """A file that was read and has to be parsed and written."""

    known: Record | None
    """The document's old record; None if the document is new."""
    stat: FileStat
    is_new: bool
    """Whether the index cannot contain the file."""
    file: FileToParse


class IngestTransaction:
    """Indexes files one by one inside one transaction of the catalogue.

    Args:
        files: The files.
        connection: The catalogue.
        texts: Writer of the texts.
        linker: Writer of the links.
        outcome: Collects the changes.
        again: Paths whose texts are written even if the catalogue has the same revision.
    """

    def __init__(
        self,
        files: Files,
        connection: sqlite3.Connection,
        texts: TextWriter,
        linker: LinkWriter,
        outcome: Outcome,
        again: Collection[str],
    ) -> None:
        self._stat, self._read = files.stat, files.read
        self._connection = connection
        self._texts = texts
        self._linker = linker
        self._outcome, self._before = outcome, (outcome.added, outcome.removed)
        self._again = again
        self._entries = DocumentRows(connection, files.commit_time)
        self._unreadable = {cast("str", row[0]) for row in connection.execute("SELECT path FROM unreadable")}
        self.size = 0
        """Bytes read so far."""

    def take(self, address: Address, stat: FileStat | None, *, new: bool = False) -> None:
        """Index one file. The arguments are those of `load`."""
        loaded = self.load(address, stat, new=new)
        if loaded:
            self.put(loaded, prepare(loaded.file))

    def load(self, address: Address, stat: FileStat | None, *, new: bool = False) -> LoadedFile | None:
        """Read one file; None if there is nothing to parse: it is unchanged, missing, unreadable or not a document.

        Args:
            address: Address of the file.
            stat: Metadata of the file; None to read it.
            new: Whether the index cannot contain the file.
        """
        record = None if new else record_at(self._connection, address.path)
        try:
            stat = stat or self._stat(address)
        except StorageError as error:
            if record and address.path not in self._again:
                self._outcome.unreadable[address.path] = str(error)
                return None  # the document remains in the index, because the file may still exist
        file = self._read_file(address, stat)
        if file is None:
            self._remove(address, record, new=new)
            return None
        stat, raw = file
        self.size += len(raw)
        revision = revision_of(raw)
        if record and record.revision == revision and address.path not in self._again:
            set_stat(self._connection, address, stat)
            return None
        return LoadedFile(record, stat, new, FileToParse(address.path, revision, raw))

    def put(self, loaded: LoadedFile, document: PreparedDocument) -> None:
        """Write one document. Call it in the order in which the documents were loaded."""
        record, address = loaded.known, Address(loaded.file.path)
        self._linker.change(record, document.columns, document.links)
        self._outcome.changed.append(address)
        self._texts.put(address, document.text, new=loaded.is_new)
        self._outcome.added += record is None
        self._outcome.updated += record is not None
        self._entries.add(document.columns, loaded.stat, record)

    def finish(self) -> None:
        """Write the collected changes; called once, before links are resolved."""
        if (self._outcome.added, self._outcome.removed) != self._before:
            grow(self._connection, "comings")
        self._entries.finish()
        self._linker.finish()

    def _remove(self, address: Address, record: Record | None, *, new: bool) -> None:
        """Remove a document from catalogue and full text, if it exists there."""
        if record:
            remove_rows(self._connection, [document_key(address.path)])
            self._linker.change(record, None)
            self._outcome.changed.append(address)
            self._outcome.removed += 1
        elif address.path not in self._again:
            return
        self._texts.put(address, None, new=new)

    def _read_file(self, address: Address, stat: FileStat | None) -> tuple[FileStat, bytes] | None:
        """A file's metadata and bytes; None if it is not a document, missing or unreadable (the last is recorded)."""
        if address.path in self._unreadable:
            self._connection.execute("DELETE FROM unreadable WHERE path = ?", (address.path,))
        try:
            stat = stat or self._stat(address)
            return (settled_stat(stat), self._read(address)) if stat and address.is_document else None
        except NotFoundError:
            return None
        except StorageError as error:
            if is_file_limit(error):
                raise file_limit_error() from error
            self._outcome.unreadable[address.path] = str(error)
            self._connection.execute("INSERT INTO unreadable VALUES (?, ?)", (address.path, str(error)))
            return None


# Writers of the searchable texts of documents: into the catalogue, or into the full text.


MIN_RECENT = 16
MAX_RECENT = 64
RECENT_SHARE = 16
"""The maximum number of recent documents is one per `RECENT_SHARE` documents, within `MIN_RECENT` and `MAX_RECENT`.

A search of 16 recent documents takes as long as one of the full text; a writer of the full text takes 45 ms of CPU time
and 6,000 page faults, however little it writes.
"""


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
        self.used = False
        """Whether any text was written."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:  # noqa: ARG002
        """Replace the text of a document, whether or not there is an old one."""
        # The transaction increments the generation, so this number is unique among a document's texts.
        seq = read_number(self._connection, "generation") + 1
        self.used = True
        row = (document_key(address.path), seq, address.path, text_to_json(text) if text else None)
        self._connection.execute("INSERT OR REPLACE INTO recent VALUES (?, ?, ?, ?)", row)

    @property
    def times_full(self) -> float:
        """Number of recent documents relative to its limit; above 1, they should be flushed."""
        waiting = self._connection.execute("SELECT count(*) FROM recent").fetchone()[0]
        documents = self._connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM files LIMIT ?)", (MAX_RECENT * RECENT_SHARE,)
        ).fetchone()[0]
        return waiting / max(documents // RECENT_SHARE, MIN_RECENT)


class FullTextBatch:
    """Writes texts into the full text."""

    def __init__(self, connection: sqlite3.Connection, writer: FullTextWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._recent = {cast("int", row[0]) for row in connection.execute("SELECT id FROM recent")}

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        """Replace the text of a document in the full text, and remove its text from the catalogue."""
        key = document_key(address.path)
        waits = key in self._recent
        if waits:
            self._connection.execute("DELETE FROM recent WHERE id = ?", (key,))
        if waits or not new:  # a new document may replace one whose deletion waits
            self._writer.remove(key)
        if text:
            self._writer.add(key, text)


# Stores the files that a sync still has to index, so that the next sync continues after a killed process.


UNSETTLED_NS = 100_000_000
"""Nanoseconds after a change within which another change may leave the file's times the same."""


def left_by_crash(connection: sqlite3.Connection, paths: Sequence[str]) -> frozenset[str]:
    """The paths whose state in the full text may differ from the catalogue after a killed sync."""
    rows = connection.execute(
        "SELECT path FROM pending WHERE path IN (SELECT value FROM json_each(?))", (encode(list(paths)),)
    )
    return frozenset(cast("str", row[0]) for row in rows)


def differing(connection: sqlite3.Connection, store: Store, paths: Sequence[str]) -> list[str]:
    """The files that differ from the catalogue, or that a sync has to read again."""
    row = (encode(list(paths)),)
    rows = connection.execute(
        "SELECT path, revision FROM files WHERE path IN (SELECT value FROM json_each(?1))"
        " UNION ALL SELECT path, NULL FROM unreadable WHERE path IN (SELECT value FROM json_each(?1))",
        row,
    )
    known_rows = dict(cast("list[tuple[str, str | None]]", rows.fetchall()))
    left = left_by_crash(connection, paths)
    return [path for path in dict.fromkeys(paths) if path in left or known_rows.get(path, "") != _revision(store, path)]


def _revision(store: Store, path: str) -> str:
    """The current revision of a file; "" if there is no file, and a sentinel if it is unreadable."""
    try:
        return revision_of(store.read(Address(path)))
    except NotFoundError:
        return ""
    except StorageError:
        return "unreadable"


def scanned(store: Store) -> Iterator[tuple[str, FileStat]]:
    """All documents of a store. Errors are converted to StorageError, so that they do not count as index damage."""
    try:
        for address, stat in store.scan():
            give_way()
            yield address.path, stat
    except (OSError, ValueError) as error:
        raise StorageError("The folder cannot be looked through.", kind="folder", hint="Try again.") from error


def compared(catalogue: Catalogue, pairs: Iterable[tuple[str, FileStat]]) -> tuple[dict[str, FileStat], list[str]]:
    """Scanned files that differ from the catalogue, and documents of the catalogue that the scan did not find.

    Only a hash per document is in memory; the rows of all documents would take ten times the memory at every scan, and
    fragment it for hours. If another process indexes a document during the scan, and the document is deleted before the
    scan reaches it, the next scan finds it missing.
    """
    with catalogue.reading() as connection:
        hashes = {hash(row) for row in _stats(connection)}
    changed: dict[str, FileStat] = {}
    for path, stat in pairs:
        number = hash((path, *stat))
        if number in hashes:
            hashes.discard(number)
        else:
            changed[path] = stat
    if not hashes:
        return changed, []
    with catalogue.reading() as connection:
        return changed, [row[0] for row in _stats(connection) if hash(row) in hashes and row[0] not in changed]


def _stats(connection: sqlite3.Connection) -> Iterator[_Stat]:
    """Path and the fields of `FileStat` of every document."""
    return connection.execute("SELECT path, size, mtime_ns, ctime_ns, inode FROM files")


_Stat = tuple[str, int, int, int, int]


def unreachable(store: Store, paths: Sequence[str]) -> dict[str, str]:
    """The documents whose existence cannot be determined, each with the reason.

    A temporarily unreadable folder may not be empty, so its documents remain in the index.
    """
    reasons: dict[str, str] = {}
    for path in paths:
        try:
            store.stat(Address(path))
        except StorageError as error:
            reasons[path] = str(error)
    return reasons


def mark_batch_begun(connection: sqlite3.Connection, files: int) -> frozenset[str]:
    """Mark the pending files of the next batch; returns the paths that a failed batch had marked."""
    left = frozenset(cast("str", row[0]) for row in connection.execute("SELECT path FROM pending WHERE begun"))
    connection.execute(
        "UPDATE pending SET begun = 1 WHERE path IN (SELECT path FROM pending ORDER BY path LIMIT ?)", (files,)
    )
    return left


def mark_batch_done(connection: sqlite3.Connection, paths: Sequence[str], done: int, left: Collection[str]) -> None:
    """Remove a batch's files from the pending ones, in the batch's transaction.

    Args:
        connection: The catalogue, inside the batch's transaction; the full text has been committed.
        paths: Paths of the batch, in order.
        done: Number of paths that were indexed. The full text's state of the others is unchanged.
        left: Result of `mark_batch_begun`: paths whose state in the full text is unknown.
    """
    connection.executemany("DELETE FROM pending WHERE path = ?", [(path,) for path in paths[:done]])
    unreached = [(path,) for path in paths[done:] if path not in left]
    connection.executemany("UPDATE pending SET begun = 0 WHERE path = ?", unreached)


def pending_count(connection: sqlite3.Connection) -> int:
    """Number of the pending paths."""
    return connection.execute("SELECT count(*) FROM pending").fetchone()[0]


def begun_paths(connection: sqlite3.Connection, files: int) -> list[tuple[str, bool]]:
    """The first paths of a begun batch in order, each with whether the catalogue lacks it."""
    rows = connection.execute(
        "SELECT p.path, f.id IS NULL FROM pending p LEFT JOIN files f ON f.path = p.path"
        " WHERE p.begun ORDER BY p.path LIMIT ?",
        (files,),
    )
    return [(path, bool(unknown)) for path, unknown in rows]


def settled_stat(stat: FileStat) -> FileStat:
    """The metadata to store; invalid for a very recently changed file, so that the next sync reads it again."""
    if time.time_ns() - max(stat.mtime_ns, stat.ctime_ns) > UNSETTLED_NS:
        return stat
    return stat._replace(ctime_ns=-1)
