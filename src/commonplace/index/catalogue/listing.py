"""Lists, tags and totals: queries that only need the catalogue, without opening files."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import cast

from commonplace.domain.addresses import Address, fold
from commonplace.domain.findings import finding_of
from commonplace.domain.query import Counts, Filter, ListQuery, Record, RecordPage, SortKey
from commonplace.domain.records import LAST_DAY, day_number
from commonplace.index.catalogue.database import GenerationCache, sql
from commonplace.index.catalogue.document_rows import encode, records_where

_SORTS: dict[SortKey, str] = {
    "path": "f.path",
    "title": "f.title_folded",
    "type": "f.type_folded",
    "date": "f.date",
    "created": "f.created",
    "updated": "f.updated",
    "updated_day": "f.updated_day",
    "score": "f.path",
}
_BY_PATH: frozenset[SortKey] = frozenset({"path", "score"})
MANY_SHARE = 4
"""A filter that matches more than 1/`MANY_SHARE` of the documents is applied by scanning all documents."""
LARGE_VALUES = 1000
"""Total length in characters of a filter's values above which its count is not cached."""
MAX_OFFSET = 2**62
"""Maximum offset of a list; larger numbers may exceed SQLite's 64-bit integers."""
MAX_CODE_POINT = "\U0010ffff"
"""A character that sorts after every character of a path or tag."""


_INDEXED: dict[SortKey, bool] = {"title": False, "type": False, "date": True, "updated": True}
"""Sort keys with an index in exactly this order, and whether the index is descending."""


class Condition:
    """A filter as SQL over `files f`. Fields and dates of the frontmatter are excluded: only the full text has them.

    Args:
        filter_: The filter.
        keys: Documents that match the filter's fields and dates; None if it has none.
    """

    def __init__(self, filter_: Filter, keys: Collection[int] | None = None) -> None:
        self._parts: list[str] = []
        self.values: list[str | int] = []
        if filter_.prefix and filter_.prefix_any_case:
            self._add("substr(folded(f.path), 1, ?) = ?", len(fold(filter_.prefix)), fold(filter_.prefix))
        elif filter_.prefix:
            forms = filter_.prefixes
            either = " OR ".join(["(f.path >= ? AND f.path < ?)"] * len(forms))
            self._add(f"({either})", *(bound for form in forms for bound in (form, form + MAX_CODE_POINT)))
        if filter_.types:
            self._add(f"f.type_folded IN ({_marks(filter_.types)})", *map(fold, filter_.types))
        self._add_tags(list(map(_bare_tag, filter_.tags)), list(map(_bare_tag, filter_.any_tags)))
        self._add_days("f.day", filter_.date_from, filter_.date_to)
        self._add_days("f.created_day", filter_.created_from, filter_.created_to)
        self._add_days("f.updated_day", filter_.updated_from, filter_.updated_to)
        if keys is not None:
            self._add("f.id IN (SELECT value FROM json_each(?))", encode(list(keys)))
        if filter_.among is not None:
            self._add("f.path IN (SELECT value FROM json_each(?))", _paths(filter_.among))
        if filter_.without:
            self._add("f.path NOT IN (SELECT value FROM json_each(?))", _paths(filter_.without))

    @property
    def sql(self) -> str:
        """The condition after WHERE."""
        return " AND ".join(self._parts) or "1"

    @property
    def unindexed(self) -> str:
        """The condition with a unary plus before every column, which prevents SQLite from using an index."""
        return " AND ".join(part.replace("f.", "+f.") for part in self._parts) or "1"

    def _add(self, sql: str, *values: str | int) -> None:
        self._parts.append(sql)
        self.values += values

    def _add_tags(self, tags: Sequence[str], any_tags: Sequence[str]) -> None:
        """Add that a document has all of some tags, or tags below them, and at least one of others."""
        for tag in tags:
            self._add(
                "f.id IN (SELECT file FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?))", tag, f"{tag}/", f"{tag}0"
            )
        if any_tags:
            self._add(sql("f.id IN (SELECT file FROM tags WHERE tag IN (", _marks(any_tags), "))"), *any_tags)

    def _add_days(self, column: str, first: str, last: str) -> None:
        if first or last:
            self._add(f"{column} BETWEEN ? AND ?", day_number(first) or 1, day_number(last) or LAST_DAY)


def list_records(
    connection: sqlite3.Connection, cache: GenerationCache, query: ListQuery, keys: Collection[int] | None = None
) -> RecordPage:
    """A page of the records that match a filter, sorted, ties by path.

    Args:
        connection: The catalogue.
        cache: Cached results of this generation.
        query: The query.
        keys: See `Condition`.
    """
    where = Condition(query.filter, keys)
    total = _count(connection, cache, where)
    limit, offset = max(query.limit, 0), min(max(query.offset, 0), MAX_OFFSET)
    if not limit or offset >= total:
        return RecordPage(records=(), total=total)
    order = within = order_by(query.sort, descending=query.descending)
    condition = where.sql
    if where.values and query.sort not in _BY_PATH:
        # If a filter has many matches, scanning the sort's index is fastest; if it has few, sorting the matches.
        documents = _count(connection, cache, Condition(Filter()))
        if _INDEXED.get(query.sort) is not query.descending:
            within = f"+{order}"
            condition = where.unindexed if total > documents // MANY_SHARE else where.sql
        elif (offset + limit) * documents < total * total:
            condition = where.unindexed
        else:
            within = f"+{order}"
    page = sql("f.id IN (SELECT f.id FROM files f WHERE", condition, "ORDER BY", within, "LIMIT ? OFFSET ?)")
    records = records_where(connection, page, (*where.values, limit, offset), order)
    return RecordPage(records=tuple(records), total=total)


