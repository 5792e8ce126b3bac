"""Links and search over all layers. In a search each layer's text is searched, and each concept is one result."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Link
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.links import NamedDocument, link_key, name_keys, readings, resolve_target
from commonplace.domain.markdown.link_sides import PageSide, in_order, readers
from commonplace.domain.sites import SiteTree
from commonplace.domain.snippets import PIPED_LINK
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, best_snippet, first_text, section_scores
from commonplace.toolsets.cascade.rules.concepts import CONCEPT_SUFFIX, body_links, concept_address, id_at
from commonplace.toolsets.cascade.rules.output import to_body
from commonplace.toolsets.cascade.rules.values import OVERRIDE_NONE, ConceptSection, ResolvedConcept
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptOverview, ConceptRow
from commonplace.toolsets.cascade.service.layers import Layer, LayerMatch, StoredLink


@dataclass(frozen=True, slots=True)
class OutgoingLink:
    """A link of the effective text."""

    raw: str
    """The whole link as written."""
    target: str
    """The link's target as written, without label."""
    id: str | None
    """The target concept."""
    layers: tuple[str, ...]
    """The layers that contain the target, from the top."""


@dataclass(frozen=True, slots=True)
class IncomingLink:
    """A link in the stored text of another concept."""

    id: str
    """The concept that contains the link."""
    layer: str
    raw: str


def outgoing(cascade: Cascade, resolved: ResolvedConcept) -> list[OutgoingLink]:
    """Links of the effective text, each distinct one once: Markdown links, then wikilinks."""
    overview = cascade.overview()
    links: dict[str, OutgoingLink] = {}
    for raw, written in body_links(to_body(resolved), overview.by_layer):
        if raw not in links:
            link, target, layers = followed(overview, written, resolved.id, cascade.page_side)
            links[raw] = OutgoingLink(raw, link.raw, target, layers)
    return list(links.values())


def incoming(cascade: Cascade, identifier: str) -> list[IncomingLink]:
    """Links of other concepts to this one, at most one per concept and layer, sorted by concept."""
    links: dict[tuple[str, str], IncomingLink] = {}
    for _, layer, stored in _links_to(cascade, {identifier}):
        if (stored.source, layer) not in links:
            links[stored.source, layer] = IncomingLink(stored.source, layer, stored.written())
    return sorted(links.values(), key=lambda link: link.id)


def inbound(cascade: Cascade, identifiers: Collection[str]) -> dict[str, int]:
    """The number of other concepts that link to each of these concepts in any layer."""
    sources: dict[str, set[str]] = {identifier: set() for identifier in identifiers}
    for identifier, _, stored in _links_to(cascade, identifiers):
        sources[identifier].add(stored.source)
    return {identifier: len(linking) for identifier, linking in sources.items()}


def _links_to(cascade: Cascade, identifiers: Collection[str]) -> Iterator[tuple[str, str, StoredLink]]:
    """Links of other concepts to these: the target, the layer and the link, layers from the top."""
    overview = cascade.overview()
    targets = overview.rows.keys() & identifiers
    keys = set[str]().union(*(name_keys(overview.rows[identifier].named) for identifier in targets))
    requested_keys = sorted(keys | {link_key(f"{layer.rank.name}:{key}") for layer in cascade.layers for key in keys})
    for layer in sorted(cascade.layers, key=lambda layer: -layer.rank.level):
        for stored in layer.links(requested_keys) if requested_keys else ():
            target = followed(overview, stored.link, stored.source, cascade.page_side)[1]
            if target in identifiers and target is not None and target != stored.source:
                yield target, layer.rank.name, stored


def with_labels(cascade: Cascade, identifier: str, sections: Iterable[ConceptSection]) -> Iterator[ConceptSection]:
    """Sections with the label in place of each `[[label|concept]]`, since a snippet shows the last side."""
    for section in sections:
        text = section.text
        if PIPED_LINK.search(text):
            for raw, written in body_links(text):
                link, _, _ = followed(cascade.overview(), written, identifier, cascade.page_side)
                if link.page_last and link.label:
                    text = text.replace(raw, link.label)
        yield section if text is section.text else replace(section, text=text)


def followed(
    overview: ConceptOverview, link: Link, source: str, side: PageSide
) -> tuple[Link, str | None, tuple[str, ...]]:
    """The side of a link that is the concept, the concept's id, and the layers that contain the concept.

    If the link names a layer, only that layer is returned.

    Args:
        overview: Every concept.
        link: The link.
        source: Id of the concept that contains the link.
        side: The side of `[[a|b]]` that is the concept.
    """
    both = in_order(link)
    if both is None:
        return (link, *_target(overview, link, source))
    first, last = (_target(overview, link, source) for link in both)
    of_first, _ = readers(first[0] is not None, last[0] is not None)
    return (both[0], *first) if side in of_first else (both[1], *last)


def _target(overview: ConceptOverview, link: Link, source: str) -> tuple[str | None, tuple[str, ...]]:
    """The concept of a link, in the first of its readings that leads to one: a name may have a `#`."""
    found_pairs = (_target_as(overview, reading, source) for reading in readings(link))
    return next((found_pair for found_pair in found_pairs if found_pair[0] is not None), (None, ()))


def _target_as(overview: ConceptOverview, link: Link, source: str) -> tuple[str | None, tuple[str, ...]]:
    target = f"{link.collection}:{link.target}" if link.collection else link.target
    layer, path = _split_layer(overview, target)
    if layer:
        found_text = _found(overview, path, source, layer)
        return (found_text, (layer,)) if found_text else (None, ())
    found_source = _found(overview, target, source, None) if target else source
    row = overview.rows.get(found_source or "")
    return (row.id, row.layers) if row else (None, ())


def _split_layer(overview: ConceptOverview, target: str) -> tuple[str, str]:
    """The layer that a target names before a colon, and the rest; ("", target) if it names none.

    People write `Team:` for `team`: the name matches case-insensitively if exactly one layer matches.
    """
    prefix, colon, path = target.partition(":")
    name = prefix.strip()
    if not colon or not path.strip():
        return "", target
    if name in overview.by_layer:
        return name, path.strip()
    alike = [layer for layer in overview.by_layer if fold(layer) == fold(name)]
    return (alike[0], path.strip()) if len(alike) == 1 else ("", target)


@dataclass(frozen=True, slots=True)
class _ConceptNames:
    """The names of the concepts of all layers, or of one, for the rules of `domain.links`."""

    overview: ConceptOverview
    ids: Container[str]
    sites: Sequence[SiteTree] = ()
    own_names: Collection[str] = ()
    has_names: bool = True

    def at(self, path: str) -> Address | None:
        """The concept at exactly this path."""
        is_concept = path.endswith(CONCEPT_SUFFIX) and path.removesuffix(CONCEPT_SUFFIX) in self.ids
        return Address(path) if is_concept else None

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every concept with this key among its names."""
        return [self.overview.rows[element].named for element in self.overview.keys.get(key, ()) if element in self.ids]

    def files(self, key: str) -> Sequence[Address]:
        """No files: links connect concepts only."""
        del key
        return ()


def _found(overview: ConceptOverview, target: str, source: str, layer: str | None) -> str | None:
    ids = overview.by_layer[layer] if layer else overview.rows
    address = resolve_target(target, concept_address(source), _ConceptNames(overview, ids))
    return id_at(address) if address else None


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
