"""Views of defects: wanted pages, broken links, orphans and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Record
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.pages import page
from commonplace.services.checks import history_gaps
from commonplace.services.collections import Collection, current_bytes
from commonplace.services.findings import shown_lines
from commonplace.services.links import WantedPage
from commonplace.services.reviews import ReviewItem, queue_of
from commonplace.services.site.documents import document_at_path, records
from commonplace.services.site.overview import MAX_READ_PAGES, ORPHANS, issues, nearest_names, wanted_pages

PAGE_SIZE = 50
"""Number of rows on one page of a list."""
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
    nearest: Sequence[str]
    """The most similar ids; empty unless requested."""


def wanted(request: PageRequest) -> PageResponse:
    """Wanted pages, which have links but do not exist. With a name in the URL, a redirect to the page of that name."""
    if request.path:
        collection, path = request.located()
        document = document_at_path(collection, path)
        return redirect(request.urls.page(collection.name, document.record.address.path if document else path))
    return _wanted(request, nearest=False)


def broken(request: PageRequest) -> PageResponse:
    """Broken links, each with the pages that its author may have meant."""
    return _wanted(request, nearest=True)


def _wanted(request: PageRequest, *, nearest: bool) -> PageResponse:
    lists = [(collection, wanted_pages(request.collections, collection)) for collection in request.collections]
    chosen, number, last = _page_of(request, [(collection, listed.pages) for collection, listed in lists])
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
        near = nearest_names(collection, wanted_page.name) if nearest and not wanted_page.is_file else ()
        rows.append(WantedRow(collection, wanted_page, sources, len(wanted_page.sources) - len(found_records), near))
    return page(
        request,
        "wanted.html",
        rows=rows,
        total=sum(len(listed.pages) for _, listed in lists),
        links=sum(listed.links for _, listed in lists),
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
    lists = [(collection, ORPHANS.of(collection)) for collection in request.collections]
    rows, number, last = _page_of(request, lists)
    total = sum(len(records) for _, records in lists)
    return page(request, "orphans.html", rows=rows, total=total, number=number, last=last)


def review(request: PageRequest) -> PageResponse:
    """Pages to review with the reason, the gravest first; all, or those of one owner."""
    owner = request.query.get("owner", "")[:MAX_OWNER_CHARS]
    items = queue_of(list(request.collections), owner)
    chosen, number, last = _page_of(request, [("", items)])
    rows = [(item.collection, item) for _, item in chosen]
    owners = sorted({name for item in items for name in item.owners})
    return page(
        request,
        "review.html",
        rows=rows,
        total=len(items),
        owner=owner,
        owners=owners[:MAX_OWNERS],
        edits=_editable(request, rows),
        gaps=history_gaps(request.collections),
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
    lists = [(collection, issues(request.collections, collection, read=more)) for collection in request.collections]
    severity = request.query.get("severity", "")
    counts: Counter[str] = Counter()
    for _, listed in lists:
        counts.update(listed.counts)
    shown = [(collection, listed.of(severity)) for collection, listed in lists]
    rows, number, last = _page_of(request, shown)
    return page(
        request,
        "findings.html",
        rows=rows,
        total=sum(len(listed) for _, listed in shown),
        counts=counts,
        gaps=history_gaps(request.collections),
        severity=severity,
        more=more,
        is_large=pages > MAX_READ_PAGES,
        number=number,
        last=last,
    )


T = TypeVar("T")
Owner = TypeVar("Owner")


def _page_of(
    request: PageRequest, lists: Sequence[tuple[Owner, Sequence[T]]]
) -> tuple[Sequence[tuple[Owner, T]], int, int]:
    """One page of several lists, each element with what it belongs to, the page's number, and that of the last page.

    Only the elements of the page are touched: lists of ten thousand findings are cached.
    """
    last = max(1, -(-sum(len(listed) for _, listed in lists) // PAGE_SIZE))
    number = min(request.number("page"), last)
    start, rows = (number - 1) * PAGE_SIZE, list[tuple[Owner, T]]()
    for owner, listed in lists:
        rows += [(owner, element) for element in listed[start : start + PAGE_SIZE - len(rows)]]
        start = max(start - len(listed), 0)
    return rows, number, last
