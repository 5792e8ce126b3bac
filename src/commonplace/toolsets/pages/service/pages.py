"""Search and page access of a space."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.services.collections import Collection
from commonplace.toolsets.pages.rules.page import (
    NestedSpaces,
    Page,
    PageText,
    is_page_path,
    page_addresses,
    page_from,
    read_page,
)
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageEngine, PageQuery, checked
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space, no_space, parse_space


@dataclass(frozen=True, slots=True)
class SpacePages:
    """A space with its files, its current space file and its search engine."""

    store: Store
    space: Callable[[], Space]
    engine: PageEngine
    folder: Path | None = None
    """The space's folder; None if its files are in no folder."""
    collection: Callable[[], Collection] | None = None
    """Returns the collection through which pages are edited."""

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
            page = read_page(address, self.store.read(address), self.space().ids)
        except NotFoundError:
            if self._is_left_out(address):
                raise _no_page_path() from None
            raise _missing(path) from None
        if not isinstance(page, PageText):
            raise _no_page_path()
        return page

    def by_id(self, identifier: str) -> PageText:
        """Return the page with an id: from the space file's map, else by the id in the frontmatter.

        Raises:
            NotFoundError: kind "page": there is no such page.
        """
        indexed = self.engine.path_of(identifier)
        for path in (self.space().paths.get(identifier), indexed):
            page = self._page_at(path) if path else None
            if page and page.page.id == identifier:
                return page
        # An index in this process follows the folder. It names a path without the page only if it is not yet up to
        # date.
        may_be_elsewhere = self.engine.url is not None or indexed
        found_id = self._looked_up(identifier) if may_be_elsewhere else None
        if found_id is None:
            raise _missing(identifier)
        return found_id

    def _page_at(self, path: str) -> PageText | None:
        """The page at a recorded path; None if it no longer exists."""
        try:
            return self.at(path)
        except (InvalidInputError, NotFoundError):
            return None

    def _looked_up(self, identifier: str) -> PageText | None:
        """The page whose frontmatter has the id. Searches the files, because the index may be stale."""
        wanted_identifier, ids = identifier.encode(), self.space().ids
        for address in page_addresses(self.store):
            try:
                raw = self.store.read(address)
            except NotFoundError:
                continue
            page = read_page(address, raw, ids) if wanted_identifier in raw else None
            if isinstance(page, PageText) and page.page.id == identifier:
                return page
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


# The spaces from which collections were synced, and the original of each page.


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
                found_pair = self._known.get(key)
                if found_pair is None or found_pair[0] != stat:
                    found_pair = self._known[key] = (stat, SpaceFile(collection.store)())
            return found_pair[1]
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


# The space file of a folder, reloaded after changes.


log = logging.getLogger(__name__)


class SpaceFile:
    """The current space file. Each call checks the file's stat data and reloads the file if it has changed.

    Args:
        store: The folder.

    Raises:
        NotFoundError: kind "space": there is no space file.
        ConfigError, StorageError: the file cannot be read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._stat: FileStat | None = store.stat(SPACE_FILE)
        self._space = _read(store)

    def __call__(self) -> Space:
        """The space; its last valid state if the file is missing or unreadable, for example during a write."""
        with self._lock:
            try:
                stat = self._store.stat(SPACE_FILE)
                if stat != self._stat:
                    self._space, self._stat = _read(self._store), stat
            except KnowledgeError as error:
                log.info("%s: the space file was not taken over: %s", self._store.name, error)
            return self._space


def _read(store: Store) -> Space:
    try:
        raw = store.read(SPACE_FILE)
    except NotFoundError:
        raise no_space() from None
    try:
        return parse_space(raw.decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{SPACE_FILE} is not a JSON object: it is not valid UTF-8.", kind="space") from None
