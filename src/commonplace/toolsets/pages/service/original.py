"""The spaces from which collections were synced, and the original of each page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from threading import Lock

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Record
from commonplace.services.collections import Collection
from commonplace.toolsets.pages.rules.page import Page, page_from
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space
from commonplace.toolsets.pages.service.space_file import SpaceFile

_WEB = re.compile(r"https?://\S+")


class _KnownSpaces:
    """The space file of each collection, reloaded when it changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, tuple[FileStat, Space]] = {}

    def of(self, collection: Collection) -> Space | None:
        key = collection.store.identity
        try:
            stat = collection.store.stat(SPACE_FILE)
            if stat is None:
                return None
            with self._lock:
                found = self._known.get(key)
                if found is None or found[0] != stat:
                    found = self._known[key] = (stat, SpaceFile(collection.store)())
            return found[1]
        except KnowledgeError:  # a broken space file: the folder is treated like any other
            return None


_SPACES = _KnownSpaces()


def space_of(collection: Collection) -> Space | None:
    """The space from which a collection was synced; None for any other collection."""
    return _SPACES.of(collection)


@dataclass(frozen=True, slots=True)
class OriginalPage:
    """The page of a space from which a document was synced."""

    space: Space
    page: Page
    url: str
    """URL of the page in the space; "" if the document has no http or https URL."""


def original_page(collection: Collection, record: Record) -> OriginalPage | None:
    """The original of a document; None if it was not synced from a space."""
    space = space_of(collection)
    page = page_from(record.address, record.frontmatter, record.title) if space else None
    if space is None or not isinstance(page, Page):
        return None
    return OriginalPage(space, page, page.url if _WEB.fullmatch(page.url) else "")
