"""The files of an index, catalogue and full text: opening, damage detection, and rebuilding.

An index may be deleted, damaged or of another version at any time. A process that detects this takes the lock and
checks whether another process has repaired it. If not, it creates an empty index, which the next sync fills.

SQLite and Tantivy serve some damaged bytes without an error, so checksums notice them. Tantivy ends each file of a
segment, which never changes, with a checksum, and never checks it. The other files get theirs from the process that
closes the index last. All stand in the seal, those of files that change with the size and the time of modification to
which they belong. Such a file of the same time and other bytes is damaged; one of another time has been written since,
and is not judged.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from zlib import crc32

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, StorageError, UnavailableError
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.index.catalogue.database import Catalogue, GenerationCache, OtherVersionError, create_catalogue
from commonplace.index.catalogue.document_rows import RecordTable
from commonplace.index.catalogue.links import NAMED, CatalogueLookup
from commonplace.index.catalogue.other_files import DiskStore, OtherFiles, PathExistenceCache, is_file
from commonplace.index.fulltext.scoring import SnapshotCache
from commonplace.index.fulltext.searcher import DocumentSources, IndexSearcher, SearchedTexts, SectionTexts
from commonplace.index.fulltext.tantivy_index import FullText, FullTextError, failures
from commonplace.index.ingestion import BatchLock, Ingest
from commonplace.index.links import BrokenLinks, LinkDecisionCache, find_broken_links, labels_written_first
from commonplace.index.process import raise_if_file_limit
from commonplace.index.references import NameIndex

SEAL_FILE = "seal.json"
CHECK_SECONDS = 3600.0
"""Age in seconds from which a seal is checked when the index is opened. Reading 100 MB takes some 50 CPU ms."""

_BLOCK = 1 << 20
_META = "meta.json"
_FOOTER_TAIL = 8
"""Bytes after the footer's JSON: its length, and a constant."""
_MAX_FOOTER = 4096
_SEGMENT_SUFFIXES = (".idx", ".pos", ".term", ".store", ".fast", ".fieldnorm")


class BrokenSealError(sqlite3.DatabaseError):
    """A file of the index has other bytes than were written."""


def check_seal(catalogue: Path, fulltext: Path) -> None:
    """Check the files of an index, if that was not done within `CHECK_SECONDS`. Nothing is written but the time.

    Args:
        catalogue: The database file; the seal is beside it.
        fulltext: Folder of the full text.

    Raises:
        BrokenSealError: a file is damaged.
        FileNotFoundError: a file of a segment is missing.
    """
    seal = catalogue.parent / SEAL_FILE
    with suppress(FileNotFoundError):
        if 0 <= time.time() - seal.stat().st_mtime < CHECK_SECONDS:
            return
    sealed = _sealed(seal)
    for name, file in _changing_files(catalogue, fulltext):
        expected = sealed.get(name)
        if expected and expected[1] == _mtime(file) and _checksum(file) not in (expected, None):
            raise BrokenSealError(f"{name} is not as it was written")
    for name, file in _segment_files(fulltext):
        content = file.read_bytes()
        checksum, length = _footer(content)
        if checksum != crc32(memoryview(content)[:length]) or sealed.get(name, checksum) != checksum:
            raise BrokenSealError(f"a file of the full text ({file.suffix}) is not as it was written")
    with suppress(OSError):
        os.utime(seal)


def write_seal(catalogue: Path, fulltext: Path) -> None:
    """Write the checksums of the files, unless a process has the index open, or nothing has changed."""
    seal = catalogue.parent / SEAL_FILE
    with suppress(OSError, BrokenSealError):  # an index without a seal is an index
        if catalogue.with_name(f"{catalogue.name}-wal").exists():
            return
        files = dict(_changing_files(catalogue, fulltext))
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            stored = json.loads(seal.read_bytes())
            if all(stored[name][1] == _mtime(file) for name, file in files.items()):
                return
        checksums: dict[str, list[int] | int | None] = {name: _checksum(file) for name, file in files.items()}
        for name, file in _segment_files(fulltext):
            with file.open("rb") as stream:
                stream.seek(max(0, file.stat().st_size - _MAX_FOOTER))
                checksums[name] = _footer(stream.read())[0]
        if None not in checksums.values():
            beside = seal.with_name(f"{SEAL_FILE}.{os.getpid()}")
            beside.write_text(json.dumps(checksums), encoding="utf-8")
            beside.replace(seal)


