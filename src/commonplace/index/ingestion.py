"""Bringing files into the index, so that a kill at any moment loses nothing.

A few changed files go into the catalogue in one transaction, with their texts, which are searched from there until a
batch of them moves into the full text. Many changed files (a first sync, a branch switch) go into both at once: their
paths are first written down as pending, and a killed process leaves that list to whoever syncs next. Both halves are
keyed by path, so doing a part again changes nothing that was already right.
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

MAX_SMALL_UPDATE = 64
"""More changed files than this go into both halves at once."""
MAX_RECENT = 64
RECENT_SHARE = 16
"""How many documents wait in the catalogue: one for every so many documents, and never more than the former."""
MAX_RECENT_FACTOR = 4
"""So many times as many wait at the most, should they come faster than they are moved."""
LARGE_TEXT = 1_000_000
"""Bytes of a document that does not wait: taking it apart for every process costs more than a commit."""
BATCH_FILES = 10_000
BATCH_BYTES = 24_000_000
"""A batch of a full sync ends with whichever comes first. Memory grows with the bytes, and a search takes longer the
more parts the full text has, of which each batch makes one."""


@dataclass(slots=True)
class Outcome:
    """What was changed."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    changed: list[Address] = field(default_factory=list[Address])
    """Every document of the counts."""
    flush_due: bool = False
    """Whether it is time for `flush`: nobody needs to wait for it."""


class Ingest:
    """The way into an index, for one process.

    Args:
        store: The files.
        catalogue: One half.
        fulltext: The other.
        lock: Held by whoever writes to the full text.
        others: Files that are no documents.
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
        """Take changed files into the catalogue, texts included; searchable by every process on return."""
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
        """Those of these files that are not as the index knows them; it is only read, so nobody has to wait."""
        with self._catalogue.reading() as connection:
            return pending_files.differing(connection, self._store, paths)

    def resolve_other_files(self, addresses: Sequence[Address]) -> None:
        """Resolve again what may lead to files that are no documents and have come or gone."""
        self._other_files.changed(addresses)
        keys = {link_key(address.path) for address in addresses}
        with self._catalogue.reading() as connection:
            concerned = has_links(connection, keys)
        if concerned:
            with self._catalogue.writing() as connection:
                mark_unresolved(connection, keys)
                resolve_links(connection, self._store, self._other_files)
                grow(connection, "generation")

    def ingest_scanned(self, progress: Progress | None) -> Outcome:
        """Take in whatever differs between the index and a scan of all files.

        Raises:
            StorageError: the folder cannot be listed.
            UnavailableError: another process kept the lock for too long.
        """
        found = pending_files.scanned(self._store)
        with self._catalogue.reading() as connection:
            complete = read_meta(connection, "complete") is not None
        # A first sync resolves links as it goes, so it must know of every document that there will be.
        stats = {} if complete else dict(found)
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
        """Take changed files into both halves, a batch at a time.

        Args:
            stats: What a scan has just said of every file.
            changed: Paths that are new, changed or gone.
            progress: Told after each file how many are done.

        Raises:
            UnavailableError: another process kept the lock for too long.
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
        """Move the texts that wait in the catalogue into the full text, unless another process just has.

        Raises:
            UnavailableError: another process kept the lock for too long.
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
        """Take in a part of the pending files; how many are left."""
        with self._catalogue.writing() as connection:
            left = pending_files.mark_batch_begun(connection, BATCH_FILES)
        # The catalogue's transaction ends last: the list of pending files shrinks when all the rest is safe.
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
    """Where the searched texts of documents go."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:
        """Replace the text of a document; None: it is gone. `new`: certainly none of it is there yet."""
        ...


class _RecentTextWriter:
    """Into the catalogue, until they move."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._large = False
        self.used = False
        """Whether anything was put."""

    def put(self, address: Address, text: DocumentText | None, *, new: bool) -> None:  # noqa: ARG002
        # The generation grows with the transaction that put something, so no other text of a document has this number.
        seq = read_number(self._connection, "generation") + 1
        self.used = True
        stored = text_to_json(text) if text else None
        self._large = self._large or len(stored or "") > LARGE_TEXT
        row = (document_key(address.path), seq, address.path, stored)
        self._connection.execute("INSERT OR REPLACE INTO recent VALUES (?, ?, ?, ?)", row)

    @property
    def times_full(self) -> float:
        """How many times as many wait as may; from 1 on it is time to move them."""
        waiting = self._connection.execute("SELECT count(*) FROM recent").fetchone()[0]
        documents = self._connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM files LIMIT ?)", (MAX_RECENT * RECENT_SHARE,)
        ).fetchone()[0]
        return 1.0 if self._large else waiting / (documents // RECENT_SHARE + 1)


class _FullTextBatch:
    """Into the full text."""

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
    """Takes files in, one after the other, inside one transaction of the catalogue.

    Args:
        files: How they are looked at and read.
        connection: The catalogue.
        texts: Where their texts go.
        linker: Where their links go.
        outcome: Told what changed.
        again: Paths whose texts are put anew even if the catalogue knows these very bytes.
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
        """Bring one file up to date.

        Args:
            address: Which.
            stat: What is known of it; it is looked at when nothing is.
            new: Neither half of the index can hold it.
        """
        known = None if new else record_at(self._connection, address.path)
        try:
            stat = stat or self._stat(address)
        except StorageError as error:
            if known and address.path not in self._again:
                self._outcome.unreadable[address.path] = str(error)
                return  # it stays as it was: nobody knows whether it is gone
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
        """Write what was taken in; to be called once, before the links are settled."""
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
        """A file's facts and bytes; None when it is no document, is gone or cannot be read, which is then noted."""
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
