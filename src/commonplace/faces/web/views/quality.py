"""Views of defects: wanted pages, broken links, orphans and findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from commonplace.domain.query import Record
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.services.collections import Collection
from commonplace.services.site.documents import document_at_path
from commonplace.services.site.overview import ORPHANS, WANTED, IssueRow, WantedPage, issues
from commonplace.services.site.tree import records

PAGE_SIZE = 100
MAX_SOURCES = 5
"""Maximum number of linking documents listed for each wanted page."""


@dataclass(frozen=True, slots=True)
class WantedRow:
    """A wanted page in the list."""

    collection: Collection
    wanted: WantedPage
    sources: list[Record]
    nearest: list[str]
    """The most similar ids; empty unless requested."""


def wanted(request: PageRequest) -> PageResponse:
    """Wanted pages, which have links but do not exist. With a name in the URL, a redirect to the page of that name."""
    if request.path:
        collection, path = request.located()
        found = document_at_path(collection, path)
        return redirect(request.urls.page(collection.name, found.record.address.path if found else path))
    return _wanted(request, "Wanted pages", nearest=False)


def broken(request: PageRequest) -> PageResponse:
    """Broken links, each with the pages that its author may have meant."""
    return _wanted(request, "Broken links", nearest=True)


def _wanted(request: PageRequest, heading: str, *, nearest: bool) -> PageResponse:
    every = [(collection, one) for collection in request.collections for one in WANTED.of(collection)]
    chosen, number, last = _page_of(request, every)
    rows = [
        WantedRow(
            collection,
            one,
            records(collection, list(one.sources[:MAX_SOURCES])),
            collection.index.nearest(one.name, 2) if nearest else [],
        )
        for collection, one in chosen
    ]
    return page(
        request, "wanted.html", heading=heading, rows=rows, total=len(every), number=number, last=last, nearest=nearest
    )


def orphans(request: PageRequest) -> PageResponse:
    """Pages that no other page links to."""
    every: list[tuple[Collection, Record]] = [
        (collection, record) for collection in request.collections for record in ORPHANS.of(collection)
    ]
    rows, number, last = _page_of(request, every)
    return page(request, "orphans.html", rows=rows, total=len(every), number=number, last=last)


def findings(request: PageRequest) -> PageResponse:
    """Findings in documents, most severe first."""
    more = request.query.get("more") == "1"
    every: list[tuple[Collection, IssueRow]] = [
        (collection, row)
        for collection in request.collections
        for row in issues(request.collections, collection, read=more)
    ]
    severity = request.query.get("severity", "")
    shown = [one for one in every if not severity or one[1].issue.severity == severity]
    counts: dict[str, int] = {}
    for _, row in every:
        counts[row.issue.severity.value] = counts.get(row.issue.severity.value, 0) + 1
    rows, number, last = _page_of(request, shown)
    return page(
        request,
        "findings.html",
        rows=rows,
        total=len(shown),
        counts=counts,
        severity=severity,
        more=more,
        number=number,
        last=last,
    )


T = TypeVar("T")


def _page_of(request: PageRequest, every: Sequence[T]) -> tuple[Sequence[T], int, int]:
    """One page of a list, its number, and the number of the last page."""
    last = max(1, -(-len(every) // PAGE_SIZE))
    number = min(request.number("page"), last)
    return every[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], number, last
