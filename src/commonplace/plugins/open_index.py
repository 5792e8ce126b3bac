"""The read-only index that plugins use."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.query import Filter, ListQuery, SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.links import LinkedDocument, distinct, incoming, outgoing
from commonplace.services.listing import list_documents
from commonplace.services.searches import search

_SEEN: ContextVar[Collections | None] = ContextVar("_SEEN", default=None)
"""The collections that the caller may read, during a plugin's call."""


_Neighbours = Callable[[Collections, Collection, Address], list[LinkedDocument]]


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """The open index, read-only, so that plugins need not open anything.

    During a plugin's call, it is restricted to the collections that the caller may read.
    """

    collections: Callable[[], Collections]

    def search(
        self, text: str, kb_name: str | None = None, limit: int = 20, *, mode: SearchMode = "keyword"
    ) -> list[JsonObject]:
        """Rows of the entries that match, best first; `*` matches every entry."""
        if text.strip() == "*":
            return self.list(kb_name, limit)
        chosen = self._seen().select(kb_name)
        hits = search(chosen, SearchQuery(text=text, limit=limit), mode).hits
        return [_row(FoundDocument(hit.collection, hit.hit.record)) for hit in hits]

    def get(self, entry_id: str, kb_name: str | None = None) -> JsonObject:
        """The row and text of an entry.

        Raises:
            NotFoundError: there is no such entry.
        """
        found = self._seen().locate(entry_id, kb_name)
        document = found.collection.index.document(found.record.address)
        return {**_row(found), "body": document.body}

    def get_entry(self, entry_id: str, kb_name: str | None = None) -> JsonObject | None:
        """The row and text of an entry; None if there is none."""
        try:
            return self.get(entry_id, kb_name)
        except NotFoundError:
            return None

    def list(
        self, kb_name: str | None = None, limit: int = 100, offset: int = 0, entry_type: str | None = None
    ) -> list[JsonObject]:
        """Rows of entries by path, of one type or of all."""
        filter_ = Filter(types=(entry_type,) if entry_type else ())
        page = list_documents(self._seen().select(kb_name), ListQuery(filter=filter_, limit=limit, offset=offset))
        return [_row(found) for found in page.found]

    def get_outlinks(self, entry_id: str, kb_name: str | None = None) -> list[JsonObject]:
        """Rows of the entries that an entry links to, each with its `relation`.

        Raises:
            NotFoundError: there is no such entry.
        """
        return self._neighbours(outgoing, entry_id, kb_name)

    def get_backlinks(self, entry_id: str, kb_name: str | None = None) -> list[JsonObject]:
        """Rows of the entries that link to an entry, each with its `relation`.

        Raises:
            NotFoundError: there is no such entry.
        """
        return self._neighbours(incoming, entry_id, kb_name)

    def _neighbours(self, which: _Neighbours, entry_id: str, kb_name: str | None) -> list[JsonObject]:
        collections = self._seen()
        found = collections.locate(entry_id, kb_name)
        neighbours = distinct(which(collections, found.collection, found.record.address))
        return [{**_row(one.found), "relation": one.relation} for one in neighbours if one.found]

    def _seen(self) -> Collections:
        return _SEEN.get() or self.collections()


@contextmanager
def seeing(collections: Collections) -> Generator[None]:
    """Restrict the open index to these collections for the block's plugin call."""
    token = _SEEN.set(collections)
    try:
        yield
    finally:
        _SEEN.reset(token)


def _row(found: FoundDocument) -> JsonObject:
    record = found.record
    return {
        **record.frontmatter,
        "id": record.id,
        "kb_name": found.collection.name,
        "entry_type": record.type or "note",
        "title": record.title,
        "tags": list(record.tags),
        "file_path": record.address.path,
        "metadata": dict(record.frontmatter),
    }
