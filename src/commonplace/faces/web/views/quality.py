"""Views of defects: wanted pages, broken links, orphans and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Record
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.services.collections import Collection, current_bytes
from commonplace.services.findings import shown_lines
from commonplace.services.links import WantedPage
from commonplace.services.reviews import ReviewItem, queue_of
from commonplace.services.site.documents import document_at_path, records
from commonplace.services.site.overview import MAX_READ_PAGES, ORPHANS, IssueRow, issues, wanted_pages

PAGE_SIZE = 100
MAX_OWNERS = 50
"""Maximum number of owners by which the review queue can be narrowed with a click."""
MAX_OWNER_CHARS = 200
MAX_SOURCES = 5
"""Maximum number of linking documents listed for each wanted page."""


@dataclass(frozen=True, slots=True)
class WantedRow:
    """A wanted page in the list."""

    collection: Collection
    wanted: WantedPage
    sources: list[tuple[Record, str]]
    """The first documents that link to it, each with the lines of the links: `lines 5 and 9`; "" unless requested."""
    more: int
    """Number of the other documents."""
    nearest: list[str]
    """The most similar ids; empty unless requested."""


def wanted(request: PageRequest) -> PageResponse:
    """Wanted pages, which have links but do not exist. With a name in the URL, a redirect to the page of that name."""
    if request.path:
        collection, path = request.located()
        document = document_at_path(collection, path)
        return redirect(request.urls.page(collection.name, document.record.address.path if document else path))
    return _wanted(request, "Wanted pages", nearest=False)


def broken(request: PageRequest) -> PageResponse:
    """Broken links, each with the pages that its author may have meant."""
    return _wanted(request, "Broken links", nearest=True)


def _wanted(request: PageRequest, heading: str, *, nearest: bool) -> PageResponse:
    every = [
        (collection, wanted_page)
        for collection in request.collections
        for wanted_page in wanted_pages(request.collections, collection)
    ]
    chosen, number, last = _page_of(request, every)
    lines = _LineNumbers()
    rows: list[WantedRow] = []
    known_records = _records_of(chosen)
    for collection, wanted_page in chosen:
        named = ((collection.name, address) for address in wanted_page.sources[:MAX_SOURCES])
        found_records = [known_records[key] for key in named if key in known_records]
        sources = [
            (record, lines.of(collection, record.address, wanted_page.places[record.address]) if nearest else "")
            for record in found_records
        ]
        near = collection.index.nearest(wanted_page.name, 2) if nearest and not wanted_page.is_file else []
        rows.append(WantedRow(collection, wanted_page, sources, len(wanted_page.sources) - len(found_records), near))
    return page(
        request,
        "wanted.html",
        heading=heading,
        rows=rows,
        total=len(every),
        links=sum(wanted_page.links for _, wanted_page in every),
        number=number,
        last=last,
        nearest=nearest,
    )


def _records_of(chosen: Sequence[tuple[Collection, WantedPage]]) -> dict[tuple[str, Address], Record]:
    """The records of the first documents that link to wanted pages, by collection and address."""
    sources: dict[str, tuple[Collection, set[Address]]] = {}
    for collection, wanted_page in chosen:
        sources.setdefault(collection.name, (collection, set()))[1].update(wanted_page.sources[:MAX_SOURCES])
    return {
        (name, record.address): record
        for name, (collection, addresses) in sources.items()
        for record in records(collection, sorted(addresses))
    }


class _LineNumbers:
    """Converts offsets in documents to line numbers. Each document is read once."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, Address], bytes] = {}

    def of(self, collection: Collection, address: Address, offsets: Sequence[int]) -> str:
        """The lines of these offsets (-1: the frontmatter): `line 5`, `lines 5 and 9`; "" if it was deleted."""
        key = collection.name, address
        if key not in self._texts:
            self._texts[key] = b""
            with suppress(KnowledgeError):  # deleted meanwhile, or unreadable
                self._texts[key] = collection.store.read(address)
        text = self._texts[key]
        return shown_lines([text.count(b"\n", 0, at) + 1 if at >= 0 else 0 for at in offsets]) if text else ""


def orphans(request: PageRequest) -> PageResponse:
    """Pages that no other page links to."""
    every: list[tuple[Collection, Record]] = [
        (collection, record) for collection in request.collections for record in ORPHANS.of(collection)
    ]
    rows, number, last = _page_of(request, every)
    return page(request, "orphans.html", rows=rows, total=len(every), number=number, last=last)


def review(request: PageRequest) -> PageResponse:
    """Pages to review with the reason, the gravest first; all, or those of one owner."""
    owner = request.query.get("owner", "")[:MAX_OWNER_CHARS]
    every = [(item.collection, item) for item in queue_of(list(request.collections), owner)]
    rows, number, last = _page_of(request, every)
    owners = sorted({name for _, item in every for name in item.owners})
    return page(
        request,
        "review.html",
        rows=rows,
        total=len(every),
        owner=owner,
        owners=owners[:MAX_OWNERS],
        edits=_editable(request, rows),
        number=number,
        last=last,
    )


def _editable(request: PageRequest, rows: Sequence[tuple[Collection, ReviewItem]]) -> Mapping[str, frozenset[str]]:
    """The paths of items that the caller may edit, by name of the collection."""
    paths: dict[str, set[str]] = {}
    for collection, item in rows:
        address, editable = Address(item.path), paths.setdefault(collection.name, set())
        if address.is_document and request.may_edit_page(collection, address, current_bytes(collection, address)):
            editable.add(item.path)
    return {name: frozenset(editable) for name, editable in paths.items()}


def findings(request: PageRequest) -> PageResponse:
    """Findings in documents, most severe first."""
    pages = sum(collection.index.counts().documents for collection in request.collections)
    more = request.query.get("more") == "1" or pages <= MAX_READ_PAGES
    every: list[tuple[Collection, IssueRow]] = [
        (collection, row)
        for collection in request.collections
        for row in issues(request.collections, collection, read=more)
    ]
    severity = request.query.get("severity", "")
    shown = [element for element in every if not severity or element[1].issue.severity == severity]
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
        is_large=pages > MAX_READ_PAGES,
        number=number,
        last=last,
    )


T = TypeVar("T")


def _page_of(request: PageRequest, every: Sequence[T]) -> tuple[Sequence[T], int, int]:
    """One page of a list, its number, and the number of the last page."""
    last = max(1, -(-len(every) // PAGE_SIZE))
    number = min(request.number("page"), last)
    return every[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], number, last
