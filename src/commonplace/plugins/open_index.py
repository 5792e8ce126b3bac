"""The database that plugins see: the open index with the methods of the older server, and writes through our own."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, cast

from commonplace.domain.addresses import parse_document_address
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError, ReadOnlyError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Filter, ListQuery, SearchMode, SearchQuery, SortKey
from commonplace.domain.schema import further_fields
from commonplace.plugins.values import plain_object
from commonplace.services import typed_entries
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.links import LinkedDocument, distinct, incoming, outgoing, shown_relation
from commonplace.services.listing import list_documents
from commonplace.services.searches import search
from commonplace.services.typed_entries import NewEntry

DEFAULT_IMPORTANCE = 5
"""Importance of an entry that states none, 1 to 10."""
CORE_KEYS = frozenset(
    {"id", "title", "type", "tags", "links", "summary", "sources", "metadata", "kb_name", "entry_type"}
)
"""Keys of an entry that are no field of `metadata`."""
ALL_ROWS = 1_000_000
"""Limit of a list that is to hold every entry."""
_SORTS: dict[str, SortKey] = {"title": "title", "created_at": "created", "entry_type": "type", "updated_at": "updated"}


class PluginCaller(NamedTuple):
    """The caller of a plugin."""

    collections: Collections
    """The collections that the caller may read."""
    may_write: bool


_CALLER: ContextVar[PluginCaller | None] = ContextVar("_CALLER", default=None)
"""The caller, during a plugin's call."""