def _sealed(seal: Path) -> dict[str, Any]:
    """The checksums of a seal; none if there is no seal."""
    try:
        stored = json.loads(seal.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BrokenSealError("its seal is damaged") from error
    if not isinstance(stored, dict):
        raise BrokenSealError("its seal is damaged")
    return cast("dict[str, Any]", stored)


def _changing_files(catalogue: Path, fulltext: Path) -> Iterator[tuple[str, Path]]:
    yield catalogue.name, catalogue
    for part in ("documents", "sections"):
        yield f"{part}/{_META}", fulltext / part / _META


def _mtime(file: Path) -> int:
    return file.stat().st_mtime_ns


def _checksum(file: Path) -> list[int] | None:
    """Size in bytes, time of modification in ns, and checksum of a file; None if it was written meanwhile."""
    with file.open("rb", buffering=0) as stream:
        before = os.fstat(stream.fileno())
        checksum = 0
        while block := stream.read(_BLOCK):
            checksum = crc32(block, checksum)
        after = os.fstat(stream.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return None
    return [after.st_size, after.st_mtime_ns, checksum]


def _segment_files(fulltext: Path) -> Iterator[tuple[str, Path]]:
    """The files of the committed segments; others may be unfinished."""
    for part in ("documents", "sections"):
        try:
            segments: list[dict[str, Any]] = json.loads((fulltext / part / _META).read_bytes())["segments"]
            for segment in segments:
                stem = str(segment["segment_id"]).replace("-", "")
                deletes = segment["deletes"]
                suffixes = [*_SEGMENT_SUFFIXES, *([f".{deletes['opstamp']}.del"] if deletes else [])]
                yield from ((f"{part}/{stem}{suffix}", fulltext / part / f"{stem}{suffix}") for suffix in suffixes)
        except (ValueError, KeyError, TypeError) as error:
            raise BrokenSealError("the list of the full text's segments is damaged") from error


def _footer(content: bytes) -> tuple[int | None, int]:
    """The checksum that Tantivy has written at the end of a file, None if there is none, and how long the rest is."""
    length = int.from_bytes(content[-_FOOTER_TAIL : -_FOOTER_TAIL + 4], "little")
    end = max(0, len(content) - _FOOTER_TAIL - length)
    try:
        return int(json.loads(content[end:-_FOOTER_TAIL])["crc"]), end
    except (ValueError, KeyError, TypeError):
        return None, 0


log = logging.getLogger(__name__)

Cached = TypeVar("Cached")

CATALOGUE_FILE = "catalogue.sqlite3"
FULLTEXT_FOLDER = "fulltext"
LOCK_FILE = "lock"

_LOGGED_FOLDERS: set[str] = set()
"""Unusable cache folders that were already logged."""

DAMAGE_ERRORS = (sqlite3.DatabaseError, FullTextError, FileNotFoundError)
"""Exceptions of a missing, damaged or foreign index."""


class IndexFiles:
    """An open index.

    Args:
        store: The files.
        folder: Folder of the index.
        in_title_case: Whether titles that are names of files are shown in title case.

    Raises:
        sqlite3.DatabaseError, FullTextError, FileNotFoundError: the index is missing, damaged or of another version.
    """

    def __init__(self, store: Store, folder: Path, in_title_case: Callable[[], bool] = bool) -> None:
        self._abandoned = False
        self._file = folder / CATALOGUE_FILE
        self._identity = _identity(self._file)
        check_seal(self._file, folder / FULLTEXT_FOLDER)
        self.catalogue = Catalogue(self._file, in_title_case)
        try:
            self.fulltext = FullText(folder / FULLTEXT_FOLDER)
        except FullTextError:
            self.catalogue.close()
            raise
        self.cache = GenerationCache()
        self.name_cache = GenerationCache(NAMED)
        self.names = NameIndex()
        self.records = RecordTable()
        root = store.root if isinstance(store, DiskStore) else None
        self.path_existence = PathExistenceCache(root, lambda path: is_file(store, Address(path)))
        self.snapshots = SnapshotCache(self.fulltext)
        self.sources = DocumentSources(store)
        self.section_texts = SectionTexts()
        self.other_files = OtherFiles(store)
        self.ingest = Ingest(store, self.catalogue, self.fulltext, BatchLock(folder / LOCK_FILE), self.other_files)

    @property
    def current(self) -> bool:
        """Whether this is still the index in the folder. False if it was deleted or rebuilt."""
        try:
            return not self._abandoned and _identity(self._file) == self._identity
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"The index cannot be read: {error.strerror}.", kind="index") from error

    @contextmanager
    def view(self) -> Generator[IndexView]:
        """A consistent view of the index for the duration of a `with` block."""
        with self.catalogue.reading() as connection:
            yield IndexView(self, connection)

    def size(self) -> int:
        """Size of the files in bytes. A file that a merge removes meanwhile is not counted."""
        total = 0
        for folder in (self._file.parent, self._file.parent / FULLTEXT_FOLDER):
            for entry in os.scandir(folder):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return total

    def close(self) -> None:
        """Release all resources."""
        self.catalogue.close()
        self.snapshots.close()
        if not self._abandoned:
            write_seal(self._file, self._file.parent / FULLTEXT_FOLDER)

    def abandon(self) -> None:
        """Release all resources and mark the index as no longer current, so that the next query reopens it."""
        self._abandoned = True
        self.close()


class IndexView:
    """A consistent view of the index for queries.

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
        """A result that is computed once per generation of the index; see `GenerationCache.get`."""
        return self.cache.get(self.connection, key, lambda: work(self.connection))

    def size(self) -> int:
        """Size of the index's files in bytes."""
        return self._files.size()

    def broken_links(self, store: Store, side: PageSide) -> BrokenLinks:
        """Every link that resolves to no document, if `side` of `[[a|b]]` is the page."""
        key = ("lost", side, self.other_files.version())
        decided = self._files.name_cache.get(self.connection, key, LinkDecisionCache)
        return self.cached(
            key,
            lambda connection: find_broken_links(connection, self.records(), self.lookup(store), decided, side),
        )

    def records(self) -> tuple[Record, ...]:
        """All records by path."""
        return self.cached("records", self._files.records.all)

    def lookup(self, store: Store) -> CatalogueLookup:
        """The lookup for resolving links."""
        return CatalogueLookup(self.connection, store, self.other_files)

    def search(self, language: str = "", side: PageSide = PageSide.EXISTING) -> IndexSearcher:
        """The searcher of this view: the full text with the recent documents.

        Args:
            language: The reader's language; the translation in this language ranks before the others.
            side: The side of `[[a|b]]` that is the page; snippets show the other side.
        """
        files = self._files
        labels = partial(labels_written_first, self.connection, side)
        texts = SearchedTexts(files.sources, files.section_texts, labels)
        return IndexSearcher(texts, self.connection, files.fulltext, files.snapshots.at(self.connection), language)


class IndexLocation:
    """The location of a collection's index, and how to open it.

    Args:
        store: The files.
        folder: Preferred folder; replaced by a temporary folder if it is not writable.
        in_title_case: Whether titles that are names of files are shown in title case.
    """

    def __init__(self, store: Store, folder: Path, in_title_case: Callable[[], bool] = bool) -> None:
        self._store = store
        self._folder = folder
        self._in_title_case = in_title_case
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def open(self) -> IndexFiles:
        """Open the index; create an empty one if it is missing or damaged.

        Raises:
            StorageError: no location is writable.
            UnavailableError: acquiring the lock timed out.
        """
        try:
            return self._open()
        except (OSError, sqlite3.Error, FullTextError) as error:
            raise_if_file_limit(error)
            if self._temporary:
                raise _unwritable() from error
            cache = str(self._folder.parent.parent)  # each version has a folder in the collection's folder
            if cache not in _LOGGED_FOLDERS:
                _LOGGED_FOLDERS.add(cache)
                log.warning(
                    "%s: the cache folder cannot be used (%s); indexes are stored in memory or a temporary folder"
                    " and rebuilt at every start",
                    self._store.name,
                    _reason(error),
                )
            self._temporary = tempfile.TemporaryDirectory(prefix="commonplace-", ignore_cleanup_errors=True)
            self._folder = Path(self._temporary.name)
            return self.open()

    def discard(self) -> None:
        """Delete the index, so that `open` creates a new one.

        Raises:
            StorageError: the index cannot be deleted.
        """
        try:
            with BatchLock(self._folder / LOCK_FILE).held():
                self._wipe()
        except OSError as error:
            raise _unwritable() from error

    def close(self) -> None:
        """Remove the temporary folder, if any."""
        if self._temporary:
            self._temporary.cleanup()

    def _open(self) -> IndexFiles:
        try:
            return IndexFiles(self._store, self._folder, self._in_title_case)
        except DAMAGE_ERRORS as error:
            raise_if_file_limit(error)
            found_flag = os.path.exists(self._folder / CATALOGUE_FILE)
            reason = _reason(error)
        self._folder.mkdir(parents=True, exist_ok=True)
        with BatchLock(self._folder / LOCK_FILE).held():
            try:
                return IndexFiles(self._store, self._folder, self._in_title_case)
            except DAMAGE_ERRORS as again:
                raise_if_file_limit(again)
                if found_flag:
                    # Another version is normal after an upgrade; damage is not.
                    level = logging.INFO if isinstance(again, OtherVersionError) else logging.WARNING
                    log.log(level, "%s: the index is unusable (%s) and is rebuilt", self._store.name, reason)
            self._wipe()
            FullText(self._folder / FULLTEXT_FOLDER, create=True)
            create_catalogue(self._folder / CATALOGUE_FILE)
            return IndexFiles(self._store, self._folder, self._in_title_case)

    def _wipe(self) -> None:
        for name in (SEAL_FILE, CATALOGUE_FILE, f"{CATALOGUE_FILE}-wal", f"{CATALOGUE_FILE}-shm"):
            (self._folder / name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / FULLTEXT_FOLDER, ignore_errors=True)


class OpenIndexFiles:
    """The currently open files of one index; reopened or rebuilt if they are damaged.

    Args:
        store: The files.
        folder: Preferred folder of the index.
        fill: Fills a reopened index if it is new.
        in_title_case: Whether titles that are names of files are shown in title case.

    Raises:
        StorageError: no location is writable.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        fill: Callable[[IndexFiles], None],
        in_title_case: Callable[[], bool] = bool,
    ) -> None:
        self._store = store
        self._fill = fill
        self._location = IndexLocation(store, folder, in_title_case)
        self._lock = threading.RLock()
        self._files = self._location.open()

    @property
    def files(self) -> IndexFiles:
        """The open files, which may have been deleted from the folder."""
        with self._lock:
            return self._files

    def use(self, work: Callable[[IndexFiles], Cached]) -> Cached:
        """Run `work` on the index. If the index is damaged, reopen it, then rebuild it, and retry.

        Raises:
            StorageError: all attempts failed.
            UnavailableError: acquiring the lock timed out.
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
                    self._location.discard()
                self._reopen(files)
        raise unusable()

    def catalogue(self) -> Catalogue | None:
        """The catalogue for background work; None if it was deleted or cannot be read now."""
        with self._lock:
            try:
                return self._files.catalogue if self._files.current else None
            except StorageError:
                return None

    def rebuild(self) -> None:
        """Delete the index and create an empty one.

        Raises:
            StorageError: the index cannot be deleted, or no location is writable.
        """
        with self._lock:
            self._location.discard()
            self._reopen(self._files)

    def close(self) -> None:
        """Release all resources."""
        self._files.close()
        self._location.close()

    def _current(self) -> IndexFiles:
        with self._lock:
            if not self._files.current:
                log.warning("%s: the index was deleted or replaced", self._store.name)
                self._reopen(self._files)
            return self._files

    def _reopen(self, failed: IndexFiles) -> None:
        """Reopen the index unless another thread has done so, and fill it if it is new."""
        with self._lock:
            if self._files is not failed:
                return
            failed.abandon()
            files = self._location.open()
            try:
                with failures():
                    self._fill(files)
            except (KnowledgeError, *DAMAGE_ERRORS) as error:
                files.close()
                if isinstance(error, KnowledgeError):
                    raise
                refuse_unless_damaged(error)
                raise unusable() from error
            self._files = files


def refuse_unless_damaged(error: Exception) -> None:
    """Raise the error for a failure that a rebuild cannot solve; return if a rebuild may solve it.

    Raises:
        UnavailableError: the index was locked for too long, or the process has too many open files.
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
    """Whether the catalogue was read-only when it was opened; it must be reopened to be written."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY


def unusable() -> StorageError:
    """The error for an index that fails even after a rebuild."""
    return StorageError("The index fails even after a rebuild.", kind="index", hint="See the log for the reason.")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _reason(error: Exception) -> str:
    """The error's message, without a path."""
    return (error.strerror or "") if isinstance(error, OSError) else str(error)


def _unwritable() -> StorageError:
    return StorageError(
        "The index can be written neither to the cache folder nor to a temporary one.",
        kind="index",
        hint="Free disk space, or give a writable cache folder.",
    )
