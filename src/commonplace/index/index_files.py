"""The two halves of an index as one thing that is opened, found damaged, and built anew.

An index may be deleted, damaged or of another version at any moment. Whoever meets that takes the lock, looks whether
another process has mended it meanwhile, and if not begins an empty one, which the next sync fills.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, StorageError, UnavailableError
from commonplace.domain.ports import Store
from commonplace.index.batch_lock import BatchLock
from commonplace.index.catalogue.broken_links import BrokenLinks, LinkDecisionCache, find_broken_links
from commonplace.index.catalogue.database import Catalogue, create_catalogue
from commonplace.index.catalogue.generation_cache import GenerationCache
from commonplace.index.catalogue.links import NAMED, CatalogueLookup
from commonplace.index.catalogue.other_files import OtherFiles, is_file
from commonplace.index.catalogue.path_existence import DiskStore, PathExistenceCache
from commonplace.index.fulltext.document_sources import DocumentSources
from commonplace.index.fulltext.searcher import IndexSearcher
from commonplace.index.fulltext.snapshot import SnapshotCache
from commonplace.index.fulltext.tantivy_index import FullText, FullTextError, failures
from commonplace.index.ingestion import Ingest
from commonplace.index.process.file_limit import raise_if_file_limit
from commonplace.index.references import NameIndex

log = logging.getLogger(__name__)

Cached = TypeVar("Cached")

CATALOGUE_FILE = "catalogue.sqlite3"
FULLTEXT_FOLDER = "fulltext"
LOCK_FILE = "lock"

_LOGGED_FOLDERS: set[str] = set()
"""Unusable cache folders that were already logged."""

DAMAGE_ERRORS = (sqlite3.DatabaseError, FullTextError, FileNotFoundError)
"""What a missing, damaged or foreign index raises."""


class IndexFiles:
    """An index that is open in this process.

    Args:
        store: The files.
        folder: Where the index lies.

    Raises:
        sqlite3.DatabaseError, FullTextError, FileNotFoundError: it is missing, damaged or of another version.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._abandoned = False
        self._file = folder / CATALOGUE_FILE
        self._identity = _identity(self._file)
        self.catalogue = Catalogue(self._file)
        try:
            self.fulltext = FullText(folder / FULLTEXT_FOLDER)
        except FullTextError:
            self.catalogue.close()
            raise
        self.cache = GenerationCache()
        self.name_cache = GenerationCache(NAMED)
        self.names = NameIndex()
        root = store.root if isinstance(store, DiskStore) else None
        self.path_existence = PathExistenceCache(root, lambda path: is_file(store, Address(path)))
        self.snapshots = SnapshotCache(self.fulltext)
        self.sources = DocumentSources(store)
        self.other_files = OtherFiles(store)
        self.ingest = Ingest(store, self.catalogue, self.fulltext, BatchLock(folder / LOCK_FILE), self.other_files)

    @property
    def current(self) -> bool:
        """Whether this is still the index that lies in the folder: it may have been deleted or built anew."""
        try:
            return not self._abandoned and _identity(self._file) == self._identity
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"The index cannot be looked at: {error.strerror}.", kind="index") from error

    @contextmanager
    def view(self) -> Generator[IndexView]:
        """One unchanging view of the index for the length of a `with` block."""
        with self.catalogue.reading() as connection:
            yield IndexView(self, connection)

    def close(self) -> None:
        """Release everything."""
        self.catalogue.close()

    def abandon(self) -> None:
        """Release everything, and be no longer the one that lies there: whoever asks next opens it again."""
        self._abandoned = True
        self.close()


class IndexView:
    """What questions are asked of.

    Args:
        files: The index.
        connection: Its catalogue, inside a transaction.
    """

    def __init__(self, files: IndexFiles, connection: sqlite3.Connection) -> None:
        self._files = files
        self.connection = connection
        self.cache = files.cache
        self.names = files.names
        self.path_existence = files.path_existence
        self.other_files = files.other_files

    def cached(self, key: Hashable, work: Callable[[sqlite3.Connection], Cached]) -> Cached:
        """An answer that is worked out once for every generation of the index; `GenerationCache.get` says more."""
        return self.cache.get(self.connection, key, lambda: work(self.connection))

    def broken_links(self, store: Store) -> BrokenLinks:
        """Every link that leads to no document."""
        key = ("lost", self.other_files.version())
        decided = self._files.name_cache.get(self.connection, key, LinkDecisionCache)
        return self.cached(key, lambda connection: find_broken_links(connection, store, self.other_files, decided))

    def lookup(self, store: Store) -> CatalogueLookup:
        """What the rules of links ask."""
        return CatalogueLookup(self.connection, store, self.other_files)

    def search(self) -> IndexSearcher:
        """The full text with what is newer than it, as they belong to this view."""
        files = self._files
        return IndexSearcher(files.sources, self.connection, files.fulltext, files.snapshots.at(self.connection))


