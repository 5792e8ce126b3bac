"""Searching all layers: every layer's text counts, and each concept is one entry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.domain.addresses import fold
from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, best_snippet, first_text
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptOverview, ConceptRow

LAYER_CANDIDATES = 30
"""How many concepts of a layer are looked at for their names, at the least."""


@dataclass(frozen=True, slots=True)
class ConceptHit:
    """A concept that answers a search."""

    row: ConceptRow
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class _BestLayer:
    """The layer in which a concept scores best."""

    layer: str
    score: float


def search(cascade: Cascade, query: str, limit: int) -> list[ConceptHit]:
    """The concepts that answer best, by score, then id.

    Args:
        cascade: Where to search.
        query: As typed.
        limit: At most so many.

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
    """For each concept that answers, where it scores best.

    What a word is worth grows with the number of documents it is rare among, so the scores of a layer of three
    concepts are brought to the scale of the largest one before they are compared. Names then count more than text:
    the title and id most, aliases next, description and tags last.
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
    """Concepts whose id, title or alias is the query; others may have so many of its words that these rank too low."""
    name = query.strip()
    if name in overview.rows:
        yield name
    yield from sorted(overview.named.get(fold(name), ()))


def _snippet(cascade: Cascade, row: ConceptRow, layer: str, asked: ConceptQuery) -> str | None:
    """From the effective text when that answers, else from the layer's that does; None for a concept that is gone."""
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
