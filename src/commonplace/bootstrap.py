"""The composition root: the only module that names concrete adapters.

Adapters are imported where they are first needed, so that a server answers its client before it loads them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.background_sync import retry_until, watch_and_sync
from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError
from commonplace.domain.private_files import private_folder
from commonplace.registration import (
    OpenContext,
    file_merge,
    followed_remotes,
    registered,
    served_folders,
    store_folder,
)
from commonplace.services.collections import Collection, Collections, unique_name
from commonplace.services.extensions import NO_EXTENSIONS
from commonplace.services.services import Services
from commonplace.settings import Settings, in_git, is_folder
from commonplace.store.activity_log import FileAccessLog, FileHourlyUses

if TYPE_CHECKING:
    from commonplace.domain.activity import AccessLog
    from commonplace.domain.cluster import SharedBase
    from commonplace.domain.findings import Diagnostic
    from commonplace.domain.ports import Index, Progress, Store
    from commonplace.domain.semantic import Reranker, SemanticIndex
    from commonplace.domain.sources import SourceReader
    from commonplace.domain.status import Status
    from commonplace.embed import EmbeddingService
    from commonplace.index.local import LocalIndex
    from commonplace.index.process import OtherProcesses
    from commonplace.plugins.loader import Plugins
    from commonplace.replication import Follower
    from commonplace.services.cluster import Tailer
    from commonplace.services.extensions import Extensions
    from commonplace.shared_engine import SharedEngine

log = logging.getLogger(__name__)

FIRST_CALL_WAIT_SECONDS = 1.0
"""Timeout in seconds for the indexes, before modules for later calls are loaded."""
FIRST_CALL_SECONDS = 0.1
"""Seconds reserved for answering a call that has waited for the indexes."""


class Application:
    """The open collections and services of one process, from start-up to shutdown.

    Args:
        folders: The folders to serve, in order.
        settings: The settings.
        followers: The replicas, by the folder of their clone. They may be among `folders` or served in addition.

    Raises:
        NotFoundError: a folder does not exist.
        StorageError: kind "folder": a folder cannot be accessed.
        ConfigError: commits are requested without a Git repository; the manifest is invalid; or settings of the search
            cluster are invalid.
    """

    def __init__(
        self, folders: Sequence[Path], settings: Settings, followers: Mapping[Path, Follower] | None = None
    ) -> None:
        self.settings = settings
        self._followers = dict(followers or {})
        self._tailers: dict[Path, Tailer] = {}
        self._closing = ExitStack()
        self._ending = threading.Lock()
        self._closed = False
        self._ended = threading.Event()
        self._current = 0
        """Number of collections whose watching has started."""
        self._embedding: EmbeddingService | None = None
        self._folders = [_checked_folder(folder, settings) for folder in served_folders(folders, settings)]
        self._folders += [clone for clone in self._followers if clone not in self._folders]
        if self._followers:
            _ = self._cluster  # reports invalid settings at the start, not at the first search
        collections = Collections(self._open)
        context = OpenContext(
            settings=settings,
            named=folders,
            folders=self._folders,
            collections=collections,
            open_collection=self._open_late_folder,
            follow=self._follow,
            closing=self._closing,
        )
        self.services = Services(
            collections=collections,
            credit=settings.commit_client,
            confirm=settings.confirm,
            activity=open_activity(settings),
            uses=FileHourlyUses(settings.state_dir / "activity"),
            take_once=partial(_take_once, settings.state_dir),
            reader=self._source_reader,
            providers=tuple(
                registration.opens(context) for registration in registered() if registration.opens is not None
            ),
        )

    def _source_reader(self) -> SourceReader:
        from commonplace.outside.conversion import SourceAdapter  # a server answers before it loads what few calls need

        return SourceAdapter(allow_private=self.settings.source_private)

    @property
    def follows_remotes(self) -> bool:
        """Whether the application has replicas."""
        return bool(self._followers)

    def start(self) -> None:
        """Open everything, recover interrupted writes, index changes, and watch the folders.

        Returns after the first attempt. If it fails, it is retried in the background until `close` is called.
        """
        retry_until(self._start, self._ended, "the start failed")

    def wait_idle(self) -> None:
        """Wait at most a second for indexes that are soon ready, and then for the first call that has waited for them.

        Imports in the background would compete with that call for the interpreter.
        """
        with suppress(KnowledgeError, OSError):  # `start` reports why a folder cannot be opened
            self.services.collections.wait_soon_ready(FIRST_CALL_WAIT_SECONDS)
        self._ended.wait(FIRST_CALL_SECONDS)

    def _start(self) -> None:
        for registration in registered():
            if registration.starts is not None and registration.name == self.settings.toolset:
                registration.starts(self.services, self.settings)
        members = self.services.collections.members
        for collection, folder in list(zip(members, self._folders, strict=True))[self._current :]:
            if folder in self._followers:
                self._followers[folder].start(collection.index, self._closing, self._tailers.get(folder))
            else:
                watch_and_sync(collection, self._closing, folder, self.settings.sweep)
            self._current += 1
        if self._embedding:
            self._embedding.serve(self.wait_idle)

    def wait_indexed(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the first sync of all collections. Returns whether all have ended."""
        try:
            self.services.collections.wait_ready(timeout, lambda _done, _total: None)
        except (KnowledgeError, OSError):  # `start` reports why a folder cannot be opened
            return False
        return True

    def fetch(self) -> list[str]:
        """Fetch the remotes of all replicas, before a single command.

        Returns:
            A message for each remote that could not be read, if it has an earlier state or is a layer.

        Raises:
            UnavailableError: a remote that is not a layer was never read before and cannot be read now.
        """
        return [problem for follower in self._followers.values() if (problem := follower.fetch_once())]

    def sync(self, progress: Progress | None = None) -> None:
        """Bring all indexes up to date, before a single command."""
        for collection in self.services.collections:
            collection.index.sync(progress)

    def close(self) -> None:
        """Stop watching and close all indexes. A second call returns after the first has finished."""
        self._ended.set()
        with self._ending:
            self._closing.close()
            if not self._closed:
                for collection in self.services.collections.opened:
                    collection.index.close()
            self._closed = True

    def _open(self) -> list[Collection]:
        opened: list[Collection] = []
        extensions = self._extensions()
        self._embedding = open_embedding(self.settings)
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
        from commonplace.domain.markdown.link_sides import page_side
        from commonplace.index import open_past, open_proposals
        from commonplace.store import open_store

        follower = self._followers.get(folder)
        if follower is None:
            settings = self.settings
            store = open_store(
                folder, commit=settings.commit, state_dir=settings.state_dir, cache_dir=self._cache_dir()
            )
        else:
            store = follower.store()
        for repair in store.recover():
            log.warning("%s: %s", store.name, repair)
        name, others = self._names(store, follower, opened)
        in_title_case = cache(partial(self._is_in_title_case, store))
        index = self._index(store, in_title_case)
        past = open_past(store, self._cache_dir(), page_side(self.settings.wikilink_style), in_title_case)
        if past is not None:
            self._closing.callback(past.close)
        proposals = open_proposals(store, index, self._cache_dir(), partial(self._new_index, in_title_case))
        if proposals is not None:
            self._closing.callback(proposals.close)
        index.listen(partial(self.services.change_feed.publish, name))
        searched: Index = index
        base: SharedBase | None = None
        if self._cluster and follower:
            base = self._cluster.base(name, follower)
            searched, self._tailers[folder] = self._cluster.searched(base, follower, index)
        meaning = self._meaning(index, store, base)
        return Collection(
            name,
            store,
            searched,
            extensions,
            meaning,
            past,
            proposals,
            follower,
            reranker=self._reranker,
            other_names=others,
            in_title_case=in_title_case,
            status_names=self._status_names,
            merge_file=file_merge(store),
        )

    def _names(
        self, store: Store, follower: Follower | None, opened: Sequence[Collection]
    ) -> tuple[str, frozenset[str]]:
        """The name of a collection, and other names that mean it.

        Keys and writes refer to names. With several remotes, a push must not give one collection another's name.
        """
        from commonplace.domain.schema import declared_schema

        declared = "" if follower and len(self.settings.replica_of) > 1 else declared_schema(store).name
        name = unique_name(declared or store.name, opened)
        return name, frozenset({declared, store.name}) - {"", name}

    def _is_in_title_case(self, store: Store) -> bool:
        from commonplace.domain.graphs import has_lower_case_names

        retains = self.settings.retain_page_name_case
        if retains is not None:
            return not retains
        pages = [address.name for address, _ in store.files("") if address.is_document]
        return has_lower_case_names(pages, store.folders(""))

    @cached_property
    def _status_names(self) -> Mapping[str, Status]:
        """Statuses by the names that pages use."""
        from commonplace.domain.status import status_names

        try:
            return status_names(self.settings.status_names)
        except ValueError as error:
            raise ConfigError(
                f"Invalid status name {str(error)!r}.",
                kind="setting",
                hint="status_names are pairs such as outdated=superseded.",
            ) from error

    def _meaning(self, index: LocalIndex, store: Store, base: SharedBase | None) -> SemanticIndex | None:
        """The semantic index of a collection; None if search by meaning is switched off."""
        if self._embedding is None:
            return None
        if base and base.meaning and self._cluster:
            return self._embedding.shared(self._cluster.vectors, base)
        return self._embedding.of(index, self.settings.cache_dir / store.identity)

    @cached_property
    def _reranker(self) -> Reranker | None:
        settings = self.settings
        if not settings.rerank_url:
            return None
        from commonplace.embed import open_reranker

        return open_reranker(settings.rerank_url, settings.rerank_model or "", settings.rerank_key or "")

    @cached_property
    def _cluster(self) -> SharedEngine | None:
        """The search cluster of the replicas; None if none is set. Layers are searched without a cluster."""
        if not (self.settings.engine_url and self.settings.replica_of):
            return None
        from commonplace.shared_engine import SharedEngine

        cluster = SharedEngine(self.settings)
        self._closing.callback(cluster.close)
        return cluster

    def _open_late_folder(self, folder: Path) -> Collection:
        """Open, index and watch a folder that did not exist at the start, or a clone without a follower."""
        late = self._collection(folder, self.services.collections.members, self._extensions())
        self._closing.callback(late.index.close)
        late.index.sync()
        if folder in self._followers:
            self._followers[folder].start(late.index, self._closing)
        else:
            self._closing.enter_context(late.index.watch())
        return late

    def _follow(self, remote: str) -> Path:
        from commonplace.replication import open_layer_follower

        follower = open_layer_follower(remote, self.settings)
        self._followers.setdefault(follower.clone.path, follower)
        return follower.clone.path

    def _index(self, store: Store, in_title_case: Callable[[], bool]) -> LocalIndex:
        from commonplace.index import open_index

        return self._opened_index(partial(open_index, store, self._cache_dir(), in_title_case=in_title_case))

    def _new_index(self, in_title_case: Callable[[], bool], store: Store, folder: Path) -> LocalIndex:
        """The index of a store in a folder of its own."""
        from commonplace.index.local import LocalIndex

        return self._opened_index(partial(LocalIndex, store, folder, in_title_case=in_title_case))

    def _opened_index(self, create: Callable[..., LocalIndex]) -> LocalIndex:
        """An index with these settings: its links, and the reader's language."""
        from commonplace.domain.markdown.link_sides import page_side
        from commonplace.domain.sites import language_of

        settings = self.settings
        try:
            language = settings.language or language_of(os.environ)
            return create(settings.link_roots, language, page_side(settings.wikilink_style))
        except ValueError as error:
            raise ConfigError(
                f"Invalid link root {str(error)!r}.",
                kind="setting",
                hint="link_roots are pairs such as /=src and /docs/=guide, or none alone.",
            ) from error

    def _cache_dir(self) -> Path:
        """Folder of the indexes. With the setting `also_read`, a separate folder is used."""
        from commonplace.domain.addresses import read_also

        folder, also = self.settings.cache_dir, self.settings.also_read
        if also:
            read_also(also)
            folder /= f"also-{sha256(' '.join(sorted(also)).encode()).hexdigest()[:12]}"
        return folder

    def _extensions(self) -> Extensions:
        if not self.plugins.loaded:
            return NO_EXTENSIONS
        from commonplace.plugins.service_extensions import extensions_of

        self._closing.callback(self.plugins.finish)
        self.plugins.faults.store_in(self.settings.state_dir)
        config = {"tier": self.settings.tier, "commit": self.settings.commit}
        return extensions_of(self.plugins, config, lambda: self.services.collections)

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins of this process, loaded on first use."""
        from commonplace.plugins.loader import installed_plugins

        return installed_plugins()


def share_updates(others: OtherProcesses) -> None:
    """Let the indexes of this process wait for index updates of other processes that serve the same folders."""
    from commonplace.index import process

    process.share_updates(others)


def open_application(folders: Sequence[Path], settings: Settings) -> Application:
    """Open the replicas of `replica_of`, else the folders and remote layers. Makes no network call.

    Raises:
        KnowledgeError: same as `Application` and `replication.open_followers`.
    """
    for folder in (settings.cache_dir, settings.state_dir):
        with suppress(OSError):  # its first use says what is wrong
            private_folder(folder)
    remotes = followed_remotes(settings)
    if not remotes:
        return Application(folders, settings)
    from commonplace.replication import open_followers, open_layer_follower

    if not settings.replica_of:
        layers = [open_layer_follower(remote, settings) for remote in remotes]
        return Application(folders, settings, {follower.clone.path: follower for follower in layers})
    followers = open_followers(settings)
    served = replace(settings, kb=tuple(followers), commit="manual", manifest=None, personal=None, shared=None)
    return Application(served.kb, served, followers)


def open_activity(settings: Settings) -> AccessLog:
    """The log of reads and writes on this machine."""
    return FileAccessLog(settings.state_dir / "activity", audit=settings.state_dir / "audit")


def back_up(settings: Settings, file: Path, restore: bool) -> Sequence[str]:
    """Write a backup of what is in no remote, or restore it; see `store.backup`."""
    from commonplace.settings import config_file
    from commonplace.store import backup

    further = {backup.SETTINGS: config_file()[0], **({backup.KEYS: settings.keys} if settings.keys else {})}
    folders = [] if settings.replica_of else [folder for folder in settings.kb if folder.is_dir()]
    act = backup.restore_backup if restore else backup.write_backup
    return act(file, settings.state_dir, further, folders)


def open_embedding(settings: Settings) -> EmbeddingService | None:
    """The embedding service for the chosen model; None if semantic search is switched off.

    Raises:
        ConfigError: a server is set without its model.
    """
    if not settings.embed:
        return None
    from commonplace.embed import EmbeddingService, ModelChoice

    if settings.embedding_url and not settings.embedding_model:
        raise ConfigError("An embedding_url is set, but no embedding_model.", kind="setting", hint="Set both.")
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
    """Install the model for semantic search, unless it is installed and undamaged; returns its name.

    Args:
        settings: Settings with the model's folder.
        source: The published weights as a file; None to download them.
        anew: Whether to install it even if it is installed and undamaged.
        say: Called with a line of text for each step.

    Raises:
        ConfigError, UnavailableError, StorageError: kind "model": installation failed.
    """
    from commonplace.domain.errors import SEARCH_LIBRARIES, require_libraries
    from commonplace.embed.installer import MODEL, installed
    from commonplace.embed.installer import install_model as install

    if anew or source or not installed(settings.model_dir):
        install(settings.model_dir, source, say)
    require_libraries(SEARCH_LIBRARIES)
    return MODEL


def git_command() -> Diagnostic:
    """Check the git command."""
    from commonplace.store import discovery

    return discovery.git_command()


def diagnose_clones(settings: Settings) -> Iterator[Diagnostic]:
    """Check the clones of replicas."""
    from commonplace.store import discovery

    return discovery.diagnose_clones(settings.cache_dir / "replicas")


def diagnose(folder: Path, settings: Settings) -> Iterator[Diagnostic]:
    """Check one folder's repository and locks."""
    from commonplace.store import discovery

    return discovery.diagnose(folder, settings.state_dir)


def _take_once(state_dir: Path, purpose: str, value: str, until: float) -> bool:
    from commonplace.faces.access.used_once import UsedOnce  # not needed for a first answer

    return UsedOnce(state_dir).take(purpose, value, until)


def _checked_folder(folder: Path, settings: Settings) -> Path:
    if not is_folder(folder):
        raise NotFoundError(f"There is no folder {folder.name!r}.", kind="folder", hint="Name one that exists.")
    if settings.commit == "auto" and not in_git(folder):
        raise ConfigError(
            f"Commits were requested, but {folder.resolve().name!r} is not in a Git repository.",
            kind="commit",
            hint="Run `git init` there, or omit --commit auto.",
        )
    return folder.resolve()


def proposal_refusal(settings: Settings) -> str:
    """The reason why nothing can be proposed at the tier of the settings, with a remedy; "" if it can, or need not."""
    from commonplace.store.git.layout import find_repository

    if settings.tier != "propose" or settings.replica_of or store_folder(settings.kb, settings) is not None:
        return ""
    without = [folder.name for folder in settings.kb if folder.is_dir() and find_repository(folder) is None]
    names = ", ".join(without)
    return f"{names}: no proposals without a Git repository. Run git init in it, and serve it again." if names else ""
