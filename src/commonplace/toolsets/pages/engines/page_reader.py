"""Reads every page of a folder, for engines with their own copy and for dry runs."""

from __future__ import annotations

from collections.abc import Iterator

from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.ports import Store
from commonplace.toolsets.pages.rules.page import (
    Page,
    PageText,
    UnusablePage,
    flawed_pages,
    page_addresses,
    pages_by_id,
    read_page,
)
from commonplace.toolsets.pages.rules.space import Space


def has_pages(store: Store, space: Space) -> bool:
    """Whether the folder of a space has any page."""
    for address in page_addresses(store):
        try:
            if isinstance(read_page(address, store.read(address), space.ids), PageText):
                return True
        except (NotFoundError, StorageError):
            continue
    return False


class PageReader:
    """The current pages of a folder.

    Args:
        store: The folder.
        space: The space file.
    """

    def __init__(self, store: Store, space: Space) -> None:
        self._store = store
        self._ids = space.ids
        pages: list[Page] = []
        unusable: list[UnusablePage] = []
        for address in page_addresses(store):
            try:
                page = read_page(address, store.read(address), self._ids)
            except NotFoundError:
                continue
            except StorageError as error:
                unusable.append(UnusablePage(address, str(error)))
                continue
            if isinstance(page, PageText):
                pages.append(page.page)
            elif page is not None:
                unusable.append(page)
        self.pages, repeated = pages_by_id(pages, space.paths)
        """Pages by id."""
        self.unusable = sorted([*unusable, *repeated], key=lambda page: page.address)
        self.flawed = flawed_pages(self.pages.values())

    def texts(self) -> Iterator[PageText]:
        """The pages with their texts, read again one by one; deleted pages and pages with a new id are omitted."""
        for page in self.pages.values():
            try:
                unusable_page = read_page(page.address, self._store.read(page.address), self._ids)
            except (NotFoundError, StorageError):
                continue
            if isinstance(unusable_page, PageText) and unusable_page.page.id == page.id:
                yield unusable_page
