"""Related pages for readers, and near-duplicates for writers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import SearchQuery
from commonplace.domain.query_parser import plain_query
from commonplace.domain.snippets import strip_markdown
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.searches import search

MAX_RELATED_CANDIDATES = 30
"""Maximum number of pages that are compared with a page."""
MAX_GIST_WORDS = 60
"""Maximum number of words of a page that are used as a query."""
MAX_SAMPLE_BYTES = 16_000
"""Maximum number of bytes of a page that are compared for near-duplicates."""
MAX_COMPARED_PAGES = 8
"""Maximum number of pages that a new page is compared with."""
SHINGLE_WORDS = 4
"""Number of words of a shingle, the sequence of words by which texts are compared."""
MIN_DUPLICATE_SIMILARITY = 0.8
"""Minimum fraction of shared shingles of near-duplicates."""
MIN_SHINGLES = 12
"""Minimum number of shingles of a text that is compared."""


_Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A related page."""

    found: FoundDocument
    score: float
    """Similarity score; higher is more similar. Scores are comparable within one result only."""
    linked: bool
    """Whether one of the two pages links to the other."""


def related(collection: Collection, address: Address, limit: int) -> list[RelatedDocument]:
    """The pages most similar to a page, by words and, if there is a model, by similarity; without the page itself.

    Raises:
        NotFoundError: there is no such page.
    """
    document = collection.index.document(address)
    query = SearchQuery(
        text=_gist(_beginning(address, document.raw)), limit=MAX_RELATED_CANDIDATES, sections=0, prefix=False
    )
    if not query.text:
        return []
    hits = [hit.hit for hit in search([collection], query, "hybrid").hits if hit.hit.record.address != address]
    out = {link.target for link in collection.index.links_from(address)}
    back = {link.source for link in collection.index.links_to(address)}
    linked = out | back
    return [
        RelatedDocument(FoundDocument(collection, hit.record), hit.score, hit.record.address in linked)
        for hit in islice(hits, limit)
    ]


class NearDuplicates:
    """Finds near-duplicates of new pages before they are written.

    Args:
        collection: Collection of the new pages.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._new: list[tuple[str, frozenset[_Run]]] = []

    def of(self, new: str, document: Document) -> str:
        """The id of a near-duplicate, in the collection or among the pages checked before; "" if there is none.

        Args:
            new: Id of the new page.
            document: The new page.
        """
        sample = _beginning(document.address, document.raw)
        own = _shingles(_plain(sample))
        if len(own) < MIN_SHINGLES:
            return ""
        fellow = next((other for other, runs in self._new if _alike(own, runs) >= MIN_DUPLICATE_SIMILARITY), "")
        self._new.append((new, own))
        try:
            return self._there(_gist(sample), own) or fellow
        except KnowledgeError:
            return fellow  # an error only omits the comparison

    def _there(self, gist: str, own: frozenset[_Run]) -> str:
        """The id of a near-duplicate in the collection; "" if there is none."""
        store = self._collection.store
        query = SearchQuery(text=gist, limit=MAX_COMPARED_PAGES, sections=0, prefix=False)
        hits = search([self._collection], query, "keyword").hits if gist else ()
        for record in (hit.hit.record for hit in hits):
            there = _beginning(record.address, store.read(record.address))
            if _alike(own, _shingles(_plain(there))) >= MIN_DUPLICATE_SIMILARITY:
                return record.id
        return ""


def _beginning(address: Address, raw: bytes) -> Document:
    """The complete lines in a page's first `MAX_SAMPLE_BYTES` bytes, so that the cost does not grow with the page."""
    if len(raw) > MAX_SAMPLE_BYTES:
        raw = raw[: raw.rfind(b"\n", 0, MAX_SAMPLE_BYTES) + 1 or MAX_SAMPLE_BYTES]
    return read_document(address, raw)


def _gist(document: Document) -> str:
    """The title and the first words of a page, without search syntax."""
    words = f"{document.title} {_plain(document)}".split()
    return plain_query(" ".join(words[:MAX_GIST_WORDS]))


def _plain(document: Document) -> str:
    """The text of a page without its markup."""
    return strip_markdown(document.source[document.body_start :].decode("utf-8", "replace"))


def _shingles(text: str) -> frozenset[_Run]:
    words = [word for word in text.casefold().split() if any(letter.isalnum() for letter in word)]
    return frozenset(tuple(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - SHINGLE_WORDS + 1))


def _alike(runs: frozenset[_Run], other: frozenset[_Run]) -> float:
    """The fraction of shared shingles, 0 to 1."""
    return len(runs & other) / (len(runs | other) or 1)
