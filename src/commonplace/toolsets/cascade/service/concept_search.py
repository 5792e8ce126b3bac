"""Search over all layers: each layer's text is searched, and each concept is one result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, best_snippet, first_text, section_scores
from commonplace.toolsets.cascade.rules.values import OVERRIDE_NONE, ConceptSection
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptOverview, ConceptRow
from commonplace.toolsets.cascade.service.concept_links import inbound, with_labels
from commonplace.toolsets.cascade.service.layers import Layer, LayerMatch

LAYER_CANDIDATES = 30
"""Minimum number of a layer's concepts that are compared with those of other layers."""
LINK_WEIGHT = 0.005
"""Share that a score gains for each e-fold of 1 + the number of concepts that link to the concept."""
MIN_SCALE = 0.001
"""Added to the scale of each layer, which is 0 if none of its concepts has a word of the query."""


@dataclass(frozen=True, slots=True)
class ConceptHit:
    """A concept that matches a search."""

    row: ConceptRow
    score: float
    snippet: str
    inbound: int = 0
    """Number of other concepts that link to the concept."""
    section: ConceptSection | None = None
    """The section that the snippet is from; None if the query matches only the names of the concept."""
    contested: bool = False
    """Whether layers differ on that section."""
    suppressed: bool = False
    """Whether the snippet is text that the effective concept omits; only in a search of one layer."""


@dataclass(frozen=True, slots=True)
class _BestLayer:
    """The layer in which a concept scores best."""

    layer: str
    score: float
    inbound: int


def search(cascade: Cascade, query: str, limit: int, layer: str | None = None) -> list[ConceptHit]:
    """The best matching concepts, by score, then id.

    Suppressed text matches, but is not shown: the hit has a snippet of the effective text. A search of one layer shows
    suppressed text and marks it.

    Args:
        cascade: The cascade to search.
        query: The search as typed.
        limit: Maximum number of results.
        layer: Name of the only layer to search; None for all layers.

    Raises:
        InvalidInputError: kind "query": the query is blank.
        NotFoundError: kind "layer": there is no such layer.
    """
    if not query.strip():
        raise InvalidInputError(
            "The query is blank.", kind="query", hint="Give at least one word to search for, or list the concepts."
        )
    searched = cascade.layers if layer is None else (cascade.layer(layer),)
    overview = cascade.overview()
    concept_query = ConceptQuery.of(query)
    best = _best(cascade, searched, query, concept_query, max(2 * limit, LAYER_CANDIDATES))
    entries: list[ConceptHit] = []
    for identifier, best_layer in sorted(best.items(), key=lambda element: (-element[1].score, element[0])):
        row = overview.rows.get(identifier)
        if row is None:
            continue
        hit = (
            _hit_in(cascade, row, layer, best_layer, concept_query)
            if layer
            else _hit(cascade, row, best_layer, concept_query)
        )
        if hit is not None:
            entries.append(hit)
        if len(entries) == limit:
            break
    return entries


def _best(
    cascade: Cascade, layers: Sequence[Layer], query: str, concept_query: ConceptQuery, limit: int
) -> dict[str, _BestLayer]:
    """The layer and score at which each matching concept scores best.

    The order within a layer is that of its own scores. The weight of a word in them depends on the layer, so each
    layer's scores are multiplied by its scale. A concept that is only named like the query has the best score.
    """
    overview = cascade.overview()
    matches = [(layer, match) for layer in layers for match in layer.search(query, limit) if match.id in overview.rows]
    scales = _scales(overview, concept_query, matches)
    linked = inbound(cascade, {match.id for _, match in matches})
    best: dict[str, _BestLayer] = {}
    for layer, match in matches:
        score = match.score * scales[layer.rank.name] * (1 + LINK_WEIGHT * math.log1p(linked[match.id]))
        best_layer = _BestLayer(layer.rank.name, round(score, 4), linked[match.id])
        if match.id not in best or best_layer.score > best[match.id].score:
            best[match.id] = best_layer
    top = max((layer.score for layer in best.values()), default=0.0)
    further = inbound(cascade, _exactly_named(overview, query, layers) - best.keys())
    return {**{identifier: _BestLayer("", top, count) for identifier, count in further.items()}, **best}