@dataclass(slots=True)
class _Views:
    """The last SQL view, which is valid while the indexes stay the same."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    key: object = None
    view: SqlView | None = None


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """The open index, so that plugins need not open anything.

    During a plugin's call, it is restricted to the collections that the caller may read, and to reading unless the
    caller may write.
    """

    collections: Callable[[], Collections]
    views: _Views = field(default_factory=_Views)

    def search(  # noqa: PLR0913, PLR0917 - the signature of the older server
        self,
        query: str,
        kb_name: str | None = None,
        entry_type: str | None = None,
        tags: Sequence[str] | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        mode: SearchMode = "keyword",
    ) -> list[dict[str, Any]]:
        """Rows of the entries that match, best first; `*` matches every entry."""
        filter_ = Filter(
            types=_types(entry_type), tags=tuple(tags or ()), date_from=date_from or "", date_to=date_to or ""
        )
        chosen = self.visible().select(kb_name)
        if query.strip() == "*":
            page = list_documents(chosen, ListQuery(filter=filter_, limit=limit, offset=offset))
            return [_row(document) for document in page.found]
        hits = search(chosen, SearchQuery(text=query, filter=filter_, limit=limit, offset=offset), mode).hits
        return [
            {
                **_row(FoundDocument(hit.collection, hit.hit.record)),
                "snippet": hit.hit.sections[0].snippet if hit.hit.sections else "",
                "rank": -hit.hit.score,
            }
            for hit in hits
        ]

    def get(self, entry_id: str, kb_name: str | None = None) -> dict[str, Any]:
        """The row, text and links of an entry.

        Raises:
            NotFoundError: there is no such entry.
        """
        found_document = self.visible().locate(entry_id, kb_name or None)
        document = found_document.collection.index.document(found_document.record.address)
        sources = document.frontmatter.values.get("sources")
        links = [
            _link(found_document, linked_document)
            for linked_document in outgoing(self.visible(), found_document.collection, found_document.record.address)
        ]
        listed = sources if isinstance(sources, list) else [] if sources is None else [sources]
        return {**_row(found_document), "body": document.body, "sources": listed, "links": links}

    def get_entry(self, entry_id: str, kb_name: str | None = None) -> dict[str, Any] | None:
        """The row, text and links of an entry; None if there is none."""
        with suppress(NotFoundError):
            return self.get(entry_id, kb_name)
        return None

    def list(
        self, kb_name: str | None = None, limit: int = 100, offset: int = 0, entry_type: str | None = None
    ) -> list[dict[str, Any]]:
        """Rows of entries by path, of one type or of all."""
        return self._rows(kb_name, ListQuery(filter=Filter(types=_types(entry_type)), limit=limit, offset=offset))

    def list_entries(  # noqa: PLR0913, PLR0917 - the signature of the older server
        self,
        kb_name: str | None = None,
        entry_type: str | None = None,
        tag: str | None = None,
        sort_by: str = "updated_at",
        sort_order: str = "desc",
        limit: int = 50,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Rows of entries, sorted; newest first unless something else is asked for."""
        filter_ = Filter(types=_types(entry_type), tags=(tag,) if tag else ())
        sort, descending = _SORTS.get(sort_by, "updated"), sort_order.lower() != "asc"
        query = ListQuery(filter=filter_, sort=sort, descending=descending, limit=limit, offset=offset)
        return self._rows(kb_name, query)

    def get_outlinks(self, entry_id: str, kb_name: str | None = None) -> list[dict[str, Any]]:
        """Rows of the entries that an entry links to, each with its `relation`; none for an unknown entry."""
        return self._neighbours(entry_id, kb_name, is_incoming=False)

    def get_backlinks(
        self, entry_id: str, kb_name: str | None = None, limit: int = 0, offset: int = 0
    ) -> list[dict[str, Any]]:
        """Rows of the entries that link to an entry, each with its `relation`; `limit` 0 for all."""
        rows = self._neighbours(entry_id, kb_name, is_incoming=True)[offset:]
        return rows[:limit] if limit else rows

    def get_orphans(self, kb_name: str | None = None) -> list[dict[str, Any]]:
        """Rows of the entries that no other entry links to."""
        chosen = self.visible().select(kb_name or None)
        return [
            _row(FoundDocument(collection, record)) for collection in chosen for record in collection.index.orphans()
        ]

    def get_reviews(self, entry_id: str, kb_name: str, limit: int = 50) -> list[dict[str, Any]]:
        """No reviews: bases keep none beside their entries."""
        del self, entry_id, kb_name, limit
        return []

    def upsert_entry(self, entry_data: JsonObject) -> None:
        """Create an entry, or change the given fields of the one with this id. Hooks and the schema apply.

        Raises:
            KnowledgeError: the caller may not write, or the write is refused.
        """
        values = plain_object(entry_data, "an entry as a dict with id, kb_name, title and entry_type")
        collection = self._writable(str(values.get("kb_name") or ""))
        identifier = str(values.get("id") or "")
        metadata, body = values.get("metadata"), values.get("body")
        fields = {
            key: value
            for key, value in values.items()
            if key not in CORE_KEYS | {"body", "file_path", "created_at", "updated_at"} and value is not None
        }
        fields |= {key: values[key] for key in ("tags", "summary", "links", "sources") if values.get(key)}
        further = {**(metadata if isinstance(metadata, dict) else {}), **fields}
        document = self._entry(identifier, collection)
        if document is None:
            typed_entries.create_entry(collection, _new_entry(values, further))
            return
        named = {"title": values["title"]} if values.get("title") else {}
        text = body if isinstance(body, str) else None
        typed_entries.update_entry(collection, document.record.address, {**named, "metadata": further}, text)

    def create_entry(
        self, kb_name: str, entry_id: str, title: str, entry_type: str, body: str = "", **fields: object
    ) -> None:
        """Create an entry.

        Raises:
            KnowledgeError: the id is taken, the caller may not write, or the write is refused.
        """
        if self._entry(entry_id, self._writable(kb_name)) is not None:
            raise InvalidInputError(f"There already is an entry {entry_id!r}.", kind="argument")
        values = {"kb_name": kb_name, "id": entry_id, "title": title, "entry_type": entry_type, "body": body}
        self.upsert_entry(cast("JsonObject", {**fields, **values}))

    def delete_entry(self, entry_id: str, kb_name: str) -> bool:
        """Delete an entry; whether there was one.

        Raises:
            KnowledgeError: the caller may not write, or the deletion is refused.
        """
        collection = self._writable(kb_name)
        document = self._entry(entry_id, collection)
        if document is not None:
            typed_entries.delete_entry(collection, document.record.address)
        return document is not None

    @property
    def _raw_conn(self) -> SqlView:
        """The entries and links for SQL that reads, as plugins of the older server have it."""
        seen = self.visible()
        key = tuple((collection.name, collection.index.generation) for collection in seen)
        with self.views.lock:
            if self.views.view is None or self.views.key != key:
                rows = [as_entry(_row(document)) for document in _all(seen)]
                self.views.view, self.views.key = SqlView(rows, partial(_links, seen), partial(_body, seen)), key
            return self.views.view

    def _rows(self, kb_name: str | None, query: ListQuery) -> list[dict[str, Any]]:
        return [_row(document) for document in list_documents(self.visible().select(kb_name or None), query).found]

    def _neighbours(self, entry_id: str, kb_name: str | None, *, is_incoming: bool) -> list[dict[str, Any]]:
        seen = self.visible()
        try:
            document = seen.locate(entry_id, kb_name or None)
        except NotFoundError:
            return []
        near = (incoming if is_incoming else outgoing)(seen, document.collection, document.record.address)
        return [
            {
                **{key: _row(document.found).get(key) for key in ("id", "kb_name", "title", "entry_type", "status")},
                "relation": shown_relation(document, is_incoming=is_incoming),
                "note": document.resolved.link.note or None,
            }
            for document in distinct(near)
            if document.found
        ]

    def _entry(self, entry_id: str, collection: Collection) -> FoundDocument | None:
        with suppress(NotFoundError):
            return self.visible().locate(entry_id, collection.name)
        return None

    def _writable(self, kb_name: str) -> Collection:
        caller = _CALLER.get()
        if caller is None or not caller.may_write:
            raise ReadOnlyError(
                "A plugin may write only in a tool of the tier write or admin.",
                kind="collection",
                hint="Use --tier write.",
            )
        return caller.collections.get(kb_name)

    def visible(self) -> Collections:
        """The collections that the caller of the current call may read."""
        caller = _CALLER.get()
        return caller.collections if caller else self.collections()


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A base as plugins see it."""

    name: str
    kb_type: str
    description: str
    read_only: bool


class Config(dict[str, Json]):
    """The settings relevant to a plugin, without secrets and absolute paths, and the open bases."""

    def __init__(self, values: JsonObject, database: OpenIndex) -> None:
        super().__init__(values)
        self._database = database

    @property
    def knowledge_bases(self) -> list[KnowledgeBase]:
        """The bases that the caller may read."""
        return [_base(collection) for collection in self._database.visible()]

    def get_kb(self, name: str) -> KnowledgeBase | None:
        """The base with this name; None if there is none."""
        named = self._database.visible().named(name)
        return _base(named) if named else None


@contextmanager
def seeing(collections: Collections, *, may_write: bool = False) -> Generator[None]:
    """Restrict the open index to these collections, and to reading, for the block's plugin call."""
    token = _CALLER.set(PluginCaller(collections, may_write))
    try:
        yield
    finally:
        _CALLER.reset(token)


