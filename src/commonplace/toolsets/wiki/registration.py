"""Registration of the toolset `wiki`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.changes import Author
from commonplace.domain.errors import ForbiddenError
from commonplace.domain.proposals import ServedView
from commonplace.registration import OpenContext, ToolsetRegistration
from commonplace.services.services import ServiceProvider, Services
from commonplace.toolsets.wiki.service import WIKI_KEY

if TYPE_CHECKING:
    from commonplace.services.collections import Collection
    from commonplace.settings import Settings
    from commonplace.toolsets.wiki.rules import Wiki


def is_remote(settings: Settings) -> bool:
    """Whether the wiki of another server is served: a server is configured, and no folder."""
    return settings.toolset == "wiki" and settings.wiki_url is not None and not settings.names_folders


def _folders(settings: Settings) -> Sequence[Path] | None:
    return () if is_remote(settings) else None


def _open_service(context: OpenContext) -> ServiceProvider[Wiki]:
    remote = _remote_wiki(context)
    cache = _WikiCache(context.settings)

    def wiki(services: Services) -> Wiki:
        if remote is not None and services.unrestricted:
            return remote
        for collection in services.collections:
            return cache.of(collection)
        raise ForbiddenError(
            "None of the collections that are served may be used with this key.",
            kind="collection",
            hint="Ask for a key that names a served collection.",
        )

    return ServiceProvider(WIKI_KEY, wiki)


def _remote_wiki(context: OpenContext) -> Wiki | None:
    settings = context.settings
    if not is_remote(settings) or settings.wiki_url is None:
        return None
    from commonplace.toolsets.wiki.remote.wiki import remote_wiki

    return remote_wiki(settings.wiki_url, settings.api_key or "", context.closing)


class _WikiCache:
    """The wiki of each collection, created once, because a wiki caches the notes that were read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._wikis: dict[int, tuple[Collection, Wiki]] = {}

    def of(self, collection: Collection) -> Wiki:
        """The wiki of a collection, the same object in every call."""
        if isinstance(collection.store, ServedView):  # a proposer's, for one call
            return _local_wiki(self._settings, collection)
        with self._lock:
            made = self._wikis.get(id(collection))
            if made is None:
                made = self._wikis[id(collection)] = (collection, _local_wiki(self._settings, collection))
            return made[1]


def _local_wiki(settings: Settings, collection: Collection) -> Wiki:
    from commonplace.toolsets.wiki.service.local import local_wiki
    from commonplace.toolsets.wiki.service.notes import WikiOptions

    author = None
    if settings.author_name or settings.author_email:
        author = Author(settings.author_name or "commonplace", settings.author_email or "commonplace@localhost")
    return local_wiki(collection, WikiOptions(author, retain_case=not collection.in_title_case()))


WIKI = ToolsetRegistration(
    name="wiki",
    mcp="commonplace.toolsets.wiki.mcp:WIKI",
    rest="commonplace.toolsets.wiki.rest.endpoints:WIKI_REST",
    excludes_others=is_remote,
    folders=_folders,
    opens=_open_service,
)
