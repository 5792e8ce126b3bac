"""The catalogue's tables and connections.

The catalogue is derived data: a commit need not be durable, but the file must stay consistent.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Generator, Hashable
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar, cast

from commonplace.domain.addresses import fold
from commonplace.domain.graphs import shown_title
from commonplace.domain.sites import SiteTree, from_json
from commonplace.index.index_version import SCHEMA_VERSION

BUSY_SECONDS = 30.0
"""Timeout in seconds for another process's write."""
WRITER_WAIT_SECONDS = 1.0
"""Seconds of waiting for a lock after which this process reopens its connections.

If SQLite's unlock fails without an error, one of this process's own connections still holds the lock.
"""

SITES = "sites"
"""Key in `meta` of the docs trees as JSON."""
DECLARED_NAME = "declared_name"
"""Key in `meta` of the name that `kb.yaml` declares; "" for none."""
LANGUAGE_FOLDERS = "language_folders"
"""Key in `meta` of the folders that hold translations, as a JSON list."""

CACHE_KIB = 2_000
BATCH_CACHE_KIB = 16_000
"""Size of a connection's page cache in KiB during a batch; otherwise it is `CACHE_KIB`.

The normal size is small, because the operating system caches the file for all connections.
"""
MAX_IDLE_CONNECTIONS = 4
"""Maximum number of idle connections."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Small columns only: lists and sorts walk this table. `id` is made from the path (`document_rows.document_key`).
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE,
    size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, revision TEXT,
    ident TEXT, aliases TEXT, title TEXT, title_folded TEXT, type TEXT, type_folded TEXT, date TEXT, day INTEGER,
    created TEXT, created_day INTEGER, updated TEXT, updated_day INTEGER, given INTEGER, dated INTEGER,
    words INTEGER, sections INTEGER, links INTEGER, findings INTEGER
);
CREATE INDEX files_by_ident ON files (ident);
CREATE INDEX files_undated ON files (dated) WHERE dated <> 1;
CREATE INDEX files_with_findings ON files (path) WHERE findings > 0;

-- What a record and a search hit show beyond `files`, as JSON; `marks`: what fragments of links can name beside the
-- headings in `outline`.
CREATE TABLE details (id INTEGER PRIMARY KEY, record TEXT, outline TEXT, marks TEXT);
CREATE TABLE name_words (id INTEGER PRIMARY KEY, levels TEXT, words TEXT);

CREATE TABLE tags (tag TEXT, file INTEGER, shown TEXT, PRIMARY KEY (tag, file)) WITHOUT ROWID;
CREATE INDEX tags_by_file ON tags (file);

-- What pages and sections declare about whether they hold (`domain.status`), and what pages cite (`domain.citations`).
CREATE TABLE statuses (
    file INTEGER, ordinal INTEGER, last INTEGER, word TEXT, replaced_by TEXT, expires TEXT, review TEXT,
    PRIMARY KEY (file, ordinal)
) WITHOUT ROWID;
CREATE TABLE citations (file INTEGER PRIMARY KEY, citations TEXT);

-- Every key by which documents are linked to, and every link with the key that its target is looked up by.
CREATE TABLE names (key TEXT, file INTEGER, PRIMARY KEY (key, file)) WITHOUT ROWID;
-- `[[a|b]]` has a row for each side: 1 for `a`, 2 for `b`; any other link has one, 0. `readers` are the bits of
-- `domain.markdown.link_sides.PageSide` for whom this side is the page.
CREATE TABLE links (
    source INTEGER, ordinal INTEGER, side INTEGER, readers INTEGER, key TEXT, target INTEGER, attachment TEXT,
    collection TEXT, fragment TEXT, link TEXT,
    PRIMARY KEY (source, ordinal, side)
) WITHOUT ROWID;

-- Keys whose documents have changed since links were last resolved.
CREATE TABLE unsettled (key TEXT PRIMARY KEY) WITHOUT ROWID;
-- Fragments of links that name no part of their target. A row without such a link has no effect.
CREATE TABLE dead_fragments (target INTEGER, fragment TEXT, PRIMARY KEY (target, fragment)) WITHOUT ROWID;
-- Documents that have changed, or to which links with fragments have been added, since the fragments were checked.
CREATE TABLE unchecked (target INTEGER PRIMARY KEY);
-- Documents newer here than in the full text, which they hide there; without text: gone.
CREATE TABLE recent (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, path TEXT NOT NULL, text TEXT);
-- Paths that a full sync has yet to index. A row is deleted once catalogue and full text contain the file. `begun`: a
-- batch with the file was begun, so the full text may already contain what the catalogue does not.
CREATE TABLE pending (path TEXT PRIMARY KEY, begun INTEGER) WITHOUT ROWID;
CREATE TABLE unreadable (path TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
"""

