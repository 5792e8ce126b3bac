"""Search over all layers: each layer's text is searched, and each concept is one result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.domain.addresses import fold
from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, best_snippet, first_text
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptOverview, ConceptRow

LAYER_CANDIDATES = 30
"""Minimum number of a layer's concepts whose names are compared."""


@dataclass(frozen=True, slots=True)
class ConceptHit:
    """A concept that matches a search."""

    row: ConceptRow
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class _BestLayer:
    """The layer in which a concept scores best."""

    layer: str
    score: float


def search(cascade: Cascade, query: str, limit: int) -> list[ConceptHit]:
    """The best matching concepts, by score, then id.

    Args:
        cascade: The cascade to search.
        query: As typed.
        limit: Maximum number of results.

    Raises:
        InvalidInputError: kind "query": the query is blank.
    """
    if not query.strip():
        raise InvalidInputError(
            "The query is blank.", kind="query", hint="Give at least one word to search for, or use list_concepts."
        )
    overview = cascade.overview()
    asked = ConceptQuery.of(query)
    best = _best(cascade, overview, query, asked, max(2 * limit, LAYER_CANDIDATES))
    entries: list[ConceptHit] = []
    for identifier, found in sorted(best.items(), key=lambda one: (-one[1].score, one[0])):
        row = overview.rows.get(identifier)
        shown = None if row is None else _snippet(cascade, row, found.layer, asked)
        if row is not None and shown is not None:
            entries.append(ConceptHit(row, found.score, shown))
        if len(entries) == limit:
            break
    return entries


def _best(
    cascade: Cascade, overview: ConceptOverview, query: str, asked: ConceptQuery, limit: int
) -> dict[str, _BestLayer]:
    """The layer and score at which each matching concept scores best.

    A word's weight grows with the number of documents in the layer, so the scores of a small layer are scaled to those
    of the largest one before they are compared. Names then weigh more than text: the title and id most, aliases next,
    description and tags least.
    """
    largest = max(map(len, overview.by_layer.values()), default=0)
    best: dict[str, _BestLayer] = {}
    for layer in cascade.layers:
        name = layer.rank.name
        held = overview.by_layer[name]
        scale = math.log(1 + largest) / math.log(1 + len(held)) if held else 0.0
        for match in layer.search(query, limit) if held else ():
            names = asked.score(overview.names_in(name, match.id))
            score = round(match.score * scale * (1 + names), 4)
            if match.id not in best or score > best[match.id].score:
                best[match.id] = _BestLayer(name, score)
    top = max((one.score for one in best.values()), default=0.0)
    return {**{identifier: _BestLayer("", top) for identifier in _exactly_named(overview, query)}, **best}


def _exactly_named(overview: ConceptOverview, query: str) -> Iterator[str]:
    """Concepts whose id, title or alias equals the query; many others may contain its words and outrank them."""
    name = query.strip()
    if name in overview.rows:
        yield name
    yield from sorted(overview.named.get(fold(name), ()))


def _snippet(cascade: Cascade, row: ConceptRow, layer: str, asked: ConceptQuery) -> str | None:
    """From the effective text if it matches, else from the text of the best layer; None for a deleted concept."""
    best = best_snippet(cascade.effective(row), asked)
    if best is not None:
        return best
    first = first_text(cascade.effective(row))
    if not first and all(cascade.layer(name).concept(row.id) is None for name in row.layers):
        return None
    if asked.matches(" ".join([row.id, row.title or "", *row.aliases])):
        return first
    own = cascade.layer(layer).concept(row.id) if layer else None
    return (best_snippet(own.sections, asked) if own else None) or first
