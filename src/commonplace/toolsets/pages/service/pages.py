"""Search and page access of a space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.ports import Store
from commonplace.toolsets.pages.rules.nested_spaces import NestedSpaces, page_addresses
from commonplace.toolsets.pages.rules.page import PageText, is_page_path, read_page
from commonplace.toolsets.pages.rules.ports import PageEngine
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageQuery, checked
from commonplace.toolsets.pages.rules.space import Space


@dataclass(frozen=True, slots=True)
class SpacePages:
    """A space with its files, its current space file and its search engine."""

    store: Store
    space: Callable[[], Space]
    engine: PageEngine

    def search(self, query: PageQuery) -> PageAnswer:
        """Return the best matching pages.

        Raises:
            InvalidInputError: the query is empty.
            NotFoundError, UnavailableError, UnauthenticatedError: as for `PageEngine.search`.
        """
        return self.engine.search(checked(query))

    def at(self, path: str) -> PageText:
        """Return the page at a path relative to the space.

        Raises:
            InvalidInputError: the path is not that of a page in the space, or leads outside the space.
            NotFoundError: kind "page": there is no such page.
        """
        try:
            address = parse_address(path)
        except InvalidInputError:
            raise _no_page_path() from None
        if not is_page_path(address) or NestedSpaces(self.store).hold(address):
            raise _no_page_path()
        try:
            found = read_page(address, self.store.read(address), self.space().ids)
        except NotFoundError:
            if self._is_left_out(address):
                raise _no_page_path() from None
            raise _missing(path) from None
        if not isinstance(found, PageText):
            raise _no_page_path()
        return found

    def by_id(self, identifier: str) -> PageText:
        """Return the page with an id: from the space file's map, else by the id in the frontmatter.

        Raises:
            NotFoundError: kind "page": there is no such page.
        """
        indexed = self.engine.path_of(identifier)
        for path in (self.space().paths.get(identifier), indexed):
            found = self._page_at(path) if path else None
            if found and found.page.id == identifier:
                return found
        # An index in this process follows the folder. It names a path without the page only if it is not yet up to
        # date.
        may_be_elsewhere = self.engine.url is not None or indexed
        found = self._looked_up(identifier) if may_be_elsewhere else None
        if found is None:
            raise _missing(identifier)
        return found

    def _page_at(self, path: str) -> PageText | None:
        """The page at a recorded path; None if it no longer exists."""
        try:
            return self.at(path)
        except (InvalidInputError, NotFoundError):
            return None

    def _looked_up(self, identifier: str) -> PageText | None:
        """The page whose frontmatter has the id. Searches the files, because the index may be stale."""
        wanted, ids = identifier.encode(), self.space().ids
        for address in page_addresses(self.store):
            try:
                raw = self.store.read(address)
            except NotFoundError:
                continue
            found = read_page(address, raw, ids) if wanted in raw else None
            if isinstance(found, PageText) and found.page.id == identifier:
                return found
        return None

    def _is_left_out(self, address: Address) -> bool:
        """Whether the path or a folder above it is skipped: a link that leads outside, or not a regular file."""
        for _ in self.store.scan():
            pass
        above = address.path.split("/")
        prefixes = {"/".join(above[:count]) for count in range(1, len(above) + 1)}
        return any(path in prefixes for path, _ in self.store.skipped())


def _no_page_path() -> InvalidInputError:
    return InvalidInputError("path must be a Markdown page in the space", kind="path")


def _missing(name: str) -> NotFoundError:
    return NotFoundError(name, kind="page")