_LATE_INDEXES = {
    # Indexes for the most common sort orders, so that the cost of a first page does not grow with the collection.
    "files_by_title": "files (title_folded, path)",
    "files_by_type": "files (type_folded, path)",
    "files_by_date": "files (date DESC, path)",
    "files_by_updated": "files (updated DESC, path)",
    "links_by_target": "links (target, readers) WHERE target IS NOT NULL",
    "links_by_key": "links (key)",
    "links_by_attachment": "links (attachment) WHERE attachment IS NOT NULL",
    "links_to_no_document": "links (source) WHERE target IS NULL",
    "links_by_fragment": "links (target, fragment) WHERE fragment <> ''",
    "links_by_collection": "links (collection) WHERE collection <> ''",
}


class OtherVersionError(sqlite3.DatabaseError):
    """The catalogue has the schema of another version of the program; it is replaced, not migrated."""


class Catalogue:
    """An open catalogue file.

    Args:
        path: The database file.
        in_title_case: Whether titles that are names of files are shown in title case.

    Raises:
        OtherVersionError: another version of the program created the file.
        sqlite3.DatabaseError: the file is damaged, or cannot be opened.
    """

    def __init__(self, path: Path, in_title_case: Callable[[], bool] = bool) -> None:
        self._path = path
        self._in_title_case = in_title_case
        self._idle: list[sqlite3.Connection] = []
        self._in_use: set[sqlite3.Connection] = set()
        """Connections in use that may become idle; others are closed after use."""
        self._closed = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        with self.reading() as connection:
            version = read_meta(connection, "version")
            if version != SCHEMA_VERSION:
                raise OtherVersionError(f"the index has version {version}, not {SCHEMA_VERSION}")

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A consistent read transaction for the duration of a `with` block."""
        connection = self._acquire()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            self._release(connection)

    @contextmanager
    def writing(self, *, batch: bool = False) -> Generator[sqlite3.Connection]:
        """A write transaction, committed at the end of the `with` block and rolled back on an exception.

        Args:
            batch: Whether to use the larger page cache, for many writes.
        """
        with self._writing:
            connection = self._begin_write()
            try:
                if batch:
                    _set_cache_size(connection, BATCH_CACHE_KIB)
                yield connection
                connection.execute("COMMIT")
            finally:
                self._release(connection, batch=batch)

    def close(self) -> None:
        """Close every connection.

        Closing a connection in use would crash its thread, so it is closed when it is returned.
        """
        self._closed = True
        self._discard_idle()

    def _discard_idle(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._in_use.clear()

    def _begin_write(self) -> sqlite3.Connection:
        """A connection with a started write transaction."""
        try:
            return self._begin_immediate(WRITER_WAIT_SECONDS)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        self._discard_idle()
        return self._begin_immediate(BUSY_SECONDS - WRITER_WAIT_SECONDS)

    def _begin_immediate(self, seconds: float) -> sqlite3.Connection:
        connection = self._acquire()
        with ExitStack() as returning:
            returning.callback(self._release, connection)
            _set_busy_timeout(connection, seconds)
            connection.execute("BEGIN IMMEDIATE")
            _set_busy_timeout(connection, BUSY_SECONDS)
            returning.pop_all()
        return connection

    def _acquire(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                self._in_use.add(connection := self._idle.pop())
                return connection
        connection = _connected(self._path)
        connection.create_function("shown_title", 2, self._shown_title, deterministic=True)
        with self._lock:
            self._in_use.add(connection)
        return connection

    def _shown_title(self, title: str, path: str) -> str:
        return shown_title(title, path) if self._in_title_case() else title

    def _release(self, connection: sqlite3.Connection, *, batch: bool = False) -> None:
        sound = False
        with suppress(sqlite3.Error):  # after an error the connection is closed, which rolls back
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if batch:
                _set_cache_size(connection, CACHE_KIB)
            sound = True
        with self._lock:
            if sound and connection in self._in_use and not self._closed and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
            else:
                connection.close()
            self._in_use.discard(connection)


def _set_busy_timeout(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")


def _set_cache_size(connection: sqlite3.Connection, kibibytes: int) -> None:
    connection.execute(f"PRAGMA cache_size = -{kibibytes}")


def create_catalogue(path: Path) -> None:
    """Create an empty catalogue."""
    with closing(_connected(path, create=True)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(_SCHEMA)
        make_late_indexes(connection)
        connection.execute("INSERT INTO meta VALUES ('version', ?)", (SCHEMA_VERSION,))


def drop_late_indexes(connection: sqlite3.Connection) -> None:
    """Drop some indexes before very many inserts: updating them row by row costs more than creating them again."""
    for name in _LATE_INDEXES:
        connection.execute(sql("DROP INDEX IF EXISTS", name))


def make_late_indexes(connection: sqlite3.Connection) -> None:
    """Create the indexes that `drop_late_indexes` has dropped."""
    for name, on in _LATE_INDEXES.items():
        connection.execute(sql("CREATE INDEX IF NOT EXISTS", name, "ON", on))


def read_meta(connection: sqlite3.Connection, key: str) -> int | str | None:
    """A value of the `meta` table; None if there is none."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def read_number(connection: sqlite3.Connection, key: str) -> int:
    """A number of the `meta` table; 0 if there is none."""
    return cast("int", read_meta(connection, key) or 0)


