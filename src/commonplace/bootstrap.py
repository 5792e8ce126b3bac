"""Puts the parts together: the only module that names concrete adapters.

They are imported where they are first needed, so that a server answers its client before it loads them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.background_sync import retry_until, watch_and_sync
from commonplace.domain.changes import Author
from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.services.collections import Collection, Collections
from commonplace.services.extensions import NO_EXTENSIONS
from commonplace.services.services import Services
from commonplace.settings import CURRENT_FOLDER, Settings
from commonplace.settings.folders import in_git, is_folder
from commonplace.settings.layers import layer_folders, layer_specs
from commonplace.spaces import Spaces

if TYPE_CHECKING:
    from commonplace.domain.cascade.foreign import ForeignGraph
    from commonplace.domain.cascade.manifest import LayerSpec
    from commonplace.domain.diagnostics import Diagnostic
    from commonplace.domain.ports import Progress
    from commonplace.domain.wiki import Wiki
    from commonplace.embed import EmbeddingService
    from commonplace.plugins.loader import Plugins
    from commonplace.services.cascade.cascade import Cascade
    from commonplace.services.cascade.layers import Layer
    from commonplace.services.extensions import Extensions
    from commonplace.services.projects.project_store import ProjectStore

PROJECTS_TOOLSET = "projects"
"""The toolset whose store is a folder of its own, made at the first start."""

log = logging.getLogger(__name__)


class Application:
    """The collections of one process from their opening to their closing.

    Args:
        folders: What to serve, in order.
        settings: How.

    Raises:
        NotFoundError: a folder is not there.
        StorageError: kind "folder": one cannot be looked at.
        ConfigError: commits are asked for where there is no Git repository; or the manifest is not valid.
    """

    def __init__(self, folders: Sequence[Path], settings: Settings) -> None:
        self._settings = settings
        self._closing = ExitStack()
        self._ending = threading.Lock()
        self._closed = False
        self._ended = threading.Event()
        self._current = 0
        """How many collections are kept current."""
        self._embedding: EmbeddingService | None = None
        specs = layer_specs(settings)
        projects = _LazyProjectStore(_projects_path(folders, settings), settings.state_dir, adopt=settings.adopt)
        self._closing.callback(projects.close)
        if is_remote(settings) or settings.toolset == PROJECTS_TOOLSET:
            folders = ()
        self._folders = [
            _checked_folder(folder, settings) for folder in (folders if specs is None else layer_folders(specs))
        ]
        collections = Collections(self._open)
        cascade = None if specs is None else self._cascade(specs, collections)
        self.services = Services(
            collections=collections,
            credit=settings.commit_client,
            cascade=cascade,
            wiki_of=_WikiCache(settings).of,
            remote_wiki=_remote_wiki(settings),
            open_projects=projects.store,
            open_space=Spaces(settings, self._closing).of,
        )

    def start(self) -> None:
        """Open everything, mend what a killed process left, index what changed, and keep watching.

        Returns after the first attempt; one that fails is made again beside everything else, until `close` is called.
        """
        retry_until(self._start, self._ended, "the start failed")

    def _start(self) -> None:
        if self._settings.toolset == PROJECTS_TOOLSET:
            logging.getLogger("commonplace").setLevel(self._settings.knowledge_log_level.upper())
            self.services.projects.upstream.start()
        members = self.services.collections.members
        for collection, folder in list(zip(members, self._folders, strict=True))[self._current :]:
            watch_and_sync(collection, self._closing, folder, self._settings.sweep)
            self._current += 1
        if self._embedding:
            self._embedding.serve()

    def sync(self, progress: Progress | None = None) -> None:
        """Bring every index up to date, before a single command is answered."""
        for collection in self.services.collections:
            collection.index.sync(progress)

    def close(self) -> None:
        """Stop watching and release every index, once; a second call returns when the first has done so."""
        self._ended.set()
        with self._ending:
            self._closing.close()
            if not self._closed:
                for collection in self.services.collections.opened:
                    collection.index.close()
            self._closed = True

    def _cascade(self, specs: Sequence[LayerSpec], collections: Collections) -> Cascade:
        from commonplace.domain.cascade.values import LayerRank
        from commonplace.services.cascade.cascade import Cascade
        from commonplace.services.cascade.foreign_layer import ForeignLayer
        from commonplace.services.cascade.layers import FolderLayer

        layers: list[Layer] = []
        late: dict[Path, _LazyLayer] = {}
        for order, spec in enumerate(specs):
            rank = LayerRank(spec.name, spec.level, order)
            if spec.source == "mcp":
                layers.append(ForeignLayer(rank, self._graph(spec)))
            else:
                real = Path(spec.path).resolve()
                there = real in self._folders
                at = partial(_collection_at, real, self._folders.index(real), collections) if there else None
                layers.append(FolderLayer(rank, at or late.setdefault(real, _LazyLayer(real, self._open_late_layer))))
        return Cascade(layers)

    def _graph(self, spec: LayerSpec) -> ForeignGraph:
        from commonplace.store.foreign.graph import StdioGraph

        graph = StdioGraph(spec.command)
        self._closing.callback(graph.close)
        return graph

    def _open(self) -> list[Collection]:
        opened: list[Collection] = []
        extensions = self._extensions()
        self._embedding = open_embedding(self._settings)
        with ExitStack() as undoing:
            if self._embedding:
                undoing.callback(self._embedding.close)
            for folder in self._folders:
                opened.append(self._collection(folder, opened, extensions))
                undoing.callback(opened[-1].index.close)
            undoing.pop_all()
        if self._embedding:
            self._closing.callback(self._embedding.close)
        return opened

    def _collection(self, folder: Path, opened: Sequence[Collection], extensions: Extensions) -> Collection:
        from commonplace.index import open_index
        from commonplace.services.typed_entries import declared_schema
        from commonplace.store import open_store

        store = open_store(folder, commit=self._settings.commit, state_dir=self._settings.state_dir)
        for repair in store.recover():
            log.warning("%s: %s", store.name, repair)
        name = _unique_name(declared_schema(store).name or store.name, opened)
        index = open_index(store, self._cache_dir())
        index.listen(partial(self.services.change_feed.publish, name))
        meaning = self._embedding and self._embedding.of(index, self._settings.cache_dir / store.identity)
        return Collection(name, store, index, extensions, meaning)

    def _open_late_layer(self, folder: Path) -> Collection:
        """A folder of a layer that was not there at the start: opened, indexed and watched now."""
        late = self._collection(folder, self.services.collections.members, self._extensions())
        self._closing.callback(late.index.close)
        late.index.sync()
        self._closing.enter_context(late.index.watch())
        return late

    def _cache_dir(self) -> Path:
        """Where the indexes live: links that are read another way have another index."""
        if not self._settings.label_first:
            return self._settings.cache_dir
        from commonplace.domain.markdown.link_syntax import set_label_first

        set_label_first(True)
        return self._settings.cache_dir / "pages-last"

    def _extensions(self) -> Extensions:
        if not self.plugins.loaded:
            return NO_EXTENSIONS
        from commonplace.plugins.service_extensions import extensions_of

        self._closing.callback(self.plugins.finish)
        self.plugins.faults.store_in(self._settings.state_dir)
        config = {"tier": self._settings.tier, "commit": self._settings.commit}
        return extensions_of(self.plugins, config, lambda: self.services.collections)

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins of this process, loaded once."""
        from commonplace.plugins.loader import installed_plugins

        return installed_plugins()


