"""The home page: the start page of a base, or the overview of each collection with its recent commits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from commonplace.faces.web import shown
from commonplace.faces.web.edit_requests import waiting_notes
from commonplace.faces.web.exchange import CardRow, PageRequest, PageResponse
from commonplace.faces.web.navigation import NavigationHtml
from commonplace.faces.web.pages import base_title, page, words_of
from commonplace.faces.web.shown import visible_description
from commonplace.faces.web.views import document
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.site.changes import latest
from commonplace.services.site.documents import FOLDERS, SiteFolder, document_at_path
from commonplace.services.site.overview import ORPHANS, OVERVIEWS, CollectionOverview, wanted_pages

MAX_FOLDERS = 14
SHOWN_COMMITS = 8


@dataclass(frozen=True, slots=True)
class CollectionCard:
    """The part of the home page for one collection."""

    collection: Collection
    overview: CollectionOverview
    folders: tuple[SiteFolder, ...]
    """The top-level folders."""
    start: FoundDocument | None
    """The start page."""
    commits: tuple[shown.ShownCommit, ...]
    about: tuple[CardRow, ...]
    """Parts that toolsets show for the collection."""
    wanted: int
    orphans: int


def home(request: PageRequest) -> PageResponse:
    """The home page: the start page of the only base if it has one, otherwise the overview."""
    collections = list(request.collections)
    added = any(pages.card(request) is not None for pages in request.toolsets)
    start = (
        None if added or len(collections) != 1 else document_at_path(collections[0], request.site(collections[0]).start)
    )
    return document.page_of(request, start, is_start=True) if start else overview(request)


def overview(request: PageRequest) -> PageResponse:
    """The overview: an account of each collection, with its recent commits."""
    cards = [_card(request, collection) for collection in request.collections]
    added = [card for pages in request.toolsets if (card := pages.card(request)) is not None]
    collections = [card.collection for card in cards]
    is_empty = not added and not any(card.overview.counts.documents for card in cards)
    return page(
        request,
        "home.html",
        cards=cards,
        title_of=partial(base_title, request),
        added=added,
        is_empty=is_empty,
        navigation="" if is_empty or added or len(collections) != 1 else _navigation(request, collections[0]),
        waiting=_waiting(request),
        description=partial(visible_description, request),
    )


def _navigation(request: PageRequest, collection: Collection) -> Markup:
    navigation = request.site(collection).navigation
    return NavigationHtml(request.urls, collection.name, navigation, words_of(request, collection)).whole("")


def _waiting(request: PageRequest) -> list[tuple[Collection, CardRow]]:
    """The number of proposals that wait, by collection; those of toolsets' own stores too."""
    decided = request.services.decided if request.tier != "read" else ()
    return [(collection, note) for collection in decided for note in waiting_notes(request, collection)]


def _card(request: PageRequest, collection: Collection) -> CollectionCard:
    folders = FOLDERS.of(collection)
    top = [folders[path] for path in folders[""].folders]
    start = request.site(collection).start
    return CollectionCard(
        collection=collection,
        overview=OVERVIEWS.of(collection),
        folders=tuple(sorted(top, key=lambda folder: -folder.total)[:MAX_FOLDERS]),
        start=document_at_path(collection, start) if start else None,
        commits=tuple(shown.shown_commit(commit) for commit in latest(collection, SHOWN_COMMITS)),
        about=tuple(row for pages in request.toolsets for row in pages.about(request, collection)),
        wanted=len(wanted_pages(request.collections, collection).pages),
        orphans=len(ORPHANS.of(collection)),
    )
