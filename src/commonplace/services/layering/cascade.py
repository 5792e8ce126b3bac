"""All layers together: one concept resolved, one layer's own, and an overview of what there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from threading import Lock

from commonplace.domain.addresses import fold
from commonplace.domain.cascade.merging import cut_after, merged_values, precedence, resolve
from commonplace.domain.cascade.values import Concept, ConceptSection, Contribution, Rank, Resolved, written
from commonplace.domain.cascade.words import Names
from commonplace.domain.describing import aliases_of
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json
from commonplace.services.layering.layers import Layer, Summaries

MAX_NEAREST = 3
"""How many near ids an error names."""
MAX_COMPARED = 20_000
"""How many ids are compared to find them."""


@dataclass(frozen=True, slots=True)
class Row:
    """A concept in a list: what counts of it over all layers."""

    id: str
    type: str | None
    title: str | None
    layers: tuple[str, ...]
    """That hold it, from the top."""
    counting: tuple[str, ...]
    """Those of them that no `override: full` cuts off."""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """Every concept, as all layers together have it."""

    rows: Mapping[str, Row]
    """By id, in order."""
    by_layer: Mapping[str, Summaries]
    """What each layer holds, by the layer's name."""
    named: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Ids by title and alias, folded."""
    names: dict[tuple[str, str], Names] = field(default_factory=dict[tuple[str, str], Names], compare=False)
    """By layer and id, of the concepts that searches have come by since this was made."""

    def names_in(self, layer: str, identifier: str) -> Names:
        """What a layer calls a concept."""
        key = layer, identifier
        found = self.names.get(key)
        if found is None:
            found = self.names[key] = Names.of(identifier, self.by_layer[layer].get(identifier, {}))
        return found

    def titled(self, name: str) -> str | None:
        """The one concept of that title or alias; None where there is none, or several."""
        found = self.named.get(fold(name.strip()), frozenset())
        return next(iter(found)) if len(found) == 1 else None


class Cascade:
    """The layers that are served.

    Args:
        layers: In the manifest's order.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = tuple(layers)
        self._lock = Lock()
        self._seen: tuple[Summaries, ...] = ()
        self._overview = Overview({}, {})

    def resolve(self, identifier: str) -> Resolved:
        """The concept as it counts.

        Raises:
            NotFoundError: kind "concept": no layer holds it; context holds `nearest`.
        """
        held = ((layer.rank, layer.concept(identifier)) for layer in self.layers)
        contributions = [Contribution(rank, concept) for rank, concept in held if concept is not None]
        if not contributions:
            raise self._missing(identifier)
        return resolve(identifier, contributions)

    def effective(self, row: Row) -> Iterator[ConceptSection]:
        """The sections of a concept that count, without what others say; a layer is read when it is come to."""
        taken: set[str] = set()
        for name in row.counting:
            concept = self.layer(name).concept(row.id)
            for section in concept.sections if concept else ():
                if section.key not in taken:
                    taken.add(section.key)
                    yield section

    def raw(self, identifier: str, name: str) -> Concept:
        """The concept as one layer has it.

        Raises:
            NotFoundError: kind "layer": no such layer; kind "concept": it does not hold the concept.
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
        """The layer of that name.

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

    def overview(self) -> Overview:
        """What there is now; made anew only when a layer has changed."""
        seen = tuple(layer.summaries() for layer in self.layers)
        with self._lock:
            if len(seen) != len(self._seen) or any(new is not old for new, old in zip(seen, self._seen, strict=True)):
                self._overview = _overview([layer.rank for layer in self.layers], seen)
                self._seen = seen
            return self._overview

    def _missing(self, identifier: str) -> NotFoundError:
        ids = list(self.overview().rows)
        last = fold(identifier.rpartition("/")[2])
        same_name = [id_ for id_ in ids if fold(id_.rpartition("/")[2]) == last]
        nearest = [*same_name, *get_close_matches(identifier, ids[:MAX_COMPARED], MAX_NEAREST)]
        return NotFoundError(
            f"There is no concept {identifier[:200]!r}.",
            kind="concept",
            hint="Search for it, or list what there is with list_concepts.",
            nearest=list(dict.fromkeys(nearest))[:MAX_NEAREST],
        )


def _overview(ranks: Sequence[Rank], seen: Sequence[Summaries]) -> Overview:
    holders: dict[str, list[tuple[Rank, Mapping[str, Json]]]] = {}
    for rank, summaries in zip(ranks, seen, strict=True):
        for identifier, values in summaries.items():
            holders.setdefault(identifier, []).append((rank, values))
    rows = {identifier: _row(identifier, holders[identifier]) for identifier in sorted(holders)}
    named: dict[str, set[str]] = {}
    for row in rows.values():
        for name in filter(None, (row.title, *row.aliases)):
            named.setdefault(fold(name), set()).add(row.id)
    by_layer = {rank.name: summaries for rank, summaries in zip(ranks, seen, strict=True)}
    return Overview(rows, by_layer, {name: frozenset(ids) for name, ids in named.items()})


def _row(identifier: str, holders: list[tuple[Rank, Mapping[str, Json]]]) -> Row:
    if len(holders) > 1:
        holders.sort(key=lambda one: precedence(one[0], written(one[1].get("updated"))), reverse=True)
    counting = holders[: cut_after([values for _, values in holders])]
    values = merged_values((rank.name, own) for rank, own in counting)[0] if len(counting) > 1 else counting[0][1]
    return Row(
        id=identifier,
        type=written(values.get("type")),
        title=written(values.get("title")),
        layers=tuple(rank.name for rank, _ in holders),
        counting=tuple(rank.name for rank, _ in counting),
        aliases=aliases_of(values),
    )
