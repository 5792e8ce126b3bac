"""Ingestion of files into the index; a killed process loses nothing at any point.

A few changed files go into the catalogue in one transaction, with their texts, which are searched there until a batch
of them is flushed to the full text. Many changed files (a first sync, a branch switch) go into both at once: their
paths are first stored as pending, and after a kill the next sync continues with that list. Catalogue and full text are
keyed by path, so repeating a part changes nothing.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.documents import gc_disabled
from commonplace.domain.errors import KnowledgeError, StorageError, UnavailableError
from commonplace.domain.links import link_key
from commonplace.domain.ports import Progress, Store
from commonplace.domain.records import iso_timestamp
from commonplace.index import transaction as pending_files
from commonplace.index.catalogue.database import (
    Catalogue,
    drop_late_indexes,
    grow,
    make_late_indexes,
    read_meta,
    write_meta,
)
from commonplace.index.catalogue.links import LinkWriter, has_links, mark_unresolved, resolve_links
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.fulltext.document_text import text_from_json
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.parse_pool import Parse, parsing
from commonplace.index.sites import SiteFinder, refresh_sites
from commonplace.index.transaction import (
    MIN_RECENT,
    Files,
    FullTextBatch,
    IngestTransaction,
    LoadedFile,
    Outcome,
    RecentTextWriter,
)

log = logging.getLogger(__name__)

MAX_SMALL_UPDATE = 64
"""Maximum number of changed files that go into the catalogue alone."""
SCAN_STEP = 256
"""Number of scanned files after which their number is reported."""
LARGE_FILE = 500_000
"""Minimum size in bytes of a file that never goes into the catalogue alone: each process would tokenize its text."""
MAX_RECENT_FACTOR = 4
"""Multiple of the limit of recent documents at which a write itself flushes, because background flushes are too slow.
"""
BATCH_FILES = 10_000
BATCH_BYTES = 24_000_000
"""Maximum size of a batch in bytes, which determines the memory; `BATCH_FILES` is the maximum number of files.

