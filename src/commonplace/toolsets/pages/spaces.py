"""The part of the composition root for synced spaces: selects their search engine.

Adapters are imported lazily, as in `bootstrap`.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.background_sync import watch_and_sync
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.private_files import private_folder
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import ServiceProvider, Services
from commonplace.settings import is_folder
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space
from commonplace.toolsets.pages.service import PAGES_KEY

if TYPE_CHECKING:
    from commonplace.settings import Settings
    from commonplace.toolsets.pages.engines.selection import EngineServer
    from commonplace.toolsets.pages.rules.queries import PageEngine
    from commonplace.toolsets.pages.service.pages import SpacePages


class SpaceApplication:
    """One synced space with its search engine, from opening to closing.

    Args:
        settings: The settings; `kb` names the folder.

    Raises:
        NotFoundError: kind "folder": there is no such folder; kind "space": the folder is not a synced space.
        ConfigError: several folders are named, or a file has an invalid value.
    """

    def __init__(self, settings: Settings) -> None:
        from commonplace.store import open_store
        from commonplace.toolsets.pages.service.pages import SpaceFile, SpacePages

        self._settings = settings
        for folder in (settings.cache_dir, settings.state_dir):
            with suppress(OSError):  # its first use says what is wrong
                private_folder(folder)
        store = open_store(_folder(settings), commit="manual", state_dir=settings.state_dir)
        self.space = SpaceFile(store)
        server = server_of(settings, self.space())
        self._closing = ExitStack()
        self._store = store
        self._own: list[Collection] = []
        if server is None:
            from commonplace.toolsets.pages.engines.selection import embedded_engine

            own = self._indexed()
            self._own.append(own)
            self.engine: PageEngine = embedded_engine(own.index, store, self.space)
        else:
            from commonplace.toolsets.pages.engines.selection import server_engine

            self.engine = server_engine(server, store, self.space)
        self._closing.callback(self.engine.close)
        pages = SpacePages(store, self.space, self.engine, _folder(settings), lambda: self._edited)
        provider = ServiceProvider(PAGES_KEY, lambda _: pages)
        self.services = Services(collections=Collections(lambda: self._own), providers=(provider,))

    @cached_property
    def _edited(self) -> Collection:
        """The collection of the pages; with a search server, one whose index has what this process edits."""
        return self._own[0] if self._own else self._indexed()

    def _indexed(self) -> Collection:
        from commonplace.index import open_index

        index = open_index(self._store, self._settings.cache_dir)
        self._closing.callback(index.close)
        return Collection(self._store.name, self._store, index)

    def start(self) -> None:
        """Start updating and watching the folder's own index, if it has one. Returns at once."""
        for collection in self._own:
            watch_and_sync(collection, self._closing, _folder(self._settings), self._settings.sweep)

    def sync(self) -> None:
        """Update the folder's own index, if it has one."""
        for collection in self._own:
            collection.index.sync()

    def close(self) -> None:
        """Stop watching and release all resources."""
        self._closing.close()


class Spaces:
    """The open collections that are synced spaces, each opened lazily.

    Args:
        settings: The settings.
        closing: Exit stack that closes the opened spaces.
    """

    def __init__(self, settings: Settings, closing: ExitStack) -> None:
        self._settings = settings
        self._closing = closing
        self._opening = threading.Lock()
        self._known: dict[str, SpacePages] = {}

    def of(self, collection: Collection) -> SpacePages | None:
        """A collection as a space; None if it is not a space."""
        with self._opening:
            if collection.store.stat(SPACE_FILE) is None:
                return None
            if collection.name not in self._known:
                self._known[collection.name] = self._open_space(collection)
            return self._known[collection.name]

    def as_proposer_has(self, collection: Collection, served: Collection) -> SpacePages | None:
        """A space with the changes of a proposal; its search is that of this process, by words.

        Args:
            collection: The collection of the proposer's call.
            served: The same one as it is served.
        """
        from commonplace.toolsets.pages.engines.selection import embedded_engine

        space = self.of(served)
        if space is None or collection.store.identity == served.store.identity:
            return space and replace(space, collection=lambda: collection)
        engine = embedded_engine(collection.index, collection.store, space.space)
        return replace(space, store=collection.store, engine=engine, collection=lambda: collection)

    def _open_space(self, collection: Collection) -> SpacePages:
        from commonplace.store.folder.folder_store import FolderStore
        from commonplace.toolsets.pages.engines.selection import embedded_engine, server_engine
        from commonplace.toolsets.pages.service.pages import SpaceFile, SpacePages

        space = SpaceFile(collection.store)
        server = server_of(self._settings, space())
        if server is None:
            engine = embedded_engine(collection.index, collection.store, space)
        else:
            engine = server_engine(server, collection.store, space)
        self._closing.callback(engine.close)
        store = collection.store
        folder = store.root if isinstance(store, FolderStore) else None
        return SpacePages(store, space, engine, folder, lambda: collection)


def server_of(settings: Settings, space: Space) -> EngineServer | None:
    """The requested search server; None for the embedded engine.

    Raises:
        ConfigError: the engine is unknown, or the user's own file is not a JSON object.
    """
    from commonplace.toolsets.pages.engines.selection import EngineRequest, server_for

    return server_for(EngineRequest(settings.engine, settings.search_url, settings.search_key), space, Path.home())


def _folder(settings: Settings) -> Path:
    folder, *others = settings.kb
    if others:
        raise ConfigError("A space is served alone: name one folder.", kind="kb")
    if not is_folder(folder):
        raise NotFoundError(f"There is no folder {folder.name!r}.", kind="folder")
    return folder.resolve()
