"""All layers together: resolve a concept, read one layer's version, list all concepts and all differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from threading import Lock

from commonplace.domain.addresses import fold
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.links import NamedDocument, link_key, name_keys
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.records import aliases_of
from commonplace.services.collections import Collections
from commonplace.toolsets.cascade.rules.concept_terms import ConceptTerms
from commonplace.toolsets.cascade.rules.concepts import concept_address, concept_id, literal_id
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    ConceptSection,
    Contribution,
    LayerHealth,
    LayerRank,
    ResolvedConcept,
    ValueDissent,
    contributor_cutoff,
    date_sort_key,
    merged_values,
    not_asked,
    precedence,
    resolve,
    scalar_as_text,
)
from commonplace.toolsets.cascade.service.captures import LiveLayer
from commonplace.toolsets.cascade.service.layers import ConceptSummaries, FolderLayer, Layer

MAX_NEAREST_CONCEPTS = 3
"""Maximum number of similar ids that an error names."""
MAX_COMPARED_CONCEPTS = 20_000
"""Maximum number of ids compared to find similar ones."""


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """The reason why a changed manifest is not in effect."""

    reason: str
    """One sentence without a full stop."""
    since: str
    """ISO 8601 UTC."""


class Cascade:
    """The served layers.

    Args:
        layers: The layers in the manifest's order.
        fault: Why the current manifest is not in effect; None if it is.
        page_side: The side of `[[a|b]]` that is the concept.
        live: The layer into which captures are written; None if there is none.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        fault: ManifestFault | None = None,
        page_side: PageSide = PageSide.EXISTING,
        live: LiveLayer | None = None,
    ) -> None:
        self.layers = tuple(layers)
        self.page_side = page_side
        self._fault = fault
        self._live = live
        self._lock = Lock()
        self._overview = EMPTY_OVERVIEW

    def proposed(self, collections: Collections) -> Cascade:
        """The cascade as a proposer has it: layers that differ, and the live one, are those of the proposer's call.

        Args:
            collections: The collections of the call.
        """
        layers = [self._proposed_layer(layer, collections) for layer in self.layers]
        live = self._live
        if live is not None:
            layer = layers[self.layers.index(live.layer)]
            live = live.over(layer) if isinstance(layer, FolderLayer) else live
        return Cascade(layers, self._fault, self.page_side, live)

    def _proposed_layer(self, layer: Layer, collections: Collections) -> Layer:
        served = layer.collection if isinstance(layer, FolderLayer) else None
        if served is None or not isinstance(layer, FolderLayer):
            return layer
        identity = served.store.identity
        views = {view.store.identity: view for view in collections if view.store.identity.startswith(identity)}
        if self._live is None or self._live.layer is not layer:
            views.pop(identity, None)  # read as it is served
        return next((layer.over(view) for view in views.values()), layer)

    def health(self) -> list[LayerHealth]:
        """The state of every layer, in the manifest's order."""
        states = [layer.health() for layer in self.layers]
        fault = self._fault
        if fault is None:
            return states
        return [
            LayerHealth(health.rank, "stale", fault.reason, fault.since) if health.state == "ok" else health
            for health in states
        ]

    def live(self) -> LiveLayer:
        """Return the layer into which captures are written.

        Raises:
            ConfigError: no layer is live.
        """
        if self._live is None:
            raise ConfigError(
                "No layer takes captures.",
                kind="manifest",
                hint='Set "live": true for one folder of the manifest.',
            )
        return self._live

    def identify(self, text: str) -> str:
        """The id for an argument: as from `concept_id`, or with the written suffix if only that id exists.

        Raises:
            InvalidInputError: kind "concept": the argument is not an id.
        """
        identifier = concept_id(text)
        literal = literal_id(text, identifier)
        if literal is not None and all(layer.concept(identifier) is None for layer in self.layers):
            return literal if any(layer.concept(literal) is not None for layer in self.layers) else identifier
        return identifier

    def resolve(self, identifier: str, *, dated: bool = True) -> ResolvedConcept:
        """Return the effective concept.

        Args:
            identifier: Id of the concept.
            dated: Whether sections without a stated date get the date of their last commit.

        Raises:
            NotFoundError: kind "concept": no layer contains the concept; context has `nearest`.
        """
        held = ((layer, layer.concept(identifier)) for layer in self.layers)
        contributions = [
            Contribution(layer.rank, layer.dated(concept) if dated else concept)
            for layer, concept in held
            if concept is not None
        ]
        if not contributions:
            raise self._missing(identifier)
        return resolve(identifier, contributions)

    def suppressed_keys(self, identifier: str, name: str) -> frozenset[str]:
        """Keys of a layer's sections that a tombstone or `override: full` removes from the effective concept."""
        resolved = self.resolve(identifier, dated=False)
        concept = self.layer(name).concept(identifier)
        keys = frozenset(section.key for section in concept.sections) if concept else frozenset[str]()
        if name in resolved.excluded:
            return keys
        return keys & {section.section.key for section in resolved.sections if section.suppressed}

    def effective(self, row: ConceptRow) -> Iterator[ConceptSection]:
        """The effective sections of a concept, without dissents.

        Each layer is read lazily, when the iteration reaches it.
        """
        taken: set[str] = set()
        for name in row.effective_layers:
            concept = self.layer(name).concept(row.id)
            for section in concept.sections if concept else ():
                if section.key not in taken:
                    taken.add(section.key)
                    yield section

    def raw(self, identifier: str, name: str) -> Concept:
        """Return one layer's version of the concept.

        Raises:
            NotFoundError: kind "layer": there is no such layer; kind "concept": the layer does not contain the concept.
        """
        layer = self.layer(name)
        concept = layer.concept(identifier)
        if concept is not None:
            return layer.dated(concept)
        health = layer.health()
        if not health.was_asked:
            raise NotFoundError(
                f"The layer {health.sentence()} cannot be read, so whether it holds {identifier[:200]!r} is not known.",
                kind="concept",
                hint="Leave out `layer` for what the other layers hold.",
            )
        held = self.overview().rows.get(identifier)
        if held is None:
            raise self._missing(identifier)
        raise NotFoundError(
            f"The layer {name!r} does not hold {identifier!r}; these do: {', '.join(held.layers)}.",
            kind="concept",
            hint="Name one of them, or leave out `layer` for the resolved concept.",
        )

    def layer(self, name: str) -> Layer:
        """Return the layer with this name.

        Raises:
            NotFoundError: kind "layer": there is no such layer.
        """
        for layer in self.layers:
            if layer.rank.name == name:
                return layer
        names = ", ".join(layer.rank.name for layer in self.layers) or "none"
        raise NotFoundError(
            f"There is no layer {name[:80]!r}. Layers: {names}.",
            kind="layer",
            hint="Name one of them, or leave out `layer` for the resolved concept.",
        )

    def overview(self) -> ConceptOverview:
        """The current overview. After a change in a layer, only the changed concepts are resolved again."""
        seen = tuple(layer.summaries() for layer in self.layers)
        with self._lock:
            self._overview = self._overview.updated([layer.rank for layer in self.layers], seen)
            return self._overview

    def _missing(self, identifier: str) -> NotFoundError:
        ids = list(self.overview().rows)
        last = fold(identifier.rpartition("/")[2])
        same_name = [id_ for id_ in ids if fold(id_.rpartition("/")[2]) == last]
        nearest = [*same_name, *get_close_matches(identifier, ids[:MAX_COMPARED_CONCEPTS], MAX_NEAREST_CONCEPTS)]
        absent = "; ".join(health.sentence() for health in not_asked([layer.health() for layer in self.layers]))
        where = f" in the layers that were asked; not asked: {absent}" if absent else ""
        return NotFoundError(
            f"There is no concept {identifier[:200]!r}{where}.",
            kind="concept",
            hint="Search for it, or list the concepts.",
            nearest=list(dict.fromkeys(nearest))[:MAX_NEAREST_CONCEPTS],
        )