Smaller batches would add more segments to search.
"""


FIRST_BATCH_BYTES = 2_000_000
"""Maximum size in bytes of the first batch of a first sync, so that searches soon find something."""
BATCH_GROWTH = 4
"""Factor by which each further batch of a first sync may be larger than the one before, up to `BATCH_BYTES`."""


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

    def ingest(self, paths: Sequence[str]) -> Outcome:
        """Index changed files: many as a sync does, in batches. They are searchable by every process on return."""
        changed = list(dict.fromkeys(paths))
        with self._catalogue.reading() as connection:
            complete = read_meta(connection, "complete") is not None
        stats = {path: stat for path in changed if (stat := self._stat(path))} if complete else {}
        return self.ingest_many(stats, changed, None) if _is_large(stats, changed) else self.ingest_few(changed)

    def ingest_few(self, paths: Sequence[str], *, all_files: bool = False) -> Outcome:
        """Index different changed files in the catalogue, with their texts.

        Args:
            paths: The changed files.
            all_files: Whether these are all files that there are, so that the index is complete afterwards.
        """
        outcome = Outcome()
        with self._catalogue.writing() as connection:
            recent = RecentTextWriter(connection)
            again = pending_files.left_by_crash(connection, paths)
            files = self._files(self._store.read)
            linker = LinkWriter(connection, self._store, self._other_files)
            taking = IngestTransaction(files, connection, recent, linker, outcome, again)
            for path in paths:
                taking.take(Address(path), None)
            taking.finish()
            connection.executemany("DELETE FROM pending WHERE path = ?", [(path,) for path in again])
            resolve_links(connection, self._store, self._other_files)
            if recent.used:
                grow(connection, "generation")
            if all_files:
                write_meta(connection, "complete", 1)
            outcome.flush_due = recent.times_full > 1
            overfull = recent.times_full >= MAX_RECENT_FACTOR
        if overfull:
            self.flush()
        return outcome

    def differing(self, paths: Sequence[str]) -> list[str]:
        """The files that differ from the index. Takes no write lock."""
        with self._catalogue.reading() as connection:
            return pending_files.differing(connection, self._store, paths)

    def resolve_other_files(self, addresses: Sequence[Address]) -> None:
        """Resolve again the links that may lead to added or removed files that are not documents."""
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
        found_pairs = pending_files.scanned(self._store)
        with self._catalogue.reading() as connection:
            complete = read_meta(connection, "complete") is not None
        # A first sync resolves links at once, and needs all paths for it.
        stats = {} if complete else dict(_counted(found_pairs, progress))
        refresh_sites(self._catalogue, self._store, self._other_files, finder, stats)
        differing, missing = pending_files.compared(self._catalogue, found_pairs if complete else stats.items())
        self._other_files.forget()
        with self._catalogue.reading() as connection:
            left = [row[0] for row in connection.execute("SELECT path FROM pending")]
            missing += [row[0] for row in connection.execute("SELECT path FROM unreadable") if row[0] not in differing]
        unseen = pending_files.unreachable(self._store, missing)
        changed = dict.fromkeys((*left, *differing, *(path for path in missing if path not in unseen)))
        if not complete and not left and not _is_large(stats, stats) and len(stats) <= MIN_RECENT:
            outcome = self.ingest_few(list(changed), all_files=True)
        elif not complete or _is_large(differing, changed):
            outcome = self.ingest_many(differing if complete else stats, list(changed), progress)
        else:
            outcome = self.ingest_few(list(changed)) if changed else Outcome()
        if outcome.flush_due:
            self.flush()
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

        def tell(done: int, waiting: int) -> None:
            if progress:
                progress(max(total - waiting, 0) + done, max(total, waiting))

        with self._catalogue.reading() as connection:
            first = read_meta(connection, "complete") is None
        size = min(FIRST_BATCH_BYTES, BATCH_BYTES) if first else BATCH_BYTES
        with parsing(total) as parse:
            while True:
                with self._lock.held(), gc_disabled():
                    left = self._batch(stats, outcome, parse, tell, size)
                if not left:
                    return outcome
                size = min(size * BATCH_GROWTH, BATCH_BYTES)

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
                if RecentTextWriter(connection).times_full <= 1:
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

    def _stat(self, path: str) -> FileStat | None:
        """A file's metadata; None if there is no such file, or if it cannot be read, which taking it in records."""
        with suppress(StorageError):
            return self._store.stat(Address(path))
        return None

    def _files(self, read: Callable[[Address], bytes]) -> Files:
        return Files(self._store.stat, read, cache(self._commit_time))

    def _commit_time(self) -> str:
        """Time of the newest commit in ISO 8601; of the epoch if there is none or it cannot be read."""
        try:
            commits = self._store.history.log(None, limit=1)
        except KnowledgeError as error:  # documents are indexed nevertheless, and dated when the history can be read
            log.warning("%s: the time of the current commit could not be read: %s", self._store.name, error)
            commits = []
        return iso_timestamp(commits[0].when if commits else 0)

    def _batch(self, stats: Mapping[str, FileStat], outcome: Outcome, parse: Parse, tell: _Tell, size: int) -> int:
        """Index a batch of the pending files of at most `size` bytes; returns how many remain."""
        with self._catalogue.writing() as connection:
            left = pending_files.mark_batch_begun(connection, BATCH_FILES)
        # The catalogue's transaction ends last: the list of pending files shrinks after everything else is committed.
        with self._catalogue.writing(batch=True) as connection:
            waiting = pending_files.pending_count(connection)
            if not waiting:
                make_late_indexes(connection)
                write_meta(connection, "complete", 1)
                return 0
            first = read_meta(connection, "complete") is None
            if first:
                drop_late_indexes(connection)
            linker = LinkWriter(connection, self._store, self._other_files, stats if first else None)
            bulk = waiting > MAX_SMALL_UPDATE
            with self._fulltext.writing(bulk=bulk) as writer, self._store.reading() as read:
                taking = IngestTransaction(
                    self._files(read), connection, FullTextBatch(connection, writer), linker, outcome, left
                )
                begun = pending_files.begun_paths(connection, BATCH_FILES)
                files = _BatchFiles(begun, left, stats, size)
                for loaded, document in parse(files.load(taking, lambda done: tell(done, waiting))):
                    taking.put(loaded, document)
                taking.finish()
                done = files.loaded
            if done == waiting:
                make_late_indexes(connection)
                resolve_links(connection, self._store, self._other_files)
                write_meta(connection, "complete", 1)
            pending_files.mark_batch_done(connection, [path for path, _ in begun], done, left)
            grow(connection, "fulltext")
            grow(connection, "generation")
        return waiting - done


