"""Documents and links as nodes and edges: the neighbourhood of one document, and the graph of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Record
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.services.site.derived import PerState
from commonplace.services.site.tree import records

MAX_NEIGHBOURS = 24
"""Maximum number of neighbours of one document in its graph."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document one link away."""

    record: Record
    outgoing: bool
    incoming: bool


def _adjacency(collection: Collection) -> Mapping[Address, tuple[frozenset[Address], frozenset[Address]]]:
    out: dict[Address, set[Address]] = {}
    back: dict[Address, set[Address]] = {}
    for source, target in collection.index.links():
        if source != target:
            out.setdefault(source, set()).add(target)
            back.setdefault(target, set()).add(source)
    return {one: (frozenset(out.get(one, ())), frozenset(back.get(one, ()))) for one in {*out, *back}}


ADJACENCY = PerState(_adjacency)
"""Outgoing and incoming neighbours of every linked document."""


def neighbours(collection: Collection, address: Address) -> list[Neighbour]:
    """The documents one link away, at most `MAX_NEIGHBOURS`; those linked in both directions first, then by links."""
    links = ADJACENCY.of(collection)
    out, back = links.get(address, (frozenset(), frozenset()))
    degree = Counter({one: len(links[one][0]) + len(links[one][1]) for one in out | back})
    both = out & back
    chosen = nsmallest(MAX_NEIGHBOURS, out | back, key=lambda one: (one not in both, -degree[one], one))
    return [Neighbour(one, one.address in out, one.address in back) for one in records(collection, chosen)]


@dataclass(frozen=True, slots=True)
class SiteGraph:
    """Every document of a collection and the links between them."""

    nodes: tuple[Record, ...]
    """Records of the documents by path."""
    edges: tuple[tuple[int, int], ...]
    """Positions in `nodes` of the source and the target of each link."""


def _graph(collection: Collection) -> SiteGraph:
    nodes = tuple(every_document(collection))
    at = {record.address: number for number, record in enumerate(nodes)}
    edges = tuple((at[a], at[b]) for a, b in collection.index.links() if a != b and a in at and b in at)
    return SiteGraph(nodes, edges)


GRAPHS = PerState(_graph)
"""The whole graph of each collection."""