def _base(collection: Collection) -> KnowledgeBase:
    schema = typed_entries.current_schema(collection)
    read_only = bool(collection.store.read_only_reason)
    return KnowledgeBase(collection.name, schema.kb_type or "generic", schema.description, read_only)


def _types(name: str | None) -> tuple[str, ...]:
    return () if not name else (name, "") if name == DEFAULT_TYPE else (name,)


def _all(collections: Collections) -> list[FoundDocument]:
    return list(list_documents(collections.members, ListQuery(limit=ALL_ROWS)).found)


def _links(collections: Collections) -> list[dict[str, Json]]:
    rows: list[dict[str, Json]] = []
    for document in _all(collections):
        for linked_document in outgoing(collections, document.collection, document.record.address):
            link = _link(document, linked_document)
            rows.append({**link, "source_id": document.record.reference, "source_kb": document.collection.name})
    return rows


def _link(source: FoundDocument, document: LinkedDocument) -> dict[str, Json]:
    found_document, link = document.found, document.resolved.link
    return {
        "target_id": found_document.record.reference if found_document else link.target,
        "target_kb": found_document.collection.name if found_document else link.collection or source.collection.name,
        "relation": shown_relation(document, is_incoming=False),
        "note": link.note or None,
    }


def _body(collections: Collections, kb_name: str, path: str) -> str:
    with suppress(KnowledgeError):
        return collections.get(kb_name).index.document(parse_document_address(path)).body
    return ""


def _new_entry(values: Mapping[str, Json], further: dict[str, Json]) -> NewEntry:
    """A new entry of an older server's values; what belongs at the top of the front matter leaves `further`."""
    identifier = str(values.get("id") or "")
    top = {key: further.pop(key) for key in ("tags", "summary", "importance", "date", "status") if key in further}
    return NewEntry(
        entry_type=str(values.get("entry_type") or DEFAULT_TYPE), title=str(values.get("title") or identifier),
        body=str(values.get("body") or ""), fields=top, metadata=further, id=identifier, allow_undeclared=True,
        at_top=("links", "sources"),
    )  # fmt: skip


def _row(document: FoundDocument) -> dict[str, Any]:
    record = document.record
    values = record.frontmatter
    importance = values.get("importance")
    return {
        **values,
        "id": record.reference,
        "kb_name": document.collection.name,
        "entry_type": record.type or DEFAULT_TYPE,
        "title": record.title,
        "summary": record.description or None,
        "date": record.date or None,
        "importance": importance if isinstance(importance, int) else DEFAULT_IMPORTANCE,
        "tags": typed_entries.tags_of(document.collection, record),
        "file_path": record.address.path,
        "created_at": record.created or None,
        "updated_at": record.updated or None,
        "metadata": further_fields(values, CORE_KEYS),
    }


# A read-only SQL view of the entries and links that a caller may see, with the columns of the older server.
#
# The statements of a plugin run on a database in memory: they can neither write nor open a file.


ENTRY_COLUMNS: Final = (
    *("id", "kb_name", "entry_type", "title", "summary", "file_path", "date", "importance", "status", "location"),
    *("assignee", "assigned_at", "priority", "due_date", "start_date", "end_date", "coordinates", "fips", "state"),
    *("lifecycle", "metadata", "created_at", "updated_at"),
)
"""Columns of `entry` besides `body`, which is read when a statement asks for it."""
LINK_COLUMNS: Final = ("source_id", "source_kb", "target_id", "target_kb", "relation", "inverse_relation", "note")
TABLES: Final = frozenset({"entry", "link"})
MAX_SECONDS = 10.0
"""CPU seconds after which a statement ends with an error."""
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
            ends = time.thread_time() + MAX_SECONDS  # a busy machine ends no statement
            self._connection.set_authorizer(_judge)
            self._connection.set_progress_handler(lambda: time.thread_time() > ends, STEPS)
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