def _scales(
    overview: ConceptOverview, concept_query: ConceptQuery, matches: Sequence[tuple[Layer, LayerMatch]]
) -> dict[str, float]:
    """The factor of each layer's own scores that makes them comparable with those of other layers.

    It is the slope of the line through 0 that fits the shared scores of the layer's concepts. In a shared score a word
    has the same weight in all layers.
    """
    terms = [overview.terms_in(layer.rank.name, match.id, layer.concept) for layer, match in matches]
    products: dict[str, float] = {}
    squares: dict[str, float] = {}
    for (layer, match), shared in zip(matches, section_scores(concept_query, terms), strict=True):
        name, own = layer.rank.name, match.score
        products[name] = products.get(name, 0.0) + own * shared
        squares[name] = squares.get(name, 0.0) + own * own
    return {name: MIN_SCALE + (products[name] / square if square else 0.0) for name, square in squares.items()}


def _exactly_named(overview: ConceptOverview, query: str, layers: Sequence[Layer]) -> set[str]:
    """Concepts of these layers whose id, title or alias equals the query.

    Other concepts that contain its words could outrank them.
    """
    names = {layer.rank.name for layer in layers}
    identifiers = overview.rows.keys() & {query.strip(), *overview.titled(query)}
    return {identifier for identifier in identifiers if not names.isdisjoint(overview.rows[identifier].layers)}


def _hit(cascade: Cascade, row: ConceptRow, layer: _BestLayer, query: ConceptQuery) -> ConceptHit | None:
    """The hit for a concept; None for a deleted concept.

    The snippet is the matching part of the effective text. Otherwise it is the beginning of the text if the query
    matches a name, or else dissenting text of the best layer.
    """
    effective = list(with_labels(cascade, row.id, cascade.effective(row)))
    best = best_snippet(effective, query)
    if best is None:
        first = first_text(effective)
        if not first and all(cascade.layer(name).concept(row.id) is None for name in row.layers):
            return None
        if query.matches(" ".join([row.id, row.title or "", *row.aliases])):
            return ConceptHit(row, layer.score, first, layer.inbound)
        dissenting = _dissenting(cascade, row, layer.layer, effective)
        best = best_snippet(with_labels(cascade, row.id, dissenting), query)
        if best is None:
            return ConceptHit(row, layer.score, first, layer.inbound)
    snippet, section = best
    contested = len(row.effective_layers) > 1 and section.key in _contested_keys(cascade, row.id)
    return ConceptHit(row, layer.score, snippet, layer.inbound, section, contested)


def _contested_keys(cascade: Cascade, identifier: str) -> set[str]:
    """Keys of the sections on which layers differ; none for a concept that is being deleted."""
    try:
        resolved = cascade.resolve(identifier, dated=False)
    except NotFoundError:
        return set()
    return {section.section.key for section in resolved.sections if section.conflicts}


def _dissenting(
    cascade: Cascade, row: ConceptRow, layer: str, effective: Sequence[ConceptSection]
) -> list[ConceptSection]:
    """Sections of a layer that a higher layer overrides without suppressing them."""
    own = cascade.layer(layer).concept(row.id) if layer in row.effective_layers else None
    suppressed = {section.key for section in effective if section.override == OVERRIDE_NONE}
    return [section for section in own.sections if section.key not in suppressed] if own else []


def _hit_in(
    cascade: Cascade, row: ConceptRow, layer: str, best_layer: _BestLayer, query: ConceptQuery
) -> ConceptHit | None:
    """The hit in one layer, with a snippet of the layer's text.

    It is marked if the effective concept omits that text.
    """
    concept = cascade.layer(layer).concept(row.id)
    if concept is None:
        return None
    keys = cascade.suppressed_keys(row.id, layer)
    sections = list(with_labels(cascade, row.id, concept.sections))
    effective = [section for section in sections if section.key not in keys]
    shown = best_snippet(effective, query)
    hidden = None if shown else best_snippet([section for section in sections if section.key in keys], query)
    snippet, section = shown or hidden or (first_text(effective), None)
    contested = section is not None and section.key in _contested_keys(cascade, row.id)
    return ConceptHit(
        row, best_layer.score, snippet, best_layer.inbound, section, contested, suppressed=hidden is not None
    )
