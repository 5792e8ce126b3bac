"""Semantic search in one collection on this machine: the implementation of `domain.semantic`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from commonplace.domain.addresses import Address
from commonplace.domain.errors import IndexingError, KnowledgeError, UnavailableError
from commonplace.domain.ports import Index, Progress
from commonplace.domain.query import Background, ChunkHit, Coverage, EmbeddingStatus, Filter, ListQuery, NearDocument
from commonplace.embed.models import Model, missing_model
from commonplace.embed.vector_store import VectorStore

if TYPE_CHECKING:
    from commonplace.embed.vector_space import VectorQuery


SERVING_SECONDS = 0.25
"""Timeout in seconds for loading the model in a server's hybrid search, which then falls back to words."""
LOADING_SECONDS = 30.0
"""Timeout in seconds for loading the model in a semantic search, and in a command."""


MODEL_LOADING = "the model is being loaded"
MODEL_FAILS = "the model fails (commonplace doctor says why)"
"""Obstacles of a `Coverage`."""
EMBED_HINT = "Run: commonplace index --embed"


class LocalSemanticIndex:
    """The semantic index of one collection.

    Args:
        model: The model of this process.
        index: Index of the documents.
        folder: Folder of the vectors.
    """

    def __init__(self, model: Model, index: Index, folder: Path) -> None:
        self.index = index
        self.patience = LOADING_SECONDS
        """Timeout in seconds of a hybrid search for loading the model."""
        self.in_background = False
        """Whether a thread of this process embeds changed documents."""
        self.pending = 0
        """Number of documents without vectors, as known to this process."""
        self._model = model
        self._vectors = VectorStore(model, folder)
        self._warming = threading.Lock()
        self._warm = threading.Event()

    def similar(self, text: str, filter_: Filter, limit: int) -> NearestDocuments | None:
        """Similarities of documents to a query; None if search has to fall back to words."""
        if self._model.missing or self._model.is_backing_off or not self._vectors.may_exist:
            return None
        try:
            question = self._vector_query(text, self._within(filter_), self.patience)
            return None if question is None else NearestDocuments(question, limit, self._model.understood(text))
        except KnowledgeError:
            return None  # the error was recorded and is part of the status

    def nearest(self, text: str, filter_: Filter, limit: int) -> NearestDocuments:
        """Similarities of documents to a query."""
        question = self._require_query(text, self._within(filter_))
        return NearestDocuments(question, limit, self._model.understood(text))

    def nearest_chunks(self, text: str, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks."""
        return self._require_query(text, None).nearest_chunks(count, each)

    def coverage(self) -> Coverage:
        """The documents that a search compares at the moment."""
        if self._model.missing:
            return Coverage()
        documents = self.index.list(ListQuery(limit=0)).total
        if self._model.failure or self._vectors.failure:
            return Coverage(documents, obstacle=MODEL_FAILS)
        if not self._vectors.may_exist:
            return Coverage(documents, documents)
        if not self._warm.is_set():
            return Coverage(documents, obstacle=MODEL_LOADING)
        return Coverage(documents, max(documents - self._vectors.space.documents, 0))

    def status(self, *, trying: bool = False) -> EmbeddingStatus:
        """The current status, after use of the model if `trying`."""
        if reason := self._model.missing:
            return EmbeddingStatus(status="missing", reason=reason)
        if trying:
            self._model.try_out()
        embedded: dict[str, str] = {}
        chunks = 0
        reason = self._model.failure or self._vectors.failure
        if not reason:
            try:
                embedded, chunks = self._vectors.with_file(lambda file: file.statistics())
            except KnowledgeError as error:
                reason = error.advice
        pending = sum(embedded.get(address.path) != revision for address, revision in self.index.revisions().items())
        return EmbeddingStatus(
            status="failing" if reason else self._progress(pending),
            model=self._model.name,
            documents=len(embedded),
            chunks=chunks,
            pending=pending,
            reason=reason,
        )

    def _progress(self, pending: int) -> Literal["waiting", "working", "ready"]:
        """The status if the model works."""
        if not pending:
            return "ready"
        from commonplace.embed.embedding_run import is_embedding

        return "working" if self.in_background or is_embedding(self._vectors.folder) else "waiting"

    def catch_up(self, documents: int, seconds: float) -> None:
        """Embed a few changed documents within a time."""
        if self._model.missing or self._model.is_remote:
            return
        state = self.status()
        if state.status != "waiting" or state.pending > documents:
            return
        stop = threading.Event()
        timer = threading.Timer(seconds, stop.set)
        timer.start()
        try:
            with suppress(KnowledgeError):  # the error was recorded and is part of the status
                self.embed(stop=stop)
        finally:
            timer.cancel()

    def embed(
        self,
        progress: Progress | None = None,
        stop: threading.Event | None = None,
        among: Collection[Address] | None = None,
    ) -> None:
        """Update the vectors.

        Args:
            progress: Called with the number of finished documents.
            stop: Stops the run after the running call of the model.
            among: The documents to update; None for all.
        """
        from commonplace.embed.embedding_run import EmbeddingRun

        refresh = EmbeddingRun(self._model, self.index, self._vectors, stop or threading.Event())
        try:
            refresh.run(progress, among)
        finally:
            self.pending = refresh.pending

    def warm(self) -> None:
        """Load the model and the vectors, so that the first query is fast.

        Raises:
            KnowledgeError: kind "model": there is no model, or it fails.
        """
        with self._warming:
            if not self._warm.is_set():
                self._vectors.refresh()
                self._model.encoder()
                self._warm.set()

    def close(self) -> None:
        """Release the vector file."""
        self._vectors.close()

    def _within(self, filter_: Filter) -> AbstractSet[str] | None:
        """Paths of the documents that match a filter; None for all documents."""
        return None if filter_ == Filter() else {address.path for address in self.index.revisions(filter_)}

    def _require_query(self, text: str, within: AbstractSet[str] | None) -> VectorQuery:
        if reason := self._model.missing:
            raise missing_model(reason)
        question = self._vector_query(text, within, LOADING_SECONDS)
        if question is None:
            raise UnavailableError(
                "No page has been embedded yet.",
                kind="model",
                hint=f"{'Try again in a minute' if self.in_background else EMBED_HINT}, or search with mode=keyword.",
            )
        return question

    def _vector_query(self, text: str, within: AbstractSet[str] | None, patience: float) -> VectorQuery | None:
        """The query's vector; None while the model is being loaded, or if there are no vectors."""
        if not self._warm.is_set():
            loading = threading.Thread(target=self._warm_quietly, name="model", daemon=True)
            loading.start()
            loading.join(patience)
            if loading.is_alive():
                return None
        self._vectors.refresh()
        space = self._vectors.space
        if not space.dimension:
            return None
        vector = self._model.question(text)
        self._vectors.check_dimension(len(vector), space.dimension)
        return space.query(vector, within)

    def _warm_quietly(self) -> None:
        with suppress(KnowledgeError):  # the query whose thread this is meets the same error
            self.warm()


class NearestDocuments:
    """The documents most similar to a query: implements `domain.query.SimilarityScores`.

    Args:
        question: The query.
        limit: Maximum number of documents.
        understood: Share of the query's tokens that the model knows, 0 to 1.
    """

    def __init__(self, question: VectorQuery, limit: int, understood: float) -> None:
        self._question = question
        self._background = cache(question.background)
        self._best = cache(partial(question.nearest, limit))
        self.understood = understood

    @property
    def background(self) -> Background:
        """The similarity of an ordinary document."""
        return self._background()

    @property
    def best(self) -> Sequence[NearDocument]:
        """The most similar documents, at most `limit`."""
        return self._best()

    def of(self, paths: Sequence[str]) -> dict[str, NearDocument]:
        """The similarities of these documents."""
        return self._question.of(paths)


# Background embedding in a server: one low-priority thread that polls for changes.


log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
"""Polling interval in seconds."""
FULL_COMPARISON_SECONDS = 60.0
"""Interval in seconds between two full comparisons while an index changes.

A full comparison finds unreported changes, such as those that another process indexed in an unwatched folder.
"""
MAX_PENDING_CHANGES = 200
"""Maximum number of changed documents that are checked one by one."""
RETRY_SECONDS = 30.0
"""Seconds before a failed model is retried."""
JOIN_SECONDS = 2.0
"""Timeout in seconds for the running call of the model at the end of the process."""


class BackgroundEmbedder:
    """Updates vectors until closed.

    Args:
        meanings: Semantic indexes of the collections. The list may grow.
        wait: Called by the thread before it loads anything.
    """

    def __init__(self, meanings: Sequence[LocalSemanticIndex], wait: Callable[[], None] = lambda: None) -> None:
        self._meanings = meanings
        self._wait = wait
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        with self._lock:
            if not self._stop.is_set():
                self._thread.start()

    def close(self) -> None:
        """Stop after the running call of the model."""
        with self._lock:
            self._stop.set()
            started = self._thread.is_alive()
        if started:
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        self._wait()
        if self._stop.is_set():
            return
        from commonplace.embed.embedding_run import lower_priority

        lower_priority()
        followed: dict[LocalSemanticIndex, _EmbeddedCollection] = {}
        while True:
            pause = POLL_SECONDS
            for meaning in tuple(self._meanings):
                if meaning not in followed:
                    followed[meaning] = _EmbeddedCollection(meaning)
                try:
                    followed[meaning].refresh(self._stop)
                except IndexingError:
                    continue
                except KnowledgeError as error:
                    log.debug("embedding waits: %s", error)
                    pause = RETRY_SECONDS
            if self._stop.wait(pause):
                return


class _EmbeddedCollection:
    """One collection, with the documents whose vectors may be outdated.

    Comparing all documents with all vectors takes time and memory in proportion to their number. All are compared at
    the start, after a failure, while another process is embedding, and at intervals. Otherwise only documents that the
    index reported are compared.
    """

    def __init__(self, meaning: LocalSemanticIndex) -> None:
        self._semantic_index = meaning
        self._lock = threading.Lock()
        self._told: set[Address] = set()
        self._compared: float | None = None
        """Time of the last full comparison; None if one is due."""
        self._generation = -1
        """Generation of the index at the last full comparison."""
        meaning.index.listen(self._tell)

    def refresh(self, stop: threading.Event) -> None:
        """Embed changed documents.

        Raises:
            KnowledgeError: `LocalSemanticIndex.embed` failed; the next attempt compares everything.
        """
        index = self._semantic_index.index
        index.wait_ready(0)
        generation = index.generation
        addresses = self._taken()
        whole = self._is_due(generation) or len(addresses) > MAX_PENDING_CHANGES
        if not whole and not addresses:
            return
        compared, self._compared = self._compared, None
        self._semantic_index.embed(stop=stop, among=None if whole else addresses)
        if stop.is_set():
            return
        self._semantic_index.warm()
        if not whole:
            self._compared = compared
            if self._semantic_index.pending:  # another process is embedding; the next call checks these documents again
                self._tell(addresses)
        elif not self._semantic_index.pending:
            self._compared, self._generation = time.monotonic(), generation

    def _is_due(self, generation: int) -> bool:
        """Whether a full comparison is due."""
        if self._compared is None:
            return True
        return generation != self._generation and time.monotonic() - self._compared >= FULL_COMPARISON_SECONDS

    def _tell(self, documents: Collection[Address], _: bool = False) -> None:
        with self._lock:
            self._told.update(documents)

    def _taken(self) -> Collection[Address]:
        """Return and clear the reported documents."""
        with self._lock:
            addresses, self._told = self._told, set()
        return addresses