class IndexLocation:
    """Where the index of a collection lies, and how it is opened there.

    Args:
        store: The files.
        folder: Where it should lie; a temporary folder takes its place when nothing can be written there.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def open(self) -> IndexFiles:
        """The index, begun anew if it is missing or damaged.

        Raises:
            StorageError: it can be written nowhere.
            UnavailableError: another process kept the lock for too long.
        """
        try:
            return self._open()
        except (OSError, sqlite3.Error, FullTextError) as error:
            raise_if_file_limit(error)
            if self._temporary:
                raise _unwritable() from error
            if str(self._folder.parent) not in _LOGGED_FOLDERS:
                _LOGGED_FOLDERS.add(str(self._folder.parent))
                log.warning(
                    "%s: the cache folder cannot be used (%s); indexes are kept in memory or a temporary folder"
                    " and made again at every start",
                    self._store.name,
                    _reason(error),
                )
            self._temporary = tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True)
            self._folder = Path(self._temporary.name)
            return self.open()

    def discard(self) -> None:
        """Delete the index, so that `open` begins a new one.

        Raises:
            StorageError: it cannot be deleted.
        """
        try:
            with BatchLock(self._folder / LOCK_FILE).held():
                self._wipe()
        except OSError as error:
            raise _unwritable() from error

    def close(self) -> None:
        """Remove what is temporary."""
        if self._temporary:
            self._temporary.cleanup()

    def _open(self) -> IndexFiles:
        try:
            return IndexFiles(self._store, self._folder)
        except DAMAGE_ERRORS as error:
            raise_if_file_limit(error)
            found = os.path.exists(self._folder / CATALOGUE_FILE)
            reason = _reason(error)
        self._folder.mkdir(parents=True, exist_ok=True)
        with BatchLock(self._folder / LOCK_FILE).held():
            try:
                return IndexFiles(self._store, self._folder)
            except DAMAGE_ERRORS as again:
                raise_if_file_limit(again)
                if found:
                    log.warning("%s: the index is unusable (%s) and is built again", self._store.name, reason)
            self._wipe()
            FullText(self._folder / FULLTEXT_FOLDER, create=True)
            create_catalogue(self._folder / CATALOGUE_FILE)
            return IndexFiles(self._store, self._folder)

    def _wipe(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            (self._folder / (CATALOGUE_FILE + suffix)).unlink(missing_ok=True)
        shutil.rmtree(self._folder / FULLTEXT_FOLDER, ignore_errors=True)


class OpenIndexFiles:
    """The halves of one index as they are open now: opened again, and built anew, where they prove damaged.

    Args:
        store: The files.
        folder: Where the index should lie.
        fill: Fills those that were opened again, where they are new.

    Raises:
        StorageError: the index can be written nowhere.
    """

    def __init__(self, store: Store, folder: Path, fill: Callable[[IndexFiles], None]) -> None:
        self._store = store
        self._fill = fill
        self._home = IndexLocation(store, folder)
        self._lock = threading.RLock()
        self._halves = self._home.open()

    @property
    def files(self) -> IndexFiles:
        """Those that are open, which may lie there no more."""
        with self._lock:
            return self._halves

    def use(self, work: Callable[[IndexFiles], Cached]) -> Cached:
        """Do something with the index; when it proves damaged, open it again, and then build it anew.

        Raises:
            StorageError: nothing helped.
            UnavailableError: another process kept it for too long.
        """
        for attempt in range(3):
            files = self._current()
            try:
                with failures():
                    return work(files)
            except DAMAGE_ERRORS as error:
                if attempt or not is_read_only(error):
                    refuse_unless_damaged(error)
                log.warning("%s: the index failed (%s)", self._store.name, type(error).__name__)
                if attempt == 1:
                    self._home.discard()
                self._reopen(files)
        raise unusable()

    def catalogue(self) -> Catalogue | None:
        """The catalogue for work that nobody waits for; None where it was deleted, or cannot be looked at now."""
        with self._lock:
            try:
                return self._halves.catalogue if self._halves.current else None
            except StorageError:
                return None

    def rebuild(self) -> None:
        """Delete the index and begin an empty one.

        Raises:
            StorageError: it cannot be deleted, or written nowhere.
        """
        with self._lock:
            self._home.discard()
            self._reopen(self._halves)

    def close(self) -> None:
        """Release everything."""
        self._halves.close()
        self._home.close()

    def _current(self) -> IndexFiles:
        with self._lock:
            if not self._halves.current:
                log.warning("%s: the index was deleted or replaced", self._store.name)
                self._reopen(self._halves)
            return self._halves

    def _reopen(self, failed: IndexFiles) -> None:
        """Open the index again, unless another thread has, and fill it when it is new."""
        with self._lock:
            if self._halves is not failed:
                return
            failed.abandon()
            files = self._home.open()
            try:
                with failures():
                    self._fill(files)
            except (KnowledgeError, *DAMAGE_ERRORS) as error:
                files.close()
                if isinstance(error, KnowledgeError):
                    raise
                refuse_unless_damaged(error)
                raise unusable() from error
            self._halves = files


def refuse_unless_damaged(error: Exception) -> None:
    """Let a failure that building anew would not mend reach the caller as what it is.

    Raises:
        UnavailableError: the index was locked for too long, or the process may open no more files.
        StorageError: the disk is full or not writable.
    """
    raise_if_file_limit(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        raise UnavailableError(
            "The index is locked by another process.", kind="index", hint="Try again in a few seconds."
        ) from error
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY}:
        raise _unwritable() from error


def is_read_only(error: Exception) -> bool:
    """Whether the catalogue refused a write: one opened while it could not be written does, until it is opened anew."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY


def unusable() -> StorageError:
    """The error for an index that fails even when it is new."""
    return StorageError("The index fails even when it is built anew.", kind="index", hint="See the log for the reason.")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _reason(error: Exception) -> str:
    """What went wrong, without a path."""
    return (error.strerror or "") if isinstance(error, OSError) else str(error)


def _unwritable() -> StorageError:
    return StorageError(
        "The index can be written neither to the cache folder nor to a temporary one.",
        kind="index",
        hint="Free disk space, or give a writable cache folder.",
    )
