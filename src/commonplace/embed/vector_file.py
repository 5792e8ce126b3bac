"""The vector file: one SQLite file per collection and model, shared by several processes.

`chunks` has a vector of 8-bit integers per embedded text, keyed by the text's digest; `pages` has the chunks of each
document. A batch is one transaction, so a kill loses at most one batch. The file may be deleted or damaged at any time:
it is recreated, and the texts are embedded again.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from commonplace.domain.semantic import chunked_revision, current_revision

log = logging.getLogger(__name__)

VERSION = 1
"""Version of the tables and of the vectors' format; incremented with every change. Chunks have another version."""
MIN_UNUSED = 1000
"""Number of vectors of unused texts that are always retained, because the texts may only have moved."""
UNUSED_SECONDS = 30 * 86_400
"""Retention of another model's vectors in seconds after their last use."""
BUSY_SECONDS = 10.0
"""Timeout in seconds for another process's write."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
-- `chunks`: four bytes each for the section's ordinal and the chunk's id. `revision` has the version of the chunks in
-- front. A page that is gone has no revision.
CREATE TABLE pages (path TEXT PRIMARY KEY, revision TEXT NOT NULL, chunks BLOB NOT NULL, seq INTEGER NOT NULL);
CREATE INDEX pages_by_seq ON pages (seq);
"""

DocumentRow = tuple[str, str, bytes]
"""A row of `pages`: path, revision, packed chunks."""
DocumentVectors = tuple[str, str, Sequence[tuple[int, bytes]]]
"""A document to write: path, revision, and section and text key of each chunk."""


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A document as last embedded."""

    path: str
    revision: str
    """Revision of the document with the version of the chunks; "" for a deleted document."""
    packed: bytes
    """Section ordinal and id of each chunk, as little-endian integers of four bytes."""


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """The format of the vectors."""

    dimension: int
    scale: float
    """The value that the integer 127 represents."""


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """The changes since a sequence number."""

    birth: int
    """Random number of the file. It changes if the file is recreated; then all pages and chunks are returned."""
    seq: int
    """The new sequence number."""
    pages: Sequence[EmbeddedDocument]
    chunks: Sequence[tuple[int, bytes]]
    """Id and vector of each chunk, by id."""


class VectorFile:
    """The vectors of one collection by one model.

    Args:
        path: The file; recreated if it is missing, damaged, or of another version or model.
        identity: Identity of the model.

    Raises:
        sqlite3.DatabaseError, OSError: the file is not writable.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self._path = path
        self._identity = identity
        self._lock = threading.RLock()
        self._inode = 0
        self._connection = self._open()

    def format(self) -> VectorFormat | None:
        """The format of the vectors; None before the first one."""
        with self._using() as connection:
            rows = connection.execute("SELECT key, value FROM meta WHERE key IN ('dimension', 'scale')").fetchall()
        said = cast("dict[str, float]", dict(rows))
        return VectorFormat(int(said["dimension"]), said["scale"]) if said else None

    def statistics(self, among: Iterable[str] | None = None) -> tuple[dict[str, str], int]:
        """Revisions of the embedded documents by path (all, or some), and the number of chunks with a vector.

        The revision is "" if the chunks of a document are of an earlier version.
        """
        columns = "SELECT path, revision FROM pages WHERE revision <> ''"
        with self._using() as connection:
            if among is None:
                rows = connection.execute(columns).fetchall()
            else:
                rows = [row for path in among for row in connection.execute(f"{columns} AND path = ?", (path,))]
            revisions = {path: current_revision(chunked) for path, chunked in rows}
            return revisions, connection.execute("SELECT count(*) FROM chunks").fetchone()[0]

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Ids of the texts that have a vector."""
        with self._using() as connection:
            ids: dict[bytes, int] = {}
            for key in keys:
                row = connection.execute("SELECT id FROM chunks WHERE key = ?", (key,)).fetchone()
                if row:
                    ids[key] = row[0]
            return ids

    def put(self, form: VectorFormat | None, vectors: Mapping[bytes, bytes], pages: Iterable[DocumentVectors]) -> None:
        """Write one batch.

        Args:
            form: Format of the vectors; must equal the stored format, if any. None if `vectors` is empty.
            vectors: Vectors by text key.
            pages: Documents whose vectors are all in this or an earlier batch; deleted documents have no vectors.
        """
        document_vectors = list(pages)
        with self._writing() as connection:
            about = [("dimension", form.dimension), ("scale", form.scale)] if form else []
            connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", about)
            connection.executemany("INSERT OR IGNORE INTO chunks (key, vector) VALUES (?, ?)", vectors.items())
            seq = int(connection.execute("SELECT ifnull(max(seq), 0) + 1 FROM pages").fetchone()[0])
            loose = 0
            for path, revision, chunks in document_vectors:
                packed = b"".join(_pair(ordinal, _id_of(connection, key)) for ordinal, key in chunks)
                before = connection.execute("SELECT chunks FROM pages WHERE path = ?", (path,)).fetchone()
                loose += len({*_ids(before[0])}.difference(_ids(packed))) if before else 0
                row = (path, chunked_revision(revision), packed, seq)
                connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", row)
            if loose:
                _tidy(connection, loose)

    def since(self, birth: int, seq: int, chunk: int) -> VectorChanges:
        """The changes since a sequence number.

        Args:
            birth: `birth` of the last result; 0 to read everything.
            seq: `seq` of the last result.
            chunk: Highest chunk id that the caller has.
        """
        with self._using() as connection:
            connection.execute("BEGIN")
            try:
                born = int(connection.execute("SELECT value FROM meta WHERE key = 'birth'").fetchone()[0])
                seq, chunk = (seq, chunk) if born == birth else (0, 0)
                now = int(connection.execute("SELECT ifnull(max(seq), 0) FROM pages").fetchone()[0])
                rows = connection.execute("SELECT path, revision, chunks FROM pages WHERE seq > ?", (seq,)).fetchall()
                fresh = connection.execute(
                    "SELECT id, vector FROM chunks WHERE id > ? ORDER BY id", (chunk,)
                ).fetchall()
            finally:
                connection.execute("ROLLBACK")
        pages = [EmbeddedDocument(*row) for row in cast("list[DocumentRow]", rows)]
        return VectorChanges(born, now, pages, cast("list[tuple[int, bytes]]", fresh))

    def remove_unused(self) -> None:
        """Remove other models' vectors that were unused for `UNUSED_SECONDS`; record the use of this file."""
        with suppress(OSError):
            os.utime(self._path)
        for other in self._path.parent.glob("vectors-*.sqlite3"):
            with suppress(OSError):
                if other != self._path and time.time() - other.stat().st_mtime > UNUSED_SECONDS:
                    log.info("removing the vectors of a model that is no longer used")
                    _wipe(other)

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._connection.close()

    def reset(self) -> None:
        """Delete and recreate the file.

        Raises:
            sqlite3.DatabaseError, OSError: the file is not writable.
        """
        with self._lock:
            self._connection.close()
            _wipe(self._path)
            self._connection = self._open()

    @contextmanager
    def _using(self) -> Generator[sqlite3.Connection]:
        """The connection, for one thread at a time; reopened if the file was deleted or replaced."""
        with self._lock:
            if _inode(self._path) != self._inode:
                self._connection.close()
                self._connection = self._open()
            yield self._connection

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            connection = _connect(self._path, self._identity)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            log.warning("the vectors are unusable (%s) and are rebuilt", error)
            _wipe(self._path)
            connection = _connect(self._path, self._identity)
        with suppress(OSError):
            os.utime(self._path)  # records the last use
        self._inode = _inode(self._path)
        return connection


