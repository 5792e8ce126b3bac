"""Shell completion from a catalogue: pages, tags and types by prefix. Imports SQLite and nothing else."""

from __future__ import annotations

import sqlite3

BUSY_SECONDS = 0.02
"""Timeout in seconds for another process's lock, after which completion shows nothing."""
MAX_CODE_POINT = "\U0010ffff"

_NAMES = {
    "tags": "SELECT shown, count(*) FROM tags WHERE shown >= ? AND shown < ? GROUP BY tag ORDER BY tag",
    "types": "SELECT type, count(*) FROM files WHERE type >= ? AND type < ? AND type <> '' GROUP BY type ORDER BY type",
}


def complete_paths(database: str, begin: str) -> list[tuple[str, str]]:
    """Path and title of the pages with a path prefix, by path; none if the catalogue cannot be read."""
    return _rows(database, "SELECT path, title FROM files WHERE path >= ? AND path < ? ORDER BY path", begin)


def complete_names(database: str, what: str, begin: str) -> list[tuple[str, str]]:
    """The `tags` or `types` with a prefix, each with its number of pages as text."""
    return _rows(database, _NAMES[what], begin)


def _rows(database: str, statement: str, begin: str) -> list[tuple[str, str]]:
    try:
        connection = sqlite3.connect(database, timeout=BUSY_SECONDS)
    except sqlite3.Error:
        return []
    try:
        return [(name, str(about)) for name, about in connection.execute(statement, (begin, begin + MAX_CODE_POINT))]
    except (sqlite3.Error, UnicodeEncodeError):  # a shell passes invalid UTF-8 as lone surrogates
        return []
    finally:
        connection.close()
