"""All layers together: resolve a concept, read one layer's version, and list all concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from threading import Lock

from commonplace.domain.addresses import fold
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.services.collections import Collections
from commonplace.toolsets.cascade.rules.concepts import concept_id, literal_id
from commonplace.toolsets.cascade.rules.health import LayerHealth, not_asked
from commonplace.toolsets.cascade.rules.merge import resolve
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, Contribution, ResolvedConcept
from commonplace.toolsets.cascade.service.captures import LiveLayer
from commonplace.toolsets.cascade.service.layers import FolderLayer, Layer
from commonplace.toolsets.cascade.service.overview import EMPTY_OVERVIEW, ConceptOverview, ConceptRow

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
