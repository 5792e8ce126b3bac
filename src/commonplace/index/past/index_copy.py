"""Copies an index as the starting point for the index of another state of the same folder."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.ports import Store
from commonplace.domain.records import day_number, iso_timestamp
from commonplace.index.batch_lock import BatchLock
from commonplace.index.catalogue.database import Catalogue, grow, read_meta, write_meta
from commonplace.index.catalogue.document_rows import GIVEN_CREATED, GIVEN_UPDATED, encode
from commonplace.index.catalogue.links import resolve_links
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.index_files import CATALOGUE_FILE, FULLTEXT_FOLDER, LOCK_FILE
from commonplace.index.stored.index_version import SCHEMA_VERSION

_LOCKS = ".lock"
"""Suffix of the full text's lock files, which a copy must not share."""


def revisions_of(folder: Path) -> dict[str, str] | None:
    """The revisions of an index's documents by path; None unless the index is complete and of this version."""
    try:
        with closing(_reading(folder / CATALOGUE_FILE)) as connection:
            if read_meta(connection, "version") != SCHEMA_VERSION or not read_meta(connection, "complete"):
                return None
            return dict(connection.execute("SELECT path, revision FROM files").fetchall())
    except sqlite3.Error:
        return None


def copy_index(source: Path, target: Path, store: Store, files: Mapping[str, FileStat]) -> None:
    """Copy an index to a new folder, as the starting point for the index of another store.

    Documents whose revision equals that of the store's file count as indexed. Links to files that are not documents are
    resolved again, and dates are set again from the store's history.

    Args:
        source: Folder of the index. Its full text must not be written during the copy.
        target: A folder that does not exist.
        store: The files of the new index.
        files: Metadata of the store's documents; `inode` is the first 15 hex digits of the blob id.

    Raises:
        OSError, sqlite3.Error: the copy failed.
        UnavailableError: acquiring the lock timed out.
    """
    target.mkdir(parents=True)
    with BatchLock(source / LOCK_FILE).held():
        with (
            closing(_reading(source / CATALOGUE_FILE)) as live,
            closing(sqlite3.connect(target / CATALOGUE_FILE)) as copied,
        ):
            live.backup(copied)
            copied.execute("PRAGMA journal_mode = WAL")
        shutil.copytree(
            source / FULLTEXT_FOLDER,
            target / FULLTEXT_FOLDER,
            ignore=shutil.ignore_patterns(f"*{_LOCKS}"),
            copy_function=_linked,
        )
    catalogue = Catalogue(target / CATALOGUE_FILE)
    try:
        with catalogue.writing(batch=True) as connection:
            _adapt(connection, store, files)
    finally:
        catalogue.close()


def _adapt(connection: sqlite3.Connection, store: Store, files: Mapping[str, FileStat]) -> None:
    _limit_dates(connection, iso_timestamp(max((stat.mtime_ns for stat in files.values()), default=0) / 1e9))
    connection.executemany(
        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?"
        " WHERE path = ? AND substr(revision, 1, 15) = ?",
        ((*stat, path, f"{stat.inode:015x}") for path, stat in files.items()),
    )
    others = OtherFiles(store)
    # Two statements, because each can use an index, so that only the few affected links are read.
    connection.execute(
        "INSERT OR IGNORE INTO unsettled SELECT key FROM links WHERE attachment IS NOT NULL AND key <> ''"
    )
    connection.execute(
        "INSERT OR IGNORE INTO unsettled SELECT l.key FROM json_each(?) other CROSS JOIN links l ON l.key = other.value"
        " WHERE l.target IS NULL AND l.key <> ''",
        (encode(others.keys()),),
    )
    connection.execute("DELETE FROM unreadable")
    resolve_links(connection, store, others)
    grow(connection, "generation")


def _limit_dates(connection: sqlite3.Connection, latest: str) -> None:
    """Limit the documents' times to that of the commit, until they are dated by its history.

    Most times in the source are correct already, and only changed rows cost an update of the catalogue's indexes.
    """
    day = day_number(latest)
    connection.execute(
        "UPDATE files SET created = ?1, created_day = ?2 WHERE created > ?1 AND NOT given & ?3",
        (latest, day, GIVEN_CREATED),
    )
    connection.execute(
        "UPDATE files SET updated = ?1, updated_day = ?2 WHERE updated > ?1 AND NOT given & ?3",
        (latest, day, GIVEN_UPDATED),
    )
    write_meta(connection, "dated", "")


def _linked(source: str, target: str) -> str:
    """Create a hard link to a file; a copy if the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
