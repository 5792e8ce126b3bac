"""Who links to a document, and who names it without a link."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, Record, ResolvedLink, SearchQuery
from commonplace.services.collections import Collection, Collections, FoundDocument

MAX_WITH_SENTENCES = 200
"""Links up to which each backlink comes with its sentence; above it their documents are not read."""
MAX_MENTIONS = 20
"""Unlinked mentions that are listed."""
MIN_NAME_CHARS = 3
"""Shorter titles and aliases are too common to be searched for."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A document that links here."""

    found: FoundDocument
    sentences: tuple[str, ...]
    """The sentences that hold its links; empty if there are too many backlinks to read them."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that names another one without linking to it."""

    found: FoundDocument
    snippet: str


def backlinks(collections: Collections, collection: Collection, address: Address) -> list[Backlink]:
    """The documents that link to a document or file, each once, by path; those of other collections last."""
    links = collection.index.links_to(address, sentences=False)
    if links and len(links) <= MAX_WITH_SENTENCES:
        links = collection.index.links_to(address)
    result = _by_source(collection, [link for link in links if link.source != address])
    record = collection.index.record(address)
    for other in collections:
        if other.name == collection.name or record is None:
            continue
        into = [link for link in other.index.links_into(collection.name) if _leads_to(collection, link, record)]
        result += _by_source(other, into)
    return result


def mentions(collection: Collection, record: Record) -> list[Mention]:
    """Documents that contain the title or an alias of a document as a phrase and do not link to it."""
    linking = {link.source for link in collection.index.links_to(record.address, sentences=False)}
    excluded = (record.address, *linking)
    result: dict[Address, Mention] = {}
    for name in (record.title, *record.aliases):
        phrase = name.replace('"', " ").strip()
        if len(phrase) < MIN_NAME_CHARS:
            continue
        query = SearchQuery(
            text=f'"{phrase}"', filter=Filter(without=excluded), limit=MAX_MENTIONS, sections=1, prefix=False
        )
        for hit in collection.index.search(query).hits:
            snippet = hit.sections[0].snippet if hit.sections else ""
            result.setdefault(hit.record.address, Mention(FoundDocument(collection, hit.record), snippet))
    return list(result.values())[:MAX_MENTIONS]


def _leads_to(collection: Collection, link: ResolvedLink, record: Record) -> bool:
    target = collection.index.find(link.link.target)
    return target is not None and target.address == record.address


def _by_source(collection: Collection, links: list[ResolvedLink]) -> list[Backlink]:
    sentences: dict[Address, list[str]] = {}
    for link in links:
        kept = sentences.setdefault(link.source, [])
        if link.sentence and link.sentence not in kept:
            kept.append(link.sentence)
    records = [(collection.index.record(source), kept) for source, kept in sentences.items()]
    return [Backlink(FoundDocument(collection, record), tuple(kept)) for record, kept in records if record]