def _counted(pairs: Iterable[tuple[str, FileStat]], progress: Progress | None) -> Iterator[tuple[str, FileStat]]:
    """The scanned files; their number so far is reported as the total, so that a call knows soon that they are many."""
    for number, pair in enumerate(pairs, 1):
        if progress and number % SCAN_STEP == 0:
            progress(0, number)
        yield pair


def _is_large(stats: Mapping[str, FileStat], changed: Collection[str]) -> bool:
    """Whether changed files go into the full text at once: they are many, or one of them is large."""
    return len(changed) > MAX_SMALL_UPDATE or any(stat.size >= LARGE_FILE for stat in stats.values())


_Tell = Callable[[int, int], None]
"""Called with the number of finished files of a batch, and the number of files that were pending before it."""


@dataclass(slots=True)
class _BatchFiles:
    """The files of one batch, in order."""

    paths: Sequence[tuple[str, bool]]
    """Paths, each with whether the catalogue lacks it."""
    left: Collection[str]
    """Paths whose state in the full text is unknown after a killed sync."""
    stats: Mapping[str, FileStat]
    size: int
    """Size in bytes at which the batch is full."""
    loaded: int = 0
    """Number of files that were read or needed no work."""

    def load(self, transaction: IngestTransaction, tell: Callable[[int], None]) -> Iterator[LoadedFile]:
        """Read the files until the batch is full."""
        for path, unknown in self.paths:
            file = transaction.load(Address(path), self.stats.get(path), new=unknown and path not in self.left)
            self.loaded += 1
            if file:
                yield file
            tell(self.loaded)
            if transaction.size > self.size:
                return


# The lock of one batch, across threads and processes. The kernel releases it when its holder exits.


LOCK_SECONDS = 60.0
"""Timeout in seconds for acquiring the lock."""
MAX_LOCK_PAUSE = 0.005
"""Maximum interval in seconds between two attempts."""


class BatchLock:
    """A lock file that one thread of one process holds for a batch.

    Args:
        path: The lock file; created if missing. Its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock for the duration of a `with` block.

        Raises:
            UnavailableError: acquiring the lock timed out after `LOCK_SECONDS`.
            OSError: the lock file cannot be created.
        """
        deadline = time.monotonic() + LOCK_SECONDS
        if not self._threads.acquire(timeout=LOCK_SECONDS):
            raise _busy()
        try:
            descriptor = _lock(self._path, deadline)
            try:
                yield
            finally:
                with suppress(OSError):  # the file has no content
                    os.close(descriptor)
        finally:
            self._threads.release()


def _lock(path: Path, deadline: float) -> int:
    """The lock file, open and locked. It may have been deleted and recreated while others held the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with ExitStack() as closing:
            closing.callback(os.close, descriptor)
            _wait(descriptor, deadline)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                closing.pop_all()
                return descriptor


def _wait(descriptor: int, deadline: float) -> None:
    pause = MAX_LOCK_PAUSE / 10
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _busy() from None
            time.sleep(pause)
            pause = min(2 * pause, MAX_LOCK_PAUSE)
        else:
            return


def _busy() -> UnavailableError:
    return UnavailableError(
        f"Another process has been indexing this collection for {LOCK_SECONDS:g} seconds.",
        kind="collection",
        hint="Try again; if it persists, find a commonplace process that hangs and end it.",
    )
