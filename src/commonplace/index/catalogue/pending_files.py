"""Stores the files that a sync still has to index, so that the next sync continues after a killed process."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue.database import Catalogue
from commonplace.index.catalogue.document_rows import encode

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
    asked = (encode(list(paths)),)
    rows = connection.execute(
        "SELECT path, revision FROM files WHERE path IN (SELECT value FROM json_each(?1))"
        " UNION ALL SELECT path, NULL FROM unreadable WHERE path IN (SELECT value FROM json_each(?1))",
        asked,
    )
    known = dict(cast("list[tuple[str, str | None]]", rows.fetchall()))
    left = left_by_crash(connection, paths)
    return [path for path in dict.fromkeys(paths) if path in left or known.get(path, "") != _revision(store, path)]


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
            yield address.path, stat
    except (OSError, ValueError) as error:
        raise StorageError("The folder cannot be looked through.", kind="folder", hint="Try again.") from error


def compared(catalogue: Catalogue, found: Iterable[tuple[str, FileStat]]) -> tuple[dict[str, FileStat], list[str]]:
    """Scanned files that differ from the catalogue, and documents of the catalogue that the scan did not find.

    Only a hash per document is in memory; the rows of all documents would take ten times the memory at every scan, and
    fragment it for hours. If another process indexes a document during the scan, and the document is deleted before the
    scan reaches it, the next scan finds it missing.
    """
    with catalogue.reading() as connection:
        known = {hash(row) for row in _stats(connection)}
    changed: dict[str, FileStat] = {}
    for path, stat in found:
        number = hash((path, *stat))
        if number in known:
            known.discard(number)
        else:
            changed[path] = stat
    if not known:
        return changed, []
    with catalogue.reading() as connection:
        return changed, [row[0] for row in _stats(connection) if hash(row) in known and row[0] not in changed]


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