def stored_sites(connection: sqlite3.Connection) -> tuple[SiteTree, ...]:
    """The docs trees, as of the last sync."""
    stored = read_meta(connection, SITES)
    return tuple(map(from_json, json.loads(stored))) if isinstance(stored, str) else ()


def stored_language_folders(connection: sqlite3.Connection) -> frozenset[str]:
    """The folders that hold translations, as of the last sync."""
    stored = read_meta(connection, LANGUAGE_FOLDERS)
    return frozenset(json.loads(stored)) if isinstance(stored, str) else frozenset()


def write_meta(connection: sqlite3.Connection, key: str, value: int | str) -> None:
    """Set a value of the `meta` table."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def grow(connection: sqlite3.Connection, key: str) -> int:
    """Increment a number of the `meta` table and return it."""
    number = read_number(connection, key) + 1
    write_meta(connection, key, number)
    return number


def sql(*parts: str) -> str:
    """Join the parts of a statement, all of which are in this package's source. Values are bound, never joined."""
    return " ".join(parts)


def _connected(path: Path, *, create: bool = False) -> sqlite3.Connection:
    mode = "rwc" if create else "rw"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    connection.create_function("folded", 1, fold, deterministic=True)
    for pragma in ("synchronous = NORMAL", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    _set_cache_size(connection, CACHE_KIB)
    return connection


# Results computed for one generation of the catalogue, cached until the generation changes.


MAX_ENTRIES = 256
"""Maximum number of cached results, which limits memory if queries have many different values."""

Cached = TypeVar("Cached")


class GenerationCache:
    """Results of one open catalogue, valid while a number in it stays the same.

    Several processes write to a catalogue, so the number is read from the catalogue in the transaction of the query.

    Args:
        number: Key in `meta` of the number that grows with every change that affects the results.
    """

    def __init__(self, number: str = "generation") -> None:
        self._number = number
        self._lock = threading.Lock()
        self._at = -1
        self._answers: dict[Hashable, object] = {}

    def get(self, connection: sqlite3.Connection, key: Hashable, work: Callable[[], Cached]) -> Cached:
        """The cached result; computed by the first query at this generation.

        Args:
            connection: The catalogue, inside a transaction.
            key: Identifies the query with all its values. All results of one key have one type.
            work: Computes the result on this connection. The result is shared and must not be changed.
        """
        now = read_number(connection, self._number)
        with self._lock:
            if now > self._at:
                self._at, self._answers = now, {}
            if now == self._at and key in self._answers:
                return cast("Cached", self._answers[key])
        answer = work()
        with self._lock:
            # A transaction that began before the last change must not cache results for the new generation.
            if now == self._at:
                while len(self._answers) >= MAX_ENTRIES:
                    del self._answers[next(iter(self._answers))]
                self._answers[key] = answer
        return answer