def _tidy(connection: sqlite3.Connection, loose: int) -> None:
    """Delete the vectors of unused texts if they are a large part of all vectors.

    Finding them requires reading all documents, so their number is estimated first.

    Args:
        connection: The connection, inside a transaction.
        loose: Number of texts just removed from documents; other documents may still contain them.
    """
    said = connection.execute("SELECT value FROM meta WHERE key = 'loose'").fetchone()
    loose += int(said[0]) if said else 0
    if loose > MIN_UNUSED and loose > _few(connection.execute("SELECT count(*) FROM chunks").fetchone()[0]):
        used = {chunk for (packed,) in connection.execute("SELECT chunks FROM pages") for chunk in _ids(packed)}
        every = [cast("int", row[0]) for row in connection.execute("SELECT id FROM chunks")]
        unused = [(element,) for element in every if element not in used]
        loose = len(unused)
        if loose > _few(len(every)):
            connection.executemany("DELETE FROM chunks WHERE id = ?", unused)
            loose = 0
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('loose', ?)", (loose,))


def _few(every: int) -> int:
    """Maximum number of vectors of unused texts, for this number of all vectors."""
    return max(MIN_UNUSED, every // 4)


def _ids(packed: bytes) -> Iterator[int]:
    return (int.from_bytes(packed[at : at + 4], "little") for at in range(4, len(packed), 8))


def _pair(ordinal: int, chunk: int) -> bytes:
    return ordinal.to_bytes(4, "little") + chunk.to_bytes(4, "little")


def _id_of(connection: sqlite3.Connection, key: bytes) -> int:
    return int(connection.execute("SELECT id FROM chunks WHERE key = ?", (key,)).fetchone()[0])


def _connect(path: Path, identity: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    with ExitStack() as closing:
        closing.callback(connection.close)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            about = [("version", VERSION), ("model", identity), ("birth", random.getrandbits(62) + 1)]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", about)
        said = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('version', 'model')").fetchall())
        connection.execute("COMMIT")
        _refuse_unless(said == {"version": VERSION, "model": identity})
        closing.pop_all()
    return connection


def _refuse_unless(same: bool) -> None:
    if not same:
        raise sqlite3.DatabaseError("they are of another version or model")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _wipe(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