class _LazyProjectStore:
    """The one store of projects, opened when it is first needed."""

    def __init__(self, path: Path, state_dir: Path, *, adopt: bool) -> None:
        self._path = path
        self._state_dir = state_dir
        self._adopt = adopt
        self._opening = threading.Lock()
        self._store: ProjectStore | None = None
        self._closing = ExitStack()

    def store(self) -> ProjectStore:
        """The open store."""
        from commonplace.services.projects.project_store import IDENTITY, ProjectStore
        from commonplace.store.remote.setup import open_project_store

        with self._opening:
            if self._store is None:
                opened = open_project_store(self._path, self._state_dir, IDENTITY, adopt=self._adopt)
                self._closing.callback(opened.origin.close)
                self._closing.callback(opened.activity.close)
                self._store = ProjectStore(
                    str(opened.path), opened.store, opened.folders, opened.origin, opened.activity
                )
            return self._store

    def close(self) -> None:
        """Write the last lines of the log and let a pending push end."""
        self._closing.close()


def _projects_path(folders: Sequence[Path], settings: Settings) -> Path:
    if settings.toolset != PROJECTS_TOOLSET or folders is CURRENT_FOLDER:
        return settings.knowledge_home.expanduser()
    if len(folders) > 1:
        raise ConfigError("Projects have one store: name one folder.", kind="kb")
    return folders[0]


def _collection_at(folder: Path, place: int, collections: Collections) -> Collection | None:
    """The collection of a layer's folder, which several layers can share; None while the folder is not there."""
    return collections.members[place] if os.path.isdir(folder) else None


