"""The search cluster of a process: the collections that it searches, and the work of embedding them."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, cast

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.errors import ConfigError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.index import open_cluster
from commonplace.services.cluster.shared_search import SharedSearch
from commonplace.services.cluster.tailer import Tailer
from commonplace.settings import Settings

if TYPE_CHECKING:
    from commonplace.embed import EmbeddingService
    from commonplace.index.local import LocalIndex
    from commonplace.replication import Follower

log = logging.getLogger(__name__)

WORKER_PAUSE = 2.0
"""Seconds between two looks of a worker that finds nothing to do."""
ALL = "*"


class SharedEngine:
    """The search cluster of `engine_url`. Asks it nothing yet.

    Args:
        settings: The settings.

    Raises:
        ConfigError: kind "engine": none is set, a setting is invalid, or the client is not installed.
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
        """A replica in the cluster."""
        chosen = name in self._with_vectors or ALL in self._with_vectors
        return SharedBase(name, follower.clone.source.key, meaning=chosen)

    def searched(self, base: SharedBase, follower: Follower, index: LocalIndex) -> tuple[Index, Tailer]:
        """A replica's index whose searches go to the cluster, and what keeps the cluster's index current."""
        tailer = Tailer(base, follower.clone, index, self._cluster.reader, self._cluster.writer)
        return cast("Index", SharedSearch(index, self._cluster.reader, tailer)), tailer


def run_worker(
    settings: Settings,
    embedding: EmbeddingService | None,
    names: Collection[str],
    once: bool,
    tell: Callable[[str], None],
) -> int:
    """Embed what lacks vectors in the cluster, beside any number of other workers. Returns the number of chunks.

    Args:
        settings: The settings.
        embedding: The model; None if search by meaning is switched off, which is an error.
        names: Names of the collections to embed; empty for all.
        once: Whether to end when nothing lacks a vector; else until SIGTERM or SIGINT.
        tell: Called with a line for each finished range.

    Raises:
        ConfigError: no search cluster is set, or there is no embedding.
        KnowledgeError: there is no model; with `once`, also if the cluster or the model fails.
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
