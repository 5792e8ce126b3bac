"""Registration of the toolset `projects`."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import Context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError
from commonplace.registration import OpenContext, ToolsetRegistration
from commonplace.services.services import ServiceProvider, Services
from commonplace.settings import CURRENT_FOLDER
from commonplace.toolsets.projects.service import PROJECTS_KEY

if TYPE_CHECKING:
    from commonplace.domain.merge import FileMerge
    from commonplace.domain.ports import Store
    from commonplace.domain.proposals import ProposalBranches
    from commonplace.services.collections import Collection
    from commonplace.settings import Settings
    from commonplace.toolsets.projects.service.project_store import ProjectStore

NAME = "projects"


class _LazyProjectStore:
    """The store of projects, opened lazily."""

    def __init__(self, context: OpenContext) -> None:
        settings = context.settings
        self._context = context
        self._path = _store_folder(context.named, settings)
        self._state_dir = settings.state_dir
        self._adopt = settings.adopt
        self._collection: Collection | None = None
        self._opening = threading.Lock()
        self._store: ProjectStore | None = None
        self._closing = ExitStack()

    def __call__(self, services: Services) -> ProjectStore:
        """The open store.

        Raises:
            NotFoundError: the caller may use only some collections, which excludes the store.
        """
        if not services.unrestricted:
            raise NotFoundError("No store of projects is served here.", kind="collection")
        from commonplace.toolsets.projects.remote.setup import open_project_store
        from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore

        with self._opening:
            if self._store is None:
                opened = Context().run(open_project_store, self._path, self._state_dir, IDENTITY, adopt=self._adopt)
                self._closing.callback(opened.origin.close)
                self._closing.callback(opened.activity.close)
                self._store = ProjectStore(
                    str(opened.path),
                    opened.store,
                    opened.folders,
                    opened.origin,
                    opened.activity,
                    partial(_branches, opened.store),
                )
            return self._store

    @property
    def is_listed(self) -> bool:
        """Whether its proposals are listed: those of the server's own store, and of one that a call has used."""
        return self._context.settings.toolset == NAME or self._collection is not None

    def collection(self, services: Services) -> Collection:
        """The store as a collection in which each acceptance is a commit."""
        projects = self(services)
        with self._opening:
            if self._collection is None:
                # In a context of its own, because opening it is not the act of the caller.
                opened = Context().run(self._context.open_collection, Path(projects.path))
                opened.index.listen(lambda _addresses, _listing: projects.upstream.committed())
                self._collection = replace(opened, store=opened.store.committing())
            return self._collection

    def over(self, services: Services, collection: Collection) -> ProjectStore:
        """The projects with the changes of a proposal."""
        return self(services).over(collection.store)

    def close(self) -> None:
        """Write the last lines of the log and wait for a pending push."""
        self._closing.close()


def _is_store(settings: Settings) -> bool:
    """Whether the only named folder is a store of projects."""
    if settings.kb is CURRENT_FOLDER or len(settings.kb) != 1:
        return False
    folder = settings.kb[0]
    return os.path.isfile(folder / "index.json") and os.path.isdir(folder / "projects")


def _folders(settings: Settings) -> Sequence[Path] | None:
    return () if settings.toolset == NAME else None


def _store_folder(named: Sequence[Path], settings: Settings) -> Path:
    if settings.toolset != NAME or named is CURRENT_FOLDER:
        return settings.knowledge_home.expanduser()
    if len(named) > 1:
        raise ConfigError("Projects have one store: name one folder.", kind="kb")
    return named[0]


def _store_refusal(settings: Settings) -> str:
    from commonplace.toolsets.projects.remote.store_check import require_store
    from commonplace.toolsets.projects.service.project_store import IDENTITY

    try:
        require_store(_store_folder(settings.kb, settings), IDENTITY, adopt=settings.adopt)
    except ConfigError as error:
        return error.advice
    except KnowledgeError:  # the error may be gone when a client calls
        return ""
    return ""


def _open_service(context: OpenContext) -> ServiceProvider[ProjectStore]:
    store = _LazyProjectStore(context)
    context.closing.callback(store.close)
    return ServiceProvider(PROJECTS_KEY, store, store)


def _branches(store: Store) -> ProposalBranches | None:
    from commonplace.domain.proposals import StoreWithProposals

    return store.proposals if isinstance(store, StoreWithProposals) else None


def _merges(store: Store) -> FileMerge | None:
    """The merge of files of a store of projects; None for another folder."""
    if store.stat(Address("index.json")) is None or "projects" not in store.folders(""):
        return None
    from commonplace.toolsets.projects.rules.merge import merge_proposed

    return merge_proposed


def _is_served(settings: Settings) -> bool:
    """Whether the settings select this toolset. Other servers have its tools, but not its web pages."""
    return settings.toolset == NAME


def _start(services: Services, settings: Settings) -> None:
    logging.getLogger("commonplace").setLevel(settings.knowledge_log_level.upper())
    services.of(PROJECTS_KEY).upstream.start()


PROJECTS = ToolsetRegistration(
    name=NAME,
    mcp="commonplace.toolsets.projects.mcp:PROJECTS",
    web="commonplace.toolsets.projects.web:PROJECT_PAGES",
    has_web=_is_served,
    commands={"projects": "commonplace.toolsets.projects.cli"},
    confined=False,
    detects=_is_store,
    folders=_folders,
    store_folder=_store_folder,
    store_refusal=_store_refusal,
    opens=_open_service,
    merges=_merges,
    starts=_start,
)
