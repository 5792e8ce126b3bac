"""Lists over all layers: concepts, disagreements, and the card of layers on the home page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from commonplace.faces.web.exchange import CardRow, HomeCard, PageRequest, PageResponse
from commonplace.faces.web.pages import page
from commonplace.services.site.changes import DiffRow, differences
from commonplace.toolsets.cascade.service import CASCADE_KEY, concept_search
from commonplace.toolsets.cascade.service.cascade import Cascade, ConceptRow
from commonplace.toolsets.cascade.service.conflicts import Disagreement
from commonplace.toolsets.cascade.service.conflicts import conflicts as find_conflicts
from commonplace.toolsets.cascade.service.overview import EMPTY_OVERVIEW, ConceptOverview
from commonplace.toolsets.cascade.web.links import cascade_of, concept_url

T = TypeVar("T")
PAGE_SIZE = 100
CONFLICTS_SIZE = 30
"""Number of conflicts on one page."""
MAX_FOUND = 50
"""Maximum number of concepts that a search shows."""


def concept_list(request: PageRequest) -> PageResponse:
    """Every concept, the concepts of a `layer` or `type`, or those that match the query `q`."""
    cascade = cascade_of(request)
    overview = cascade.overview()
    query, layer, kind = (request.query.get(name, "").strip()[:500] for name in ("q", "layer", "type"))
    snippets: dict[str, str] = {}
    if query:
        hits = concept_search.search(cascade, query, MAX_FOUND)
        snippets = {hit.row.id: hit.snippet for hit in hits}
        found = [hit.row for hit in hits]
    else:
        found = list(overview.rows.values())
    found = [row for row in found if (not layer or layer in row.layers) and (not kind or row.type == kind)]
    rows, number, last = _page_of(request, found, PAGE_SIZE)
    return page(
        request,
        "concepts.html",
        rows=rows,
        total=len(found),
        number=number,
        last=last,
        snippets=snippets,
        query=query,
        layer=layer,
        kind=kind,
        layers=[(one.rank.name, len(overview.by_layer[one.rank.name])) for one in cascade.layers],
        types=sorted({row.type for row in overview.rows.values() if row.type}),
        url=concept_url,
    )


@dataclass(frozen=True, slots=True)
class ShownConflict:
    """A disagreement, with the differences between each dissent and the effective value."""

    found: Disagreement
    url: str
    title: str
    dissents: tuple[tuple[str, str, list[DiffRow]], ...]
    """Layer, date and differences of each dissent."""


def conflicts(request: PageRequest) -> PageResponse:
    """Every disagreement between layers, newest dissent first."""
    cascade = cascade_of(request)
    every = _CONFLICTS.of(cascade)
    layer = request.query.get("layer", "")
    chosen = [one for one in every if not layer or layer in (one.winner.layer, *(d.layer for d in one.dissents))]
    rows, number, last = _page_of(request, chosen, CONFLICTS_SIZE)
    titles = cascade.overview().rows
    return page(
        request,
        "conflicts.html",
        rows=[_shown(one, titles.get(one.id)) for one in rows],
        total=len(chosen),
        number=number,
        last=last,
        layer=layer,
        layers=[one.rank.name for one in cascade.layers],
    )


def _shown(one: Disagreement, row: ConceptRow | None) -> ShownConflict:
    effective = str(one.winner.value)
    return ShownConflict(
        one,
        concept_url(one.id, one.key if one.kind == "section" else ""),
        row.title or one.id if row else one.id,
        tuple((d.layer, d.updated or "", differences(effective, str(d.value))) for d in one.dissents),
    )


def card(request: PageRequest) -> HomeCard | None:
    """The card of the layers on the home page."""
    cascade = request.services.of(CASCADE_KEY)
    if cascade is None:
        return None
    overview = cascade.overview()
    ranked = sorted(cascade.layers, key=lambda one: (-one.rank.level, one.rank.order))
    rows = tuple(
        CardRow(one.rank.name, f"/concepts?layer={one.rank.name}", f"{len(overview.by_layer[one.rank.name]):,}")
        for one in ranked
    )
    differing = sum(len(row.layers) > 1 for row in overview.rows.values())
    about = f"{len(overview.rows):,} concepts from {len(rows)} layers, the highest first; {differing:,} in several."
    return HomeCard("Concepts", "/concepts", about, (*rows, CardRow("Conflicts", "/conflicts", "where layers differ")))


def _page_of(request: PageRequest, every: Sequence[T], size: int) -> tuple[Sequence[T], int, int]:
    """One page of a list, its number and the number of the last one."""
    last = max(1, -(-len(every) // size))
    number = min(request.number("page"), last)
    return every[(number - 1) * size : number * size], number, last


class _Conflicts:
    """The conflicts of the layers, cached until the layers change."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seen: ConceptOverview = EMPTY_OVERVIEW
        self._found: list[Disagreement] = []

    def of(self, cascade: Cascade) -> list[Disagreement]:
        overview = cascade.overview()
        with self._lock:
            if overview is not self._seen:
                self._found, self._seen = find_conflicts(cascade), overview
            return self._found


_CONFLICTS = _Conflicts()
