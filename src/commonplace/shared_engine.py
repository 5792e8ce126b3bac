"""The search cluster of a process: the replicas that it indexes, and the work of `embed-worker`."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, cast

from commonplace.domain.cluster import SharedBase
from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.index import open_cluster
from commonplace.services.cluster import SharedSearch, Tailer
from commonplace.settings import Settings

if TYPE_CHECKING:
    from commonplace.embed import EmbeddingService
    from commonplace.index.local import LocalIndex
    from commonplace.replication import Follower

log = logging.getLogger(__name__)

WORKER_PAUSE = 2.0
"""Pause in seconds of an idle worker."""
ALL = "*"


class SharedEngine:
    """The search cluster of `engine_url`. Makes no network call yet.

    Args:
        settings: The settings.

    Raises:
        ConfigError: kind "engine": no cluster is set, a setting is invalid, or the client is not installed.
    """

    def __init__(self, settings: Settings) -> None:
        if not settings.engine_url:
            raise ConfigError("No search cluster is set.", kind="engine", hint="Set engine_url, or give --engine-url.")
        self._with_vectors = settings.engine_vectors
        self._cluster = open_cluster(
            settings.engine_url,
            settings.engine_prefix,
            settings.engine_user or "",
            settings.engine_password or "",
            settings.engine_ca,
        )
        self.vectors = self._cluster.vectors
        self.work = self._cluster.work
        self.close = self._cluster.close

    def base(self, name: str, follower: Follower) -> SharedBase:
        """The description of a replica in the cluster."""
        chosen = name in self._with_vectors or ALL in self._with_vectors
        return SharedBase(name, follower.clone.source.key, meaning=chosen)

    def searched(self, base: SharedBase, follower: Follower, index: LocalIndex) -> tuple[Index, Tailer]:
        """An index whose searches are sent to the cluster, and the updater of the cluster's index."""
        tailer = Tailer(base, follower.clone, index, self._cluster.reader, self._cluster.writer)
        return cast("Index", SharedSearch(index, self._cluster.reader, tailer)), tailer


def run_worker(
    settings: Settings,
    embedding: EmbeddingService | None,
    names: Collection[str],
    once: bool,
    tell: Callable[[str], None],
) -> int:
    """Embed documents without vectors in the cluster, in parallel with other workers. Returns the number of chunks.

    Args:
        settings: The settings.
        embedding: The embedding service; None if semantic search is switched off, which is an error.
        names: Names of the collections; empty for all.
        once: Whether to end when all documents have vectors; otherwise the worker runs until SIGTERM or SIGINT.
        tell: Called with a line for each finished range.

    Raises:
        ConfigError: no search cluster is set, or there is no embedding service.
        KnowledgeError: no model is available; with `once`, also if the cluster or the model fails.
    """
    if embedding is None:
        raise ConfigError("Search by meaning is switched off.", kind="setting", hint="Set embed to true.")
    engine = SharedEngine(settings)
    stop = threading.Event()
    worker = embedding.worker(engine.work, stop, names)
    embedding.model.encoder()
    before = signal.signal(signal.SIGTERM, lambda _signal, _frame: stop.set())
    chunks = 0
    try:
        while not stop.is_set():
            try:
                done = worker.run(tell)
            except UnavailableError as error:
                if once:
                    raise
                log.warning("%s", error.advice)
                stop.wait(WORKER_PAUSE)
                continue
            chunks += done.chunks
            if not done.chunks and not done.waiting and once:
                break
            if not done.chunks:
                stop.wait(WORKER_PAUSE)
    finally:
        signal.signal(signal.SIGTERM, before)
        engine.close()
        embedding.close()
    return chunks
