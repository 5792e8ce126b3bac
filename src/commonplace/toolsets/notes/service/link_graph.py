"""Pages round a page by their links: neighbours to a depth, and the shortest path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from commonplace.domain.addresses import Address
from commonplace.services.collections import Collection


@dataclass(frozen=True, slots=True)
class GraphStep:
    """One page of a path, and the direction of the link from the previous page."""

    address: Address
    forward: bool
    """Whether the previous page links to this one; False if this page links to the previous one."""


class LinkGraph:
    """The current resolved links between the pages of one collection."""

    def __init__(self, pairs: Iterable[tuple[Address, Address]]) -> None:
        self._out: dict[Address, list[Address]] = {}
        self._back: dict[Address, list[Address]] = {}
        for source, target in pairs:
            if source != target:
                self._out.setdefault(source, []).append(target)
                self._back.setdefault(target, []).append(source)

    def neighbours(self, address: Address, depth: int) -> list[tuple[Address, int]]:
        """The pages at most `depth` links away in either direction, with their distance.

        Nearest first, then by path.
        """
        distance = {address: 0}
        frontier = [address]
        for step in range(1, depth + 1):
            frontier = sorted({two for address in frontier for two in self._beside(address)} - distance.keys())
            distance |= dict.fromkeys(frontier, step)
        return sorted(
            ((address, far) for address, far in distance.items() if far),
            key=lambda addresses: (addresses[1], addresses[0]),
        )

    def path(self, start: Address, end: Address) -> list[GraphStep]:
        """The shortest path between two pages over links in either direction; [] if there is none."""
        came: dict[Address, Address] = {start: start}
        frontier = [start]
        while frontier and end not in came:
            following: list[Address] = []
            for address in frontier:
                for two in self._beside(address):
                    if two not in came:
                        came[two] = address
                        following.append(two)
            frontier = sorted(following)
        if end not in came:
            return []
        way = [end]
        while way[-1] != start:
            way.append(came[way[-1]])
        way.reverse()
        steps = [GraphStep(start, forward=True)]
        return steps + [GraphStep(two, two in self._out.get(address, ())) for address, two in pairwise(way)]

    def _beside(self, address: Address) -> list[Address]:
        return sorted({*self._out.get(address, ()), *self._back.get(address, ())})


def link_graph(collection: Collection) -> LinkGraph:
    """The link graph of a collection."""
    return LinkGraph(collection.index.links())


def resolved_titles(collection: Collection, addresses: Iterable[Address]) -> Mapping[Address, str]:
    """The titles of pages from the index; pages that are not indexed are omitted."""
    records = {address: collection.index.record(address) for address in addresses}
    return {address: record.title for address, record in records.items() if record}
