"""The parts of a base's site beside its pages: the sections of its navigation, and its style sheet."""

from __future__ import annotations

from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.appearance import style_sheet
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.navigation import NavigationHtml, place_of
from commonplace.faces.web.pages import page, words_of


def section(request: PageRequest) -> PageResponse:
    """The pages of one section of the navigation; with `fragment`, only its rows, for the same navigation."""
    collection, path = request.located()
    navigation = request.site(collection).navigation
    place = place_of(path)
    start, end = request.number("from", 0), request.number("to", 0)
    version = request.query.get("fragment", "")
    if place is None or not navigation.children(place) or version not in {"", navigation.version}:
        raise NotFoundError(
            "There is no such section.", kind="section", hint="Sections change with the pages: reload the page."
        )
    html = NavigationHtml(request.urls, collection.name, navigation, words_of(request, collection))
    rows = html.section(place, start, end)
    if version:
        return PageResponse(rows.encode("utf-8", "replace"))
    *above, last = (*place,) or (0,)
    title = html.title(navigation.children(tuple(above))[last]) if place else collection.name
    return page(request, "section.html", collection=collection, heading=title, rows=rows)


def style(request: PageRequest) -> PageResponse:
    """The style sheet of a base: its accent, and the rules of its own."""
    collection, _ = request.located()
    rules = style_sheet(collection, request.site(collection).settings)
    return PageResponse(rules.encode("utf-8", "replace"), "text/css; charset=utf-8")
