"""Ingestion of files into the index; a killed process loses nothing at any point.

A few changed files go into the catalogue in one transaction, with their texts, which are searched there until a batch
of them is flushed to the full text. Many changed files (a first sync, a branch switch) go into both at once: their
paths are first stored as pending, and after a kill the next sync continues with that list. Catalogue and full text are
keyed by path, so repeating a part changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.links import link_key
from commonplace.domain.ports import Progress, Store
from commonplace.domain.query import Record
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.index.batch_lock import BatchLock
from commonplace.index.catalogue import pending_files
from commonplace.index.catalogue.database import (
    Catalogue,
    drop_late_indexes,
    grow,
    make_late_indexes,
    read_meta,
    read_number,
    write_meta,
)
from commonplace.index.catalogue.document_rows import DocumentRows, document_key, record_at, remove_rows, set_stat
from commonplace.index.catalogue.links import LinkWriter, has_links, mark_unresolved, resolve_links
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.fulltext.document_text import DocumentText, document_text, text_from_json, text_to_json
from commonplace.index.fulltext.tantivy_index import FullText, FullTextWriter
from commonplace.index.process.file_limit import file_limit_error, is_file_limit
from commonplace.index.process.garbage_collector import gc_disabled
from commonplace.index.sites.finder import SiteFinder
from commonplace.index.sites.refresh import refresh_sites

MAX_SMALL_UPDATE = 64
"""Maximum number of changed files that go into the catalogue alone."""
MAX_RECENT = 64
RECENT_SHARE = 16
"""Maximum number of recent documents in the catalogue: one per `RECENT_SHARE` documents, at most `MAX_RECENT`."""
MAX_RECENT_FACTOR = 4
"""Multiple of that number at which a write flushes itself, if changes come faster than they are flushed."""
LARGE_TEXT = 1_000_000
"""Size of a text above which a document is flushed at once, because tokenizing it in every process is expensive."""
BATCH_FILES = 10_000
BATCH_BYTES = 24_000_000
"""Limits of a batch in files and bytes: memory grows with the bytes, and every batch adds a segment to search."""


@dataclass(slots=True)
class Outcome:
    """The changes of an ingestion."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    changed: list[Address] = field(default_factory=list[Address])
    """All documents in the counts."""
    flush_due: bool = False
    """Whether `flush` should run, in the background."""


