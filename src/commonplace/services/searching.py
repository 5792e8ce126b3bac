"""Searching one collection or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace.domain.query import Hit, SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.listing import sort_value


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit and the collection that it is in."""

    collection: Collection
    hit: Hit


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of hits over all searched collections."""

    hits: tuple[FoundHit, ...]
    total: int
    """How many documents match in all."""


def search(collections: Sequence[Collection], query: SearchQuery) -> Answer:
    """Ranked documents of all the collections together.

    Args:
        collections: Where to search.
        query: What to search; `offset` and `limit` count over all collections.

    Raises:
        InvalidInputError: the text is blank.
    """
    if len(collections) == 1:
        result = collections[0].index.search(query)
        return Answer(tuple(FoundHit(collections[0], hit) for hit in result.hits), result.total)
    hits: list[FoundHit] = []
    total = 0
    reach = replace(query, offset=0, limit=query.offset + query.limit)
    for collection in collections:
        result = collection.index.search(reach)
        total += result.total
        hits += (FoundHit(collection, hit) for hit in result.hits)
    if query.sort == "score":
        hits.sort(key=lambda found: -found.hit.score)
    else:
        key = query.sort
        hits.sort(key=lambda found: sort_value(found.hit.record, key), reverse=query.descending)
    return Answer(tuple(hits[query.offset : query.offset + query.limit]), total)
