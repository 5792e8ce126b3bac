"""The files that a sync has still to take in, kept where a killed process leaves them to whoever syncs next."""

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
"""A file changed less than this before it was read may change again without its times showing it."""


def left_by_crash(connection: sqlite3.Connection, paths: Sequence[str]) -> frozenset[str]:
    """Which of these a killed sync may have left in the full text as the catalogue does not know them."""
    rows = connection.execute(
        "SELECT path FROM pending WHERE path IN (SELECT value FROM json_each(?))", (encode(list(paths)),)
    )
    return frozenset(cast("str", row[0]) for row in rows)


def differing(connection: sqlite3.Connection, store: Store, paths: Sequence[str]) -> list[str]:
    """Those of these files that are not as the catalogue knows them, or of which a sync is to look again."""
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
    """All documents of a store. What it could not foresee is no damage of the index."""
    try:
        for address, stat in store.scan():
            yield address.path, stat
    except (OSError, ValueError) as error:
        raise StorageError("The folder cannot be looked through.", kind="folder", hint="Try again.") from error


def compared(catalogue: Catalogue, found: Iterable[tuple[str, FileStat]]) -> tuple[dict[str, FileStat], list[str]]:
    """What a scan found other than the catalogue knows it, and the documents of the catalogue that it did not find.

    Of each document no more is kept meanwhile than a number made of what is known of it: rows of all of them, at every
    scan, would take ten times the memory and leave holes in it that stay for hours. A document that another process
    takes in while the scan goes on, and that is gone before the scan comes by, is found missing by the next one.
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
    """Of every document the path, and what `FileStat` holds."""
    return connection.execute("SELECT path, size, mtime_ns, ctime_ns, inode FROM files")


_Stat = tuple[str, int, int, int, int]


def unreachable(store: Store, paths: Sequence[str]) -> dict[str, str]:
    """Those of these documents of which nobody can see whether they are there, each with the reason.

    A folder that cannot be opened for a moment is no empty one: what the index knows of it stays as it was.
    """
    reasons: dict[str, str] = {}
    for path in paths:
        try:
            store.stat(Address(path))
        except StorageError as error:
            reasons[path] = str(error)
    return reasons


def mark_batch_begun(connection: sqlite3.Connection, files: int) -> frozenset[str]:
    """Note which pending files are taken in next; those of which this was noted before, by a batch that failed."""
    left = frozenset(cast("str", row[0]) for row in connection.execute("SELECT path FROM pending WHERE begun"))
    connection.execute(
        "UPDATE pending SET begun = 1 WHERE path IN (SELECT path FROM pending ORDER BY path LIMIT ?)", (files,)
    )
    return left


def mark_batch_done(connection: sqlite3.Connection, paths: Sequence[str], done: int, left: Collection[str]) -> None:
    """Note, with what a batch has changed, that it ended well.

    Args:
        connection: The catalogue, inside the batch's transaction; the full text has been committed.
        paths: Those that the batch was begun with, in order.
        done: How many of them it came to. Of the others the full text holds no more than it did before.
        left: What `mark_batch_begun` returned: of these nobody knows what it holds.
    """
    connection.executemany("DELETE FROM pending WHERE path = ?", [(path,) for path in paths[:done]])
    unreached = [(path,) for path in paths[done:] if path not in left]
    connection.executemany("UPDATE pending SET begun = 0 WHERE path = ?", unreached)


def pending_paths(connection: sqlite3.Connection) -> list[tuple[str, bool, bool]]:
    """Every pending path in order, whether a batch with it was begun, and whether the catalogue does not know it."""
    rows = connection.execute(
        "SELECT p.path, p.begun, f.id IS NULL FROM pending p LEFT JOIN files f ON f.path = p.path ORDER BY p.path"
    )
    return [(path, bool(begun), bool(unknown)) for path, begun, unknown in rows]


def settled_stat(stat: FileStat) -> FileStat:
    """The facts to remember; false ones for a file that was changed just now, so that the next sync looks again."""
    if time.time_ns() - max(stat.mtime_ns, stat.ctime_ns) > UNSETTLED_NS:
        return stat
    return stat._replace(ctime_ns=-1)
