"""Created and updated times of documents from their history, computed in the background.

Until they are known, the times of the files are used. Files of a commit have no times; they get that of the commit.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import cast

from commonplace.domain.addresses import Address
from commonplace.domain.changes import CommitSpan
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.ports import Store
from commonplace.domain.records import day_number, iso_timestamp
from commonplace.index.catalogue.database import Catalogue, grow, read_meta, sql, write_meta
from commonplace.index.catalogue.document_rows import DATE_KNOWN, DATE_UNCOMMITTED, GIVEN_CREATED, GIVEN_UPDATED, encode
from commonplace.index.process import trim_heap

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Minimum interval in seconds between two walks of the history while no query waits; a burst of commits costs one walk.
"""
BATCH_DOCUMENTS = 500
"""Maximum number of documents that are dated together."""
CLOSE_SECONDS = 10.0
"""Timeout in seconds for the current walk of the history at the end of the process."""
TIDY_SECONDS = 10.0
"""Minimum interval in seconds between two calls of `trim_heap`, which takes some milliseconds."""


class DateUpdater:
    """Updates created and updated times from the history, in a thread that ends when there is nothing to do.

    Args:
        store: The files and their history.
        catalogue: Returns the catalogue; None if it was deleted (the next query creates a new one).
    """

    def __init__(self, store: Store, catalogue: Callable[[], Catalogue | None]) -> None:
        self._store = store
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._hurry = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._tidied = time.monotonic()

    def wake(self) -> None:
        """Report that the history may have changed."""
        with self._lock:
            if self._closing.is_set():
                return
            self._wanted = True
            self._idle.clear()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="dates", daemon=True)
                thread.start()
                self._thread = thread

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds until all documents are dated. Returns whether they are."""
        if not self._idle.is_set():
            self._hurry.set()
        return self._idle.wait(timeout)

    def close(self) -> None:
        """Stop after the current walk. Waits at most `CLOSE_SECONDS`."""
        self._closing.set()
        self._hurry.set()
        with self._lock:  # threads are started under this lock, and a thread that was not started cannot be joined
            thread = self._thread
        if thread and thread is not threading.current_thread():
            thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._wanted or self._closing.is_set():
                    self._thread = None
                    self._idle.set()
                    return
                self._wanted = False
                self._hurry.clear()
            self._date()
            with self._lock:
                if not self._wanted:
                    self._idle.set()
            if time.monotonic() - self._tidied > TIDY_SECONDS:
                trim_heap()
                self._tidied = time.monotonic()
            if not self._closing.is_set():
                self._hurry.wait(PAUSE_SECONDS)

    def _date(self) -> None:
        catalogue = self._catalogue()
        if catalogue is None:
            return
        try:
            update_all_dates(self._store, catalogue)
        except (KnowledgeError, sqlite3.Error, OSError) as error:
            # An error of a deleted or replaced catalogue is not logged.
            if self._catalogue() is catalogue:
                log.warning(
                    "%s: the history could not be read for dates: %s",
                    self._store.name,
                    error,
                    exc_info=log.isEnabledFor(logging.DEBUG),
                )


def update_all_dates(store: Store, catalogue: Catalogue) -> int:
    """Set created and updated times from the history if the frontmatter gives none; returns the number of changes."""
    head = store.history.head()
    with catalogue.reading() as connection:
        before = str(read_meta(connection, "dated") or "")
        waiting = connection.execute(sql("SELECT 1 FROM files WHERE", _WAITING, "LIMIT 1")).fetchone()
        if head == before and not waiting:
            return 0
        keys = _undated(connection, set() if head == before else store.history.touched_since(before))
    moved, straight = 0, True
    for at in range(0, len(keys), BATCH_DOCUMENTS):
        moved += update_dates(store, catalogue, keys[at : at + BATCH_DOCUMENTS], committed=bool(head))
        straight = straight and (store.history.head() == head or store.history.touched_since(head) is not None)
    if straight:  # otherwise some documents have dates of another branch, and all are dated again
        with catalogue.writing() as connection:
            write_meta(connection, "dated", head)
    return moved


def update_dates(store: Store, catalogue: Catalogue, keys: Sequence[int], *, committed: bool) -> int:
    """Set the times of some documents; returns how many changed.

    Args:
        store: The store with the history.
        catalogue: The catalogue.
        keys: Numbers of the documents.
        committed: Whether there is any commit.
    """
    with catalogue.reading() as connection:
        rows = _rows(connection, keys)
    touched = store.history.touched([Address(row[0]) for row in rows]) if committed else {}
    dated = [_dated(row, touched.get(Address(row[0]))) for row in rows]
    # Only documents that may be newer than their last commit are compared with it. They are few, except in a new index.
    suspects = {
        Address(row[0]): row[5] for row, new in zip(rows, dated, strict=True) if new != row[1:3] or row[4] != DATE_KNOWN
    }
    newer = store.history.uncommitted(suspects) if committed else set[Address]()
    changes = [
        change
        for row, new in zip(rows, dated, strict=True)
        if (change := _change(row, new, is_newer=Address(row[0]) in newer))
    ]
    times = {(path, created, updated) for path, created, updated, *_ in rows}
    moved = sum((path, created, updated) not in times for created, _, updated, _, _, path, *_ in changes)
    if changes:
        with catalogue.writing() as connection:
            # A document whose row has changed meanwhile is left to the next round.
            connection.executemany(
                "UPDATE files SET created = ?, created_day = ?, updated = ?, updated_day = ?, dated = ?"
                " WHERE path = ? AND revision = ? AND mtime_ns = ?",
                changes,
            )
            if moved:
                grow(connection, "generation")
    return moved


_Row = tuple[str, str, str, int, int, str, int]

_WITHOUT_DATE = f"dated <> {DATE_KNOWN}"
"""SQL condition for rows whose times are not those of commits; the same text as in the index `files_undated`."""
_WAITING = f"{_WITHOUT_DATE} AND dated % 2 = 0"
"""SQL condition for rows that wait for the history to be read."""


def _undated(connection: sqlite3.Connection, touched: Collection[Address] | None) -> list[int]:
    """Numbers of the documents whose times may have changed: touched and uncommitted ones, or all.

    The order is by path, so that the tree of each folder is read once.
    """
    if touched is None:
        rows = connection.execute("SELECT path, id FROM files")
    else:
        paths = encode([address.path for address in touched])
        named = "SELECT path, id FROM files WHERE path IN (SELECT value FROM json_each(?))"
        rows = connection.execute(sql(named, "OR", _WITHOUT_DATE), (paths,))
    return [key for _, key in sorted(rows)]  # sorted here: ORDER BY would read all paths to sort a few


def _rows(connection: sqlite3.Connection, keys: Sequence[int]) -> list[_Row]:
    rows = connection.execute(
        "SELECT path, created, updated, given, dated, revision, mtime_ns FROM files"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (encode(keys),),
    )
    return cast("list[_Row]", rows.fetchall())


def _dated(row: _Row, commits: CommitSpan | None) -> tuple[str, str]:
    """Created and updated times: from the frontmatter, otherwise from the commits, otherwise from the file.

    A commit that only renames the file is no update.

    A file of a commit has no time; its document's times remain unchanged.
    """
    _, created, updated, given_flags, _, _, mtime_ns = row
    if commits:
        first, last = (iso_timestamp(commit.when) for commit in (commits.first, commits.changed))
    elif mtime_ns:
        first = last = iso_timestamp(mtime_ns / 1e9)
    else:
        first, last = created, updated
    return created if given_flags & GIVEN_CREATED else first, updated if given_flags & GIVEN_UPDATED else last


_DateChange = tuple[str, int, str, int, int, str, str, int]


def _change(row: _Row, dated: tuple[str, str], *, is_newer: bool) -> _DateChange | None:
    """The new columns of a document and its key; None if they are unchanged."""
    path, created, updated, given_flags, before, revision, mtime_ns = row
    first, last = dated
    if is_newer and mtime_ns and not given_flags & GIVEN_UPDATED:
        last = iso_timestamp(mtime_ns / 1e9)
    state = DATE_UNCOMMITTED if is_newer else DATE_KNOWN
    if (first, last, state) == (created, updated, before):
        return None
    return first, day_number(first), last, day_number(last), state, path, revision, mtime_ns
