"""Pages that are about the same: for readers who want more of it, and for writers who might write it twice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.meaning.chunks import chunks_of
from commonplace.domain.query import Filter, SearchQuery
from commonplace.domain.reading import read_document
from commonplace.services.collections import Collection, Found
from commonplace.services.searching import search

CANDIDATES = 30
"""How many pages are compared with a page."""
WORDS = 60
"""How many words of a page stand for it in a search."""
CHUNKS = 10
"""How much of a long page is compared."""
SAMPLE = 64_000
"""Bytes of a page that are looked at for a page that says the same."""
COMPARED = 3
"""How many pages a new page is compared with."""
SHINGLE = 4
"""Words of the runs by which two texts are compared."""
SAME = 0.8
"""The part of such runs that two pages have in common which say the same."""
FEWEST = 12
"""Words below which a text is too short to be called the same as another."""


@dataclass(frozen=True, slots=True)
class Related:
    """A page that is about the same."""

    found: Found
    score: float
    """Higher is nearer; comparable within one answer only."""
    linked: bool
    """Whether one of the two links to the other."""


def related(collection: Collection, address: Address, limit: int) -> list[Related]:
    """The pages nearest to a page, by meaning where there is a model and by words, without itself.

    Raises:
        NotFoundError: there is no such page.
    """
    document = collection.index.document(address)
    query = SearchQuery(text=_gist(document), limit=CANDIDATES, sections=0, prefix=False)
    if not query.text:
        return []
    hits = [found.hit for found in search([collection], query, "hybrid").hits if found.hit.record.address != address]
    out = {link.target for link in collection.index.links_from(address)}
    back = {link.source for link in collection.index.links_to(address)}
    linked = out | back
    return [
        Related(Found(collection, hit.record), hit.score, hit.record.address in linked) for hit in islice(hits, limit)
    ]


def near_duplicate(collection: Collection, address: Address) -> Found | None:
    """Another page that says the same as this one in nearly the same words; None when there is none."""
    try:
        document = _beginning(collection, address)
        own = _shingles(_plain(document))
        others = Filter(without=(address,))
        query = SearchQuery(text=_gist(document), filter=others, limit=COMPARED, sections=0, prefix=False)
        if len(own) < FEWEST or not query.text:
            return None
        for hit in (one.hit for one in search([collection], query, "keyword").hits):
            if _alike(own, _shingles(_plain(_beginning(collection, hit.record.address)))) >= SAME:
                return Found(collection, hit.record)
    except KnowledgeError:
        return None  # a warning that cannot be had is none
    return None


def _beginning(collection: Collection, address: Address) -> Document:
    """The first `SAMPLE` bytes of a page, in whole lines: a comparison costs the same however long a page is."""
    raw = collection.store.read(address)
    if len(raw) > SAMPLE:
        raw = raw[: raw.rfind(b"\n", 0, SAMPLE) + 1 or SAMPLE]
    return read_document(address, raw)


def _gist(document: Document) -> str:
    """The title and the first words of a page, without what a search would take for syntax."""
    words = f"{document.title} {_plain(document)}".replace('"', " ").split()
    return " ".join(word.lstrip("-") for word in words[:WORDS] if any(letter.isalnum() for letter in word))


def _plain(document: Document) -> str:
    """What a page says, without the headings that stand in front of each chunk."""
    return " ".join(chunk.text.partition("\n")[2] for chunk in islice(chunks_of(document), CHUNKS))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = [word for word in text.casefold().split() if any(letter.isalnum() for letter in word)]
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))


def _alike(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """The part of all runs that both have."""
    return len(one & other) / (len(one | other) or 1)
