"""Lists of documents by folder, tag, type and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from commonplace.domain.addresses import fold
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import Filter, ListQuery, SortKey
from commonplace.faces.web import shown
from commonplace.faces.web.exchange import PageRequest, PageResponse, redirect
from commonplace.faces.web.moments import at_moment
from commonplace.faces.web.pages import breadcrumbs, page, words_of
from commonplace.faces.web.query_text import Chip
from commonplace.faces.web.shown import visible, visible_description
from commonplace.faces.web.urls import with_query
from commonplace.services.collections import FoundDocument
from commonplace.services.health.entry_rules import is_entry
from commonplace.services.listing import list_documents, list_tags
from commonplace.services.past import Moment
from commonplace.services.site.changes import folder_now
from commonplace.services.site.documents import FOLDERS, folder_document, folders_of, parsed_document, records
from commonplace.services.site.overview import OVERVIEWS
from commonplace.services.typed_entries import current_schema

PAGE_SIZE = 100
"""Number of documents on one page of a list."""


@dataclass(frozen=True, slots=True)
class Paging:
    """The position of a page in a list."""

    number: int
    last: int
    total: int


def tree(request: PageRequest) -> PageResponse:
    """A folder, now or at a moment: its subfolders, its documents, and its index document."""
    with at_moment(request) as (then, moments):
        return _tree(then, [moment for moment in moments if moment.collection.name == then.located()[0].name])


def _tree(request: PageRequest, moments: Sequence[Moment]) -> PageResponse:
    collection, path = request.located()
    folders = folders_of(collection) if moments else FOLDERS.of(collection)
    folder = folders.get(path)
    if folder is None:
        now = folder_now(collection, path)
        if now and not moments:
            return redirect(request.urls.view("tree", collection.name, f"{now}/"))
        raise NotFoundError(f"There is no folder {path[:80]!r}.", kind="folder", hint="Begin at the home page.")
    paging = _paging(request, len(folder.documents))
    number = paging.number
    chosen = folder.documents[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    start = folder_document(collection, path)
    text = visible(request, collection, parsed_document(collection, start.record.address)) if start else None
    html = (
        shown.rendered(request, collection, text, (text.body_start, len(text.source))) if text and number == 1 else ""
    )
    return page(
        request,
        "tree.html",
        collection=collection,
        folder=folder,
        search=with_query("/search", q=Chip("in", f"{path}/").text, at=request.at),
        moments=moments,
        now=replace(request.urls, at="").view("tree", collection.name, f"{path}/" if path else ""),
        folders=[folders[other_folder] for other_folder in folder.folders],
        records=records(collection, chosen),
        about=partial(visible_description, request),
        start=start,
        html=html,
        crumbs=breadcrumbs(request, collection, path)[:-1],
        paging=paging,
    )


def tags(request: PageRequest) -> PageResponse:
    """All tags as a tree, or the documents with one tag."""
    if request.path:
        feed = with_query("/feed.atom", tag=request.path)
        return _documents(request, f"#{request.path}", Filter(tags=(request.path,)), feed=feed)
    counts = dict(list_tags(list(request.collections)))
    return page(request, "tags.html", tags=_nested(counts), total=len(counts))


@dataclass(frozen=True, slots=True)
class TagRow:
    """A tag in the tree of tags."""

    tag: str
    name: str
    """The last part of the tag."""
    depth: int
    count: int
    """Number of documents with exactly this tag."""


def _nested(counts: dict[str, int]) -> list[TagRow]:
    """All tags in depth-first order, including missing parent tags."""
    above = {fold(tag): tag for tag in counts}
    for tag in counts:
        parts = tag.split("/")
        for name in ("/".join(parts[:number]) for number in range(1, len(parts))):
            above.setdefault(fold(name), name)
    ordered = sorted({*counts, *above.values()}, key=lambda tag: [part.casefold() for part in tag.split("/")])
    return [TagRow(tag, tag.rpartition("/")[2], tag.count("/"), counts.get(tag, 0)) for tag in ordered]


def types(request: PageRequest) -> PageResponse:
    """All types, or the documents of one type."""
    if request.path:
        heading = words_of(request, None).text("Type {type}", type=request.path)
        return _documents(request, heading, Filter(types=(request.path,)), sort="title")
    counts: dict[str, int] = {}
    for collection in request.collections:
        for name, count in OVERVIEWS.of(collection).counts.types:
            counts[name] = counts.get(name, 0) + count
    untyped = counts.pop("", 0)
    rows = sorted(counts.items(), key=lambda element: (-element[1], element[0]))
    return page(request, "types.html", types=rows, untyped=untyped)


def timeline(request: PageRequest) -> PageResponse:
    """Documents by day, newest first: in typed bases by the dates of their entries, else by their last change."""
    typed = any(is_entry(current_schema(collection)) for collection in request.collections)
    heading = words_of(request, None).text("Timeline")
    by = request.query.get("by", "dates" if typed else "changes")
    dated = Filter(date_from="0001-01-01")
    if by == "dates" and list_documents(list(request.collections), ListQuery(filter=dated, limit=1)).total:
        return _documents(request, heading, dated, sort="date", other="changes")
    other = "dates" if typed and by != "dates" else ""
    return _documents(request, heading, Filter(), sort="updated", other=other)


def _documents(
    request: PageRequest,
    heading: str,
    filter_: Filter,
    *,
    sort: SortKey = "title",
    feed: str = "",
    other: str = "",
) -> PageResponse:
    number = request.number("page")
    descending = sort in _DAYS
    query = ListQuery(
        filter=filter_, sort=sort, descending=descending, offset=(number - 1) * PAGE_SIZE, limit=PAGE_SIZE
    )
    listed = list_documents(list(request.collections), query)
    if not listed.total and not descending:
        raise NotFoundError(f"No page has this: {heading}.", kind="tag", hint="See the list of tags or of types.")
    paging = _paging(request, listed.total)
    if number > paging.last:
        return redirect(f"?{_order(request)}page={paging.last}")
    documents: tuple[FoundDocument, ...] = listed.found
    return page(
        request,
        "documents.html",
        heading=heading,
        about=partial(visible_description, request),
        feed=feed,
        found=documents,
        days=[(day, list(rows)) for day, rows in groupby(documents, _DAYS[sort])] if descending else [],
        by=sort,
        other=other,
        order=_order(request),
        paging=paging,
        many=len(list(request.collections)) > 1,
    )


_DAYS: Mapping[SortKey, Callable[[FoundDocument], str]] = {
    "updated": lambda document: document.record.updated[:10],
    "date": lambda document: document.record.date[:10],
}
"""The day of a document, by the order of a list that is divided into days."""


def _order(request: PageRequest) -> str:
    """The order that the URL states, for URLs of the other parts of the list."""
    by = request.query.get("by", "")
    return f"by={by}&" if by in {"dates", "changes"} else ""


def _paging(request: PageRequest, total: int) -> Paging:
    """The requested page of a list; the last one if the number is too large."""
    last = max(1, -(-total // PAGE_SIZE))
    return Paging(min(request.number("page"), last), last, total)
