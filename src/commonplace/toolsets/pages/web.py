"""Additions to the web pages of a synced space: the space on the home page, and a link to each page's original."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.faces.web.exchange import CardRow, PageRequest, ToolsetPages
from commonplace.faces.web.pages import moment
from commonplace.services.collections import Collection, FoundDocument
from commonplace.toolsets.pages.service.pages import original_page, space_of


def about(request: PageRequest, collection: Collection) -> Sequence[CardRow]:
    """Row on the home page: the space from which the collection was synced."""
    del request
    space = space_of(collection)
    if space is None:
        return ()
    name = space.key if space.name == space.key else f"{space.key}, {space.name}"
    return (CardRow("", "", f"Synced from the space {name}. Each page leads to its original."),)


def notes(request: PageRequest, document: FoundDocument) -> Sequence[CardRow]:
    """Row on a synced page: a link to the original, and its last author and date."""
    del request
    original = original_page(document.collection, document.record)
    if original is None:
        return ()
    page = original.page
    changed = f", changed there {moment(page.updated)[:10]}" if page.updated else ""
    author = page.author_name or page.author_email
    by = f", by {author}" if author else ""
    edit = "Edit it there: the next sync replaces this copy."
    name = "The original page" if original.url else ""
    lead = "of" if original.url else "From"
    return (CardRow(name, original.url, f"{lead} the space {original.space.name}{changed}{by}. {edit}"),)


PAGES_WEB = ToolsetPages(about=about, notes=notes, confined=True)
"""The additions to the web pages of a synced space."""