class Ingest:
    """Ingests files into an index.

    Args:
        store: The files.
        catalogue: The catalogue.
        fulltext: The full text.
        lock: Lock of writers of the full text.
        others: Files that are not documents.
    """

    def __init__(
        self, store: Store, catalogue: Catalogue, fulltext: FullText, lock: BatchLock, others: OtherFiles
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._fulltext = fulltext
        self._lock = lock
        self._other_files = others

    def ingest_few(self, paths: Sequence[str]) -> Outcome:
        """Index changed files in the catalogue, with their texts. They are searchable by every process on return."""
        outcome = Outcome()
        with self._catalogue.writing() as connection:
            recent = _RecentTextWriter(connection)
            again = pending_files.left_by_crash(connection, paths)
            files, linker = (self._store.stat, self._store.read), LinkWriter(connection, self._store, self._other_files)
            taking = _IngestTransaction(files, connection, recent, linker, outcome, again)
            for path in dict.fromkeys(paths):
                taking.take(Address(path), None)
            taking.finish()
            connection.executemany("DELETE FROM pending WHERE path = ?", [(path,) for path in again])
            resolve_links(connection, self._store, self._other_files)
            if recent.used:
                grow(connection, "generation")
            outcome.flush_due = recent.times_full >= 1
            overfull = recent.times_full >= MAX_RECENT_FACTOR
        if overfull:
            self.flush()
        return outcome

    def differing(self, paths: Sequence[str]) -> list[str]:
        """The files that differ from the index. Reads only, so that no process has to wait."""
        with self._catalogue.reading() as connection:
            return pending_files.differing(connection, self._store, paths)

    def resolve_other_files(self, addresses: Sequence[Address]) -> None:
        """Resolve the links again that may lead to added or removed files that are not documents."""
        self._other_files.changed(addresses)
        keys = {link_key(address.path) for address in addresses}
        with self._catalogue.reading() as connection:
            concerned = has_links(connection, keys)
        if concerned:
            with self._catalogue.writing() as connection:
                mark_unresolved(connection, keys)
                resolve_links(connection, self._store, self._other_files)
                grow(connection, "generation")

    def ingest_scanned(self, progress: Progress | None, finder: SiteFinder) -> Outcome:
        """Index all differences between the index and a scan of all files, and the docs trees that `finder` finds.

        Raises:
            StorageError: listing the folder failed.
            UnavailableError: acquiring the lock timed out.
        """
        found = pending_files.scanned(self._store)
        with self._catalogue.reading() as connection:
            complete = read_meta(connection, "complete") is not None
        stats = {} if complete else dict(found)  # a first sync resolves links immediately, so it must know all
        refresh_sites(self._catalogue, self._store, self._other_files, finder, stats)
        differing, missing = pending_files.compared(self._catalogue, found if complete else stats.items())
        self._other_files.forget()
        with self._catalogue.reading() as connection:
            left = [row[0] for row in connection.execute("SELECT path FROM pending")]
            missing += [row[0] for row in connection.execute("SELECT path FROM unreadable") if row[0] not in differing]
        unseen = pending_files.unreachable(self._store, missing)
        changed = dict.fromkeys((*left, *differing, *(path for path in missing if path not in unseen)))
        if not complete or len(changed) > MAX_SMALL_UPDATE:
            outcome = self.ingest_many(differing if complete else stats, list(changed), progress)
        else:
            outcome = self.ingest_few(list(changed)) if changed else Outcome()
        outcome.unreadable |= unseen
        return outcome

    def ingest_many(self, stats: Mapping[str, FileStat], changed: Sequence[str], progress: Progress | None) -> Outcome:
        """Index changed files in catalogue and full text, in batches.

        Args:
            stats: The scanned metadata of every file.
            changed: Paths of new, changed and deleted files.
            progress: Called after each file with the number of finished files.

        Raises:
            UnavailableError: acquiring the lock timed out.
        """
        outcome = Outcome()
        with self._catalogue.writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO pending VALUES (?, 0)", [(path,) for path in changed])
        total = len(changed)
        while True:
            with self._lock.held(), gc_disabled():
                left = self._batch(stats, outcome, progress, total)
            if not left:
                return outcome

    def flush(self) -> None:
        """Flush the texts of recent documents to the full text, unless another process just has.

        Raises:
            UnavailableError: acquiring the lock timed out.
        """
        with self._lock.held():
            with self._catalogue.reading() as connection:
                rows = cast(
                    "list[tuple[int, int, str | None]]",
                    connection.execute("SELECT id, seq, text FROM recent").fetchall(),
                )
                full = _RecentTextWriter(connection).times_full >= 1
            if not full and not any(len(text or "") > LARGE_TEXT for _, _, text in rows):
                return
            with self._fulltext.writing(bulk=False) as writer:
                for key, _, text in rows:
                    writer.remove(key)
                    if text:
                        writer.add(key, text_from_json(text))
            with self._catalogue.writing() as connection:
                connection.executemany("DELETE FROM recent WHERE id = ? AND seq = ?", [row[:2] for row in rows])
                grow(connection, "fulltext")
                grow(connection, "generation")

    def _batch(self, stats: Mapping[str, FileStat], outcome: Outcome, progress: Progress | None, total: int) -> int:
        """Index a batch of the pending files; returns how many remain."""
        with self._catalogue.writing() as connection:
            left = pending_files.mark_batch_begun(connection, BATCH_FILES)
        # The catalogue's transaction ends last: the list of pending files shrinks after everything else is committed.
        with self._catalogue.writing(batch=True) as connection:
            waiting = pending_files.pending_paths(connection)
            if not waiting:
                make_late_indexes(connection)
                write_meta(connection, "complete", 1)
                return 0
            first = read_meta(connection, "complete") is None
            if first:
                drop_late_indexes(connection)
            linker = LinkWriter(connection, self._store, self._other_files, stats if first else None)
            bulk = len(waiting) > MAX_SMALL_UPDATE
            with self._fulltext.writing(bulk=bulk) as writer, self._store.reading() as read:
                taking = _IngestTransaction(
                    (self._store.stat, read), connection, _FullTextBatch(connection, writer), linker, outcome, left
                )
                begun = [(path, unknown) for path, begun, unknown in waiting if begun][:BATCH_FILES]
                done = 0
                for path, unknown in begun:
                    taking.take(Address(path), stats.get(path), new=unknown and path not in left)
                    done += 1
                    if progress:
                        progress(max(total - len(waiting), 0) + done, max(total, len(waiting)))
                    if taking.size > BATCH_BYTES:
                        break
                taking.finish()
            if done == len(waiting):
                make_late_indexes(connection)
                resolve_links(connection, self._store, self._other_files)
                write_meta(connection, "complete", 1)
            pending_files.mark_batch_done(connection, [path for path, _ in begun], done, left)
            grow(connection, "fulltext")
            grow(connection, "generation")
        return len(waiting) - done


class _TextWriter(Protocol):
    """Writes the searchable texts of documents."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        """Replace the text of a document; None deletes it. `new`: no old text exists."""
        ...


class _RecentTextWriter:
    """Writes texts into the catalogue, until they are flushed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._large = False
        self.used = False
        """Whether any text was written."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:  # noqa: ARG002
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


class _FullTextBatch:
    """Writes texts into the full text."""

    def __init__(self, connection: sqlite3.Connection, writer: FullTextWriter) -> None:
        self._connection = connection
        self._writer = writer
        self._recent = {cast("int", row[0]) for row in connection.execute("SELECT id FROM recent")}

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        key = document_key(address.path)
        if key in self._recent:
            self._connection.execute("DELETE FROM recent WHERE id = ?", (key,))
        if not new:
            self._writer.remove(key)
        if text:
            self._writer.add(key, text)


_Files = tuple[Callable[[Address], FileStat | None], Callable[[Address], bytes]]


class _IngestTransaction:
    """Indexes files one by one inside one transaction of the catalogue.

    Args:
        files: Functions that return a file's metadata and bytes.
        connection: The catalogue.
        texts: Writer of the texts.
        linker: Writer of the links.
        outcome: Collects the changes.
        again: Paths whose texts are written even if the catalogue has the same revision.
    """

    def __init__(
        self,
        files: _Files,
        connection: sqlite3.Connection,
        texts: _TextWriter,
        linker: LinkWriter,
        outcome: Outcome,
        again: Collection[str],
    ) -> None:
        self._stat, self._read = files
        self._connection = connection
        self._texts = texts
        self._linker = linker
        self._outcome, self._before = outcome, (outcome.added, outcome.removed)
        self._again = again
        self._entries = DocumentRows(connection)
        self._unreadable = {cast("str", row[0]) for row in connection.execute("SELECT path FROM unreadable")}
        self.size = 0
        """Bytes read so far."""

    def take(self, address: Address, stat: FileStat | None, *, new: bool = False) -> None:
        """Index one file.

        Args:
            address: Address of the file.
            stat: Its metadata; read if None.
            new: Whether the index cannot contain the file.
        """
        known = None if new else record_at(self._connection, address.path)
        try:
            stat = stat or self._stat(address)
        except StorageError as error:
            if known and address.path not in self._again:
                self._outcome.unreadable[address.path] = str(error)
                return  # the document stays, because the file may still exist
        found = self._load(address, stat)
        if found is None:
            self._replace(address, known, None, None, new=new)
            return
        stat, raw = found
        self.size += len(raw)
        revision = revision_of(raw)
        if known and known.revision == revision and address.path not in self._again:
            set_stat(self._connection, address, stat)
            return
        document = read_document(address, raw)
        record = build_record(document, revision)
        self._replace(address, known, record, document, new=new)
        self._entries.add(document, record, stat, known)

    def finish(self) -> None:
        """Write the collected changes; called once, before links are resolved."""
        if (self._outcome.added, self._outcome.removed) != self._before:
            grow(self._connection, "comings")
        self._entries.finish()
        self._linker.finish()

    def _replace(
        self, address: Address, known: Record | None, record: Record | None, document: Document | None, *, new: bool
    ) -> None:
        if known and not document:
            remove_rows(self._connection, [document_key(address.path)])
        if known or document:
            self._linker.change(known, record, document)
            self._outcome.changed.append(address)
        elif address.path not in self._again:
            return
        self._texts.put(address, document_text(document, record) if document and record else None, new=new)
        self._outcome.added += known is None and record is not None
        self._outcome.updated += known is not None and record is not None
        self._outcome.removed += known is not None and record is None

    def _load(self, address: Address, stat: FileStat | None) -> tuple[FileStat, bytes] | None:
        """A file's metadata and bytes; None if it is not a document, is gone or is unreadable, which is recorded."""
        if address.path in self._unreadable:
            self._connection.execute("DELETE FROM unreadable WHERE path = ?", (address.path,))
        try:
            stat = stat or self._stat(address)
            return (pending_files.settled_stat(stat), self._read(address)) if stat and address.is_document else None
        except NotFoundError:
            return None
        except StorageError as error:
            if is_file_limit(error):
                raise file_limit_error() from error
            self._outcome.unreadable[address.path] = str(error)
            self._connection.execute("INSERT INTO unreadable VALUES (?, ?)", (address.path, str(error)))
            return None