def _count(connection: sqlite3.Connection, cache: GenerationCache, where: Condition) -> int:
    """Number of documents that match a condition."""

    def count() -> int:
        counting = sql("SELECT count(*) FROM files f WHERE", where.sql)
        return cast("int", connection.execute(counting, where.values).fetchone()[0])

    if sum(len(str(value)) for value in where.values) > LARGE_VALUES:
        return count()
    return cache.get(connection, ("count", where.sql, *where.values), count)


def order_by(sort: SortKey, *, descending: bool) -> str:
    """The expression after ORDER BY. The sort by score is unknown here, and is replaced by that by path."""
    return f"{_SORTS[sort]} {'DESC' if descending else 'ASC'}, f.path"


def matching_keys(connection: sqlite3.Connection, filter_: Filter) -> list[int]:
    """Numbers of the documents that match a filter without fields."""
    where = Condition(filter_)
    statement = sql("SELECT f.id FROM files f WHERE", where.sql)
    return [row[0] for row in connection.execute(statement, where.values)]


def sorted_keys(connection: sqlite3.Connection, keys: Sequence[int], query: ListQuery) -> list[int]:
    """The page of these documents by the query's sort, offset and limit; its filter is not applied."""
    order = order_by(query.sort, descending=query.descending)
    chosen = "SELECT f.id FROM files f WHERE f.id IN (SELECT value FROM json_each(?)) ORDER BY"
    rows = connection.execute(
        sql(chosen, order, "LIMIT ? OFFSET ?"),
        (encode(keys), max(query.limit, 0), min(max(query.offset, 0), MAX_OFFSET)),
    )
    return [row[0] for row in rows]


def count_tags(
    connection: sqlite3.Connection, filter_: Filter, prefix: str, keys: Collection[int] | None = None
) -> list[tuple[str, int]]:
    """Tags in their most frequent spelling, with their number of documents, most frequent first, then by name."""
    where = Condition(filter_, keys)
    folded = _bare_tag(prefix)
    rows = connection.execute(
        sql(
            "SELECT t.tag, t.shown, count(*) FROM tags t",
            # Without a filter, the join is not needed.
            "JOIN files f ON f.id = t.file" if where.values else "",
            "WHERE t.tag >= ? AND t.tag < ? AND",
            where.sql,
            "GROUP BY t.tag, t.shown",
        ),
        (folded, folded + MAX_CODE_POINT, *where.values),
    )
    totals: dict[str, int] = {}
    spellings: dict[str, tuple[int, str]] = {}
    for tag, shown, count in cast("list[tuple[str, str, int]]", rows.fetchall()):
        totals[tag] = totals.get(tag, 0) + count
        spellings[tag] = max(spellings.get(tag, (0, "")), (count, shown))
    return sorted(
        ((spellings[tag][1], count) for tag, count in totals.items()), key=lambda counts: (-counts[1], counts[0])
    )


def count_all(connection: sqlite3.Connection) -> Counts:
    """Totals over the collection."""
    rows = cast(
        "list[tuple[str, int, int, int]]",
        connection.execute(
            "SELECT type, count(*), sum(sections), sum(links) FROM files GROUP BY type ORDER BY count(*) DESC, type"
        ).fetchall(),
    )
    return Counts(
        documents=sum(row[1] for row in rows),
        sections=sum(row[2] for row in rows),
        links=sum(row[3] for row in rows),
        tags=connection.execute("SELECT count(DISTINCT tag) FROM tags").fetchone()[0],
        types=tuple(row[:2] for row in rows),
    )


def records_with_findings(connection: sqlite3.Connection) -> list[Record]:
    """Records with findings, by path; an unreadable file has a finding, too."""
    records = records_where(connection, "f.findings > 0")
    for path, reason in connection.execute("SELECT path, reason FROM unreadable"):
        address = Address(path)
        findings = (finding_of("unreadable", reason),)
        records.append(Record(address=address, id=address.id, title=address.stem, type="", findings=findings))
    return sorted(records, key=lambda record: record.address.path)


def any_below(connection: sqlite3.Connection, folders: Sequence[Address]) -> bool:
    """Whether the catalogue has a document in one of these folders."""
    query = "SELECT 1 FROM files WHERE path >= ? AND path < ? LIMIT 1"
    return any(
        connection.execute(query, (f"{folder.path}/", f"{folder.path}0")).fetchone() is not None for folder in folders
    )


def _paths(addresses: Collection[Address]) -> str:
    return encode([address.path for address in addresses])


def _bare_tag(tag: str) -> str:
    return fold(tag.lstrip("#"))


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
