"""The open index as plugins see it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from commonplace.domain.json import JsonObject
from commonplace.domain.query import ListQuery, SearchQuery
from commonplace.services.collections import Collections, Found
from commonplace.services.listing import list_documents
from commonplace.services.searching import search

_SEEN: ContextVar[Collections | None] = ContextVar("_SEEN", default=None)
"""The collections that the caller may see, while a plugin serves a call."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """The open index, read-only: what a plugin asks instead of opening anything of its own.

    While a plugin serves a call it holds what the caller may see, and nothing else.
    """

    collections: Callable[[], Collections]

    def search(self, text: str, kb_name: str | None = None, limit: int = 20) -> list[JsonObject]:
        """Rows of the entries that match, best first."""
        chosen = self._seen().chosen(kb_name)
        hits = search(chosen, SearchQuery(text=text, limit=limit)).hits
        return [_row(Found(hit.collection, hit.hit.record)) for hit in hits]

    def get(self, entry_id: str, kb_name: str | None = None) -> JsonObject:
        """The row and text of an entry.

        Raises:
            NotFoundError: there is none.
        """
        found = self._seen().locate(entry_id, kb_name)
        document = found.collection.index.document(found.record.address)
        return {**_row(found), "body": document.raw[document.body_start :].decode("utf-8", "replace")}

    def list(self, kb_name: str | None = None, limit: int = 100, offset: int = 0) -> list[JsonObject]:
        """Rows of entries by path."""
        page = list_documents(self._seen().chosen(kb_name), ListQuery(limit=limit, offset=offset))
        return [_row(found) for found in page.found]

    def _seen(self) -> Collections:
        return _SEEN.get() or self.collections()


@contextmanager
def seeing(collections: Collections) -> Generator[None]:
    """Let the open index hold these collections and no others, for a plugin that serves a call within."""
    token = _SEEN.set(collections)
    try:
        yield
    finally:
        _SEEN.reset(token)


def _row(found: Found) -> JsonObject:
    record = found.record
    return {
        **record.frontmatter,
        "id": record.id,
        "kb_name": found.collection.name,
        "entry_type": record.type or "note",
        "title": record.title,
        "tags": list(record.tags),
        "file_path": record.address.path,
    }
