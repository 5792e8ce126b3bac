"""All layers together: resolve a concept, read one layer's version, and list all concepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from threading import Lock

from commonplace.domain.addresses import fold
from commonplace.domain.errors import NotFoundError
from commonplace.toolsets.cascade.rules.merge import resolve
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, Contribution, ResolvedConcept
from commonplace.toolsets.cascade.service.layers import Layer
from commonplace.toolsets.cascade.service.overview import EMPTY_OVERVIEW, ConceptOverview, ConceptRow

MAX_NEAREST_CONCEPTS = 3
"""Maximum number of similar ids that an error names."""
MAX_COMPARED_CONCEPTS = 20_000
"""Maximum number of ids compared to find similar ones."""


class Cascade:
    """The layers that are served.

    Args:
        layers: In the manifest's order.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = tuple(layers)
        self._lock = Lock()
        self._overview = EMPTY_OVERVIEW

    def resolve(self, identifier: str) -> ResolvedConcept:
        """Returns the effective concept.

        Raises:
            NotFoundError: kind "concept": no layer contains it; context has `nearest`.
        """
        held = ((layer.rank, layer.concept(identifier)) for layer in self.layers)
        contributions = [Contribution(rank, concept) for rank, concept in held if concept is not None]
        if not contributions:
            raise self._missing(identifier)
        return resolve(identifier, contributions)

    def effective(self, row: ConceptRow) -> Iterator[ConceptSection]:
        """The effective sections of a concept, without dissents; each layer is read when the iteration reaches it."""
        taken: set[str] = set()
        for name in row.effective_layers:
            concept = self.layer(name).concept(row.id)
            for section in concept.sections if concept else ():
                if section.key not in taken:
                    taken.add(section.key)
                    yield section

    def raw(self, identifier: str, name: str) -> Concept:
        """Returns one layer's version of the concept.

        Raises:
            NotFoundError: kind "layer": no such layer; kind "concept": the layer does not contain the concept.
        """
        concept = self.layer(name).concept(identifier)
        if concept is not None:
            return concept
        held = self.overview().rows.get(identifier)
        if held is None:
            raise self._missing(identifier)
        raise NotFoundError(
            f"The layer {name!r} does not hold {identifier!r}; these do: {', '.join(held.layers)}.",
            kind="concept",
            hint="Name one of them, or leave out `layer` for the resolved concept.",
        )

    def layer(self, name: str) -> Layer:
        """Returns the layer with a name.

        Raises:
            NotFoundError: kind "layer".
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
        """The current overview; changes of a layer update only the concepts concerned."""
        seen = tuple(layer.summaries() for layer in self.layers)
        with self._lock:
            self._overview = self._overview.updated([layer.rank for layer in self.layers], seen)
            return self._overview

    def _missing(self, identifier: str) -> NotFoundError:
        ids = list(self.overview().rows)
        last = fold(identifier.rpartition("/")[2])
        same_name = [id_ for id_ in ids if fold(id_.rpartition("/")[2]) == last]
        nearest = [*same_name, *get_close_matches(identifier, ids[:MAX_COMPARED_CONCEPTS], MAX_NEAREST_CONCEPTS)]
        return NotFoundError(
            f"There is no concept {identifier[:200]!r}.",
            kind="concept",
            hint="Search for it, or list what there is with list_concepts.",
            nearest=list(dict.fromkeys(nearest))[:MAX_NEAREST_CONCEPTS],
        )