# Differences between layers, over the whole cascade.


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A section or a frontmatter key on which layers differ."""

    id: str
    kind: str
    """`section` or `frontmatter`."""
    key: str
    winner: ValueDissent
    """The effective value and its layer; a section's value is its content."""
    dissents: tuple[ValueDissent, ...]
    """The other values, highest layer first."""

    @property
    def newest(self) -> str:
        """The date of the newest dissent; "" if none has a date."""
        return max((dissent.updated or "" for dissent in self.dissents), key=date_sort_key)


def conflicts(cascade: Cascade) -> list[Disagreement]:
    """Every disagreement, newest dissent first, then by concept and key."""
    disagreements: list[Disagreement] = []
    for identifier in cascade.overview().rows:
        try:
            disagreements += _of_concept(cascade, identifier)
        except NotFoundError:  # deleted since it was listed
            continue
    disagreements.sort(key=lambda disagreement: (disagreement.id, disagreement.kind, disagreement.key))
    return sorted(disagreements, key=lambda disagreement: date_sort_key(disagreement.newest), reverse=True)


def _of_concept(cascade: Cascade, identifier: str) -> Iterator[Disagreement]:
    resolved = cascade.resolve(identifier, dated=False)
    if any(
        section.conflicts for section in resolved.sections
    ):  # only these need the dates of commits, which are slow to read
        resolved = cascade.resolve(identifier)
    for section in resolved.sections:
        if section.conflicts:
            winner = ValueDissent(section.layer, section.section.updated, section.section.content)
            dissents = tuple(ValueDissent(d.layer, d.updated, d.content) for d in section.conflicts)
            yield Disagreement(resolved.id, "section", section.section.key, winner, dissents)
    for key, values in resolved.value_conflicts.items():
        others = tuple(dissent for dissent in values[1:] if repr(dissent.value) != repr(values[0].value))
        yield Disagreement(resolved.id, "frontmatter", key, values[0], others)


# An overview of every concept of all layers. The cost of an update depends on the number of changed concepts only.


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
