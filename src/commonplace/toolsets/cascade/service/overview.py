"""An overview of every concept of all layers. The cost of an update depends on the number of changed concepts only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.domain.addresses import fold
from commonplace.domain.links import NamedDocument, link_key, name_keys
from commonplace.domain.records import aliases_of
from commonplace.toolsets.cascade.rules.concept_terms import ConceptTerms
from commonplace.toolsets.cascade.rules.concepts import concept_address
from commonplace.toolsets.cascade.rules.merge import contributor_cutoff, merged_values, precedence
from commonplace.toolsets.cascade.rules.values import Concept, LayerRank, scalar_as_text
from commonplace.toolsets.cascade.service.layers import ConceptSummaries

MAX_CACHED_TERMS = 3000
"""Maximum number of concepts whose terms are cached."""


@dataclass(frozen=True, slots=True)
class ConceptRow:
    """A concept in a list, with its effective values over all layers."""

    id: str
    type: str | None
    title: str | None
    layers: tuple[str, ...]
    """The layers that contain the concept, highest first."""
    effective_layers: tuple[str, ...]
    """Layers that no `override: full` excludes."""
    aliases: tuple[str, ...] = ()

    @property
    def named(self) -> NamedDocument:
        """The concept as a target of links."""
        return NamedDocument(concept_address(self.id), self.id, self.title or "", self.aliases)


@dataclass(frozen=True, slots=True)
class ConceptOverview:
    """Every concept, resolved over all layers."""

    rows: Mapping[str, ConceptRow]
    """The concepts by id, sorted."""
    by_layer: Mapping[str, ConceptSummaries]
    """The concepts of each layer by the layer's name."""
    keys: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Ids by the keys (`domain.links.name_keys`) of their names."""
    terms: dict[tuple[str, str], ConceptTerms] = field(
        default_factory=dict[tuple[str, str], ConceptTerms], compare=False
    )
    """Cached terms by layer and id, for the concepts that searches have compared."""

    def updated(self, ranks: Sequence[LayerRank], seen: Sequence[ConceptSummaries]) -> ConceptOverview:
        """Return this overview if nothing has changed; otherwise a new one with changed concepts resolved again.

        Args:
            ranks: The rank of each layer.
            seen: The current summaries of each layer.
        """
        by_layer = {rank.name: summaries for rank, summaries in zip(ranks, seen, strict=True)}
        if all(summaries is self.by_layer.get(name) for name, summaries in by_layer.items()):
            return self
        changed = set[str]().union(*(_differing(self.by_layer.get(name, {}), now) for name, now in by_layer.items()))
        rows, terms = dict(self.rows), dict(self.terms)
        keys = dict(self.keys)
        for identifier in changed:
            now = _row(identifier, ranks, seen)
            _rename(keys, rows.get(identifier), now)
            if now is None:
                rows.pop(identifier, None)
            else:
                rows[identifier] = now
            for layer in by_layer:
                terms.pop((layer, identifier), None)
        ordered = rows if changed <= self.rows.keys() else {identifier: rows[identifier] for identifier in sorted(rows)}
        return ConceptOverview(ordered, by_layer, keys, terms)

    def terms_in(self, layer: str, identifier: str, read: Callable[[str], Concept | None]) -> ConceptTerms:
        """The terms of a concept in one layer.

        Args:
            layer: Name of the layer.
            identifier: Id of the concept.
            read: Returns the layer's version of the concept; called unless the terms are cached.
        """
        key = layer, identifier
        cached = self.terms.get(key)
        if cached is not None:
            return cached
        concept = read(identifier)
        if concept is None:
            return ConceptTerms.of(Concept(identifier, {}, ()))
        if len(self.terms) >= MAX_CACHED_TERMS:
            self.terms.clear()
        terms = self.terms[key] = ConceptTerms.of(concept)
        return terms

    def titled(self, name: str) -> list[str]:
        """The ids of the concepts with this title or alias, sorted."""
        ids = sorted(self.keys.get(link_key(name.strip()), ()))
        rows = (self.rows[identifier] for identifier in ids)
        return [row.id for row in rows if fold(name.strip()) in map(fold, (row.title or "", *row.aliases))]


EMPTY_OVERVIEW = ConceptOverview({}, {})
"""The overview before any layer was read."""


def _differing(before: ConceptSummaries, now: ConceptSummaries) -> Iterator[str]:
    """Ids whose values in a layer changed or were removed."""
    if before is not now:
        yield from (identifier for identifier, values in now.items() if before.get(identifier) is not values)
        yield from before.keys() - now.keys()


def _rename(keys: dict[str, frozenset[str]], before: ConceptRow | None, now: ConceptRow | None) -> None:
    """Update the ids by key for one concept."""
    keys_before = name_keys(before.named) if before else frozenset[str]()
    keys_now = name_keys(now.named) if now else frozenset[str]()
    changed = before or now
    if changed is None:
        return
    for key in keys_before - keys_now:
        left = keys.pop(key) - {changed.id}
        if left:
            keys[key] = left
    for key in keys_now - keys_before:
        keys[key] = keys.get(key, frozenset[str]()) | {changed.id}


def _row(identifier: str, ranks: Sequence[LayerRank], seen: Sequence[ConceptSummaries]) -> ConceptRow | None:
    """The effective values of a concept; None if no layer contains it."""
    holders = [(rank, held[identifier]) for rank, held in zip(ranks, seen, strict=True) if identifier in held]
    if not holders:
        return None
    if len(holders) > 1:
        holders.sort(key=lambda pair: precedence(pair[0], scalar_as_text(pair[1].get("updated"))), reverse=True)
    counting = holders[: contributor_cutoff([values for _, values in holders])]
    values = merged_values((rank.name, own) for rank, own in counting)[0] if len(counting) > 1 else counting[0][1]
    return ConceptRow(
        id=identifier,
        type=scalar_as_text(values.get("type")),
        title=scalar_as_text(values.get("title")),
        layers=tuple(rank.name for rank, _ in holders),
        effective_layers=tuple(rank.name for rank, _ in counting),
        aliases=aliases_of(values),
    )