class _LazyLayer:
    """The collection of a layer's folder that was not there at the start; None while it is not."""

    def __init__(self, folder: Path, opened: Callable[[Path], Collection]) -> None:
        self._folder = folder
        self._open = opened
        self._opening = threading.Lock()
        self._collection: Collection | None = None

    def __call__(self) -> Collection | None:
        if not os.path.isdir(self._folder):
            return None
        with self._opening:
            if self._collection is None:
                log.info("the folder %r of a layer is there now", self._folder.name)
                self._collection = self._open(self._folder)
            return self._collection


def open_embedding(settings: Settings) -> EmbeddingService | None:
    """The model that the settings choose; None where search by meaning is switched off.

    Raises:
        ConfigError: a server is named and its model is not.
    """
    if not settings.embed:
        return None
    from commonplace.embed import EmbeddingService, ModelChoice

    if settings.embedding_url and not settings.embedding_model:
        raise ConfigError("An embedding_url is set, and no embedding_model.", kind="setting", hint="Set both.")
    return EmbeddingService(
        ModelChoice(
            models=settings.model_dir,
            folder=settings.model,
            url=settings.embedding_url or "",
            model=settings.embedding_model or "",
            key=settings.embedding_key or "",
        )
    )


def install_model(settings: Settings, source: Path | None, anew: bool, say: Callable[[str], None]) -> str:
    """Install the model for searching by meaning, unless it is there and whole; its name.

    Args:
        settings: Say where.
        source: The published weights as a file; None to download them.
        anew: Whether to install it even where it is.
        say: Told what is being done, a line each.

    Raises:
        ConfigError, UnavailableError, StorageError: kind "model": why it cannot be.
    """
    from commonplace.embed.model.installer import install_model as install
    from commonplace.embed.model.libraries import SEARCH_LIBRARIES, require_libraries
    from commonplace.embed.model.model_folder import MODEL, installed

    if anew or source or not installed(settings.model_dir):
        install(settings.model_dir, source, say)
    require_libraries(SEARCH_LIBRARIES)
    return MODEL


def git_command() -> Diagnostic:
    """What there is to say of the git command."""
    from commonplace.store import diagnostics

    return diagnostics.git_command()


def diagnose(folder: Path, settings: Settings) -> Iterator[Diagnostic]:
    """What there is to say of one folder's repository and locks."""
    from commonplace.store import diagnostics

    return diagnostics.diagnose(folder, settings.state_dir)


def is_remote(settings: Settings) -> bool:
    """Whether the wiki of another server is served: where no folder is named, and a server is."""
    return settings.toolset == "wiki" and settings.wiki_url is not None and not settings.names_folders


def _remote_wiki(settings: Settings) -> Wiki | None:
    if not is_remote(settings) or settings.wiki_url is None:
        return None
    from commonplace.store.rest.wiki import remote_wiki

    return remote_wiki(settings.wiki_url, settings.api_key or "")


class _WikiCache:
    """Each collection as a wiki, made once: a wiki caches the notes that were read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._wikis: dict[int, tuple[Collection, Wiki]] = {}

    def of(self, collection: Collection) -> Wiki:
        """The wiki of a collection, which is the same object in every call."""
        with self._lock:
            made = self._wikis.get(id(collection))
            if made is None:
                made = self._wikis[id(collection)] = (collection, _local_wiki(self._settings, collection))
            return made[1]


def _local_wiki(settings: Settings, collection: Collection) -> Wiki:
    from commonplace.services.wiki.local import local_wiki
    from commonplace.services.wiki.notes import WikiOptions

    author = None
    if settings.author_name or settings.author_email:
        author = Author(settings.author_name or "commonplace", settings.author_email or "commonplace@localhost")
    return local_wiki(collection, WikiOptions(author, retain_case=settings.retain_page_name_case))


def _unique_name(name: str, opened: Sequence[Collection]) -> str:
    taken = {collection.name for collection in opened}
    number = 2
    unused = name
    while unused in taken:
        unused = f"{name}-{number}"
        number += 1
    return unused


def _checked_folder(folder: Path, settings: Settings) -> Path:
    if not is_folder(folder):
        raise NotFoundError(f"There is no folder {folder.name!r}.", kind="folder", hint="Name one that exists.")
    if settings.commit == "auto" and not in_git(folder):
        raise ConfigError(
            f"Commits were asked for, but {folder.name!r} is in no Git repository.",
            kind="commit",
            hint="Run `git init` there, or leave out --commit auto.",
        )
    return folder.resolve()
