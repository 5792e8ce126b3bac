"""A read-only SQL view of the entries and links that a caller may see, with the columns of the older server.

The statements of a plugin run on a database in memory: they can neither write nor open a file.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from commonplace.domain.json import Json, JsonObject

ENTRY_COLUMNS: Final = (
    *("id", "kb_name", "entry_type", "title", "summary", "file_path", "date", "importance", "status", "location"),
    *("assignee", "assigned_at", "priority", "due_date", "start_date", "end_date", "coordinates", "fips", "state"),
    *("lifecycle", "metadata", "created_at", "updated_at"),
)
"""Columns of `entry` besides `body`, which is read when a statement asks for it."""
LINK_COLUMNS: Final = ("source_id", "source_kb", "target_id", "target_kb", "relation", "inverse_relation", "note")
TABLES: Final = frozenset({"entry", "link"})
MAX_SECONDS = 10.0
"""Seconds after which a statement ends with an error."""
MAX_VALUE_BYTES = 50_000_000
"""Maximum size of one value in bytes."""
STEPS = 10_000
"""Number of SQLite's instructions between two looks at the clock."""
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_LINKS = re.compile(r"\blink\b", re.IGNORECASE)

Row = Mapping[str, Json]


class SqlRows:
    """The rows of one statement, as a cursor returns them."""

    def __init__(self, rows: Sequence[sqlite3.Row]) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[sqlite3.Row]:
        return self._rows

    def fetchone(self) -> sqlite3.Row | None:
        """The next row; None after the last."""
        return next(self._rows, None)

    def fetchall(self) -> list[sqlite3.Row]:
        """All further rows."""
        return list(self._rows)


class SqlView:
    """The tables `entry` and `link` of one moment.

    Args:
        entries: The entries as rows.
        links: Returns the links as rows; called when a statement first names them.
        body: Returns the text of the entry at a path of a base.
    """

    def __init__(
        self, entries: Sequence[Row], links: Callable[[], Sequence[Row]], body: Callable[[str, str], str]
    ) -> None:
        self._lock = threading.Lock()
        self._links = links
        self._has_links = False
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        self._connection.create_function("body_of", 2, body)
        self._fill("rows", ENTRY_COLUMNS, entries)
        self._fill("link", LINK_COLUMNS, ())
        self._connection.execute("CREATE VIEW entry AS SELECT *, body_of(kb_name, file_path) AS body FROM rows")

    def execute(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> SqlRows:
        """The rows of a SELECT.

        Raises:
            sqlite3.Error: the statement is wrong, would change something, or takes too long.
        """
        with self._lock:
            if not self._has_links and _LINKS.search(statement):
                self._has_links = True
                self._fill("link", LINK_COLUMNS, self._links())
            ends = time.monotonic() + MAX_SECONDS
            self._connection.set_authorizer(_judge)
            self._connection.set_progress_handler(lambda: time.monotonic() > ends, STEPS)
            try:
                return SqlRows(self._connection.execute(statement, values).fetchall())
            finally:
                self._connection.set_progress_handler(None, 0)
                self._connection.set_authorizer(None)

    def commit(self) -> None:
        """Nothing, as nothing can be written."""

    def _fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({names})")
        insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - the names stand in this module
        self._connection.executemany(insert, [[_stored(row.get(name)) for name in columns] for row in rows])


def _judge(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    del database, trigger
    if action == sqlite3.SQLITE_READ and first not in {*TABLES, "rows", ""}:
        return sqlite3.SQLITE_DENY
    refused = action == sqlite3.SQLITE_FUNCTION and second == "load_extension"
    return sqlite3.SQLITE_OK if action in _ALLOWED and not refused else sqlite3.SQLITE_DENY


def _stored(value: Json) -> str | float | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return json.dumps(value, ensure_ascii=False)


def as_entry(values: JsonObject) -> Row:
    """A row of `entry` with every column."""
    return {name: values.get(name) for name in ENTRY_COLUMNS}
