"""Backlinks of a document, and its unlinked mentions."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, Record, ResolvedLink, SearchQuery
from commonplace.domain.query_parser import plain_query
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.links import by_name
from commonplace.services.site.derived import BoundedCache
from commonplace.services.site.graph import ADJACENCY

MAX_MENTIONS = 20
"""Unlinked mentions that are listed."""
MIN_NAME_LETTERS = 3
"""Minimum letters and digits of a title or alias that is searched for; shorter ones are in too many texts."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A document that links to another one."""

    found: FoundDocument
    sentences: tuple[str, ...]
    """The distinct sentences that contain the links."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that names another one without linking to it."""

    found: FoundDocument
    snippet: str


@dataclass(frozen=True, slots=True)
class Backlinks:
    """The documents that link to another."""

    total: int
    shown: list[Backlink]
    """The requested part of the documents, by path; those of other collections last."""


def backlinks(
    collections: Collections, collection: Collection, address: Address, limit: int, start: int = 0
) -> Backlinks:
    """The documents that link to a document or file, each once.

    Args:
        collections: All collections that the reader may see.
        collection: The collection of the document.
        address: The document or file.
        limit: Maximum number of shown documents. Only these are read.
        start: Position of the first shown document, from 0.
    """
    names = tuple(one.name for one in collections)
    states = tuple(one.index.generation for one in collections)
    key = (collection.store.identity, address, names, states, limit, start)
    return _KNOWN.get(key) or _KNOWN.put(key, _found(collections, collection, address, (start, limit)), 1)


MAX_KNOWN = 2_000
"""Maximum number of documents whose backlinks are cached."""
_KNOWN: BoundedCache[Backlinks] = BoundedCache(MAX_KNOWN)


def _found(collections: Collections, collection: Collection, address: Address, window: tuple[int, int]) -> Backlinks:
    start, limit = window
    linking = sorted(ADJACENCY.of(collection).get(address, ((), ()))[1])
    read = linking[start : start + limit]
    sentences = _by_source(collection.index.links_to(address, sources=read)) if read else {}
    every = [_Source(collection, source, sentences.get(source, [])) for source in linking]
    for other, into in by_name(collections, collection, address):
        every += [_Source(other, source, kept) for source, kept in _by_source(into).items()]
    return Backlinks(len(every), [found for one in every[start : start + limit] if (found := one.backlink())])


def mentions(collection: Collection, record: Record, limit: int = MAX_MENTIONS) -> list[Mention]:
    """Documents that contain the title or an alias of a document as a phrase and do not link to it, at most `limit`."""
    linking = {link.source for link in collection.index.links_to(record.address, sentences=False)}
    excluded = (record.address, *linking)
    result: dict[Address, Mention] = {}
    for name in (record.title, *record.aliases):
        phrase = plain_query(name)
        if sum(map(str.isalnum, phrase)) < MIN_NAME_LETTERS:
            continue
        query = SearchQuery(text=f'"{phrase}"', filter=Filter(without=excluded), limit=limit, sections=1, prefix=False)
        # Not `services.searches`: without a page that has the phrase, it returns pages that have its words.
        for hit in collection.index.search(query).hits:
            snippet = hit.sections[0].snippet if hit.sections else ""
            result.setdefault(hit.record.address, Mention(FoundDocument(collection, hit.record), snippet))
    return list(result.values())[:limit]


@dataclass(frozen=True, slots=True)
class _Source:
    collection: Collection
    address: Address
    sentences: list[str]

    def backlink(self) -> Backlink | None:
        """The backlink; None if the document was deleted meanwhile."""
        record = self.collection.index.record(self.address)
        return Backlink(FoundDocument(self.collection, record), tuple(self.sentences)) if record else None


def _by_source(links: list[ResolvedLink]) -> dict[Address, list[str]]:
    """The distinct sentences by document."""
    sentences: dict[Address, list[str]] = {}
    for link in links:
        kept = sentences.setdefault(link.source, [])
        if link.sentence and link.sentence not in kept:
            kept.append(link.sentence)
    return sentences
