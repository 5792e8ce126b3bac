"""Semantic search in a collection whose vectors are in a shared engine: implements `domain.semantic.ports`."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b

from commonplace.domain.cluster.engine_similarity import EngineSimilarity
from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.cluster.shared_vectors import SharedVectors
from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.domain.ports import Progress
from commonplace.domain.query import Filter
from commonplace.domain.similarity import ChunkHit, Coverage, EmbeddingStatus, QuestionVector
from commonplace.embed.local import MODEL_FAILS, MODEL_LOADING
from commonplace.embed.models import Model, missing_model

LOADING_SECONDS = 30.0
"""Timeout in seconds for loading the model in a semantic search."""
SERVING_SECONDS = 0.25
"""Timeout in seconds for loading the model in a hybrid search, which then falls back to words."""
COUNTED_SECONDS = 5.0
"""Validity in seconds of the cached counts of a `Coverage`."""
WORKER_HINT = "Run: commonplace embed-worker"


class SharedSemanticIndex:
    """The semantic index of one collection in an engine. This process only embeds queries; workers embed the pages.

    Args:
        model: The model of this process.
        vectors: The engine.
        base: The collection in the engine.
    """

    def __init__(self, model: Model, vectors: SharedVectors, base: SharedBase) -> None:
        self._model = model
        self._vectors = vectors
        self._base = base
        self._loading = threading.Lock()
        self._loaded = threading.Event()
        self._covered = (0.0, Coverage())
        """The time of the last count in seconds of the monotonic clock, and the coverage."""

    def similar(self, text: str, filter_: Filter, limit: int) -> EngineSimilarity | None:
        """Similarities of documents to a query; None if search has to fall back to words."""
        if self._model.missing or self._model.is_backing_off:
            return None
        try:
            question = self._question(text, SERVING_SECONDS)
            if question is None or not self._vectors.has(self._base, question.model):
                return None
        except KnowledgeError:
            return None  # the search by words raises and reports the engine's error, too
        return EngineSimilarity(self._vectors, self._base, question, filter_, limit)

    def nearest(self, text: str, filter_: Filter, limit: int) -> EngineSimilarity:
        """Similarities of documents to a query."""
        return EngineSimilarity(self._vectors, self._base, self._require_question(text), filter_, limit)

    def nearest_chunks(self, text: str, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks."""
        return self._vectors.nearest_chunks(self._base, self._require_question(text), count, each)

    def coverage(self) -> Coverage:
        """The documents that a search compares at the moment."""
        if self._model.missing:
            return Coverage()
        if self._model.failure:
            return Coverage(obstacle=MODEL_FAILS)
        if not self._loaded.is_set():
            return Coverage(obstacle=MODEL_LOADING)
        counted, coverage = self._covered
        if not counted or time.monotonic() - counted > COUNTED_SECONDS:
            try:
                counts = self._vectors.counts(self._base, model_digest(self._model))
            except KnowledgeError:
                return Coverage()  # the search by words reports the engine's error
            coverage = Coverage(counts.documents + counts.pending, counts.pending)
            self._covered = time.monotonic(), coverage
        return coverage

    def status(self) -> EmbeddingStatus:
        """The current status."""
        if reason := self._model.missing:
            return EmbeddingStatus(status="missing", reason=reason)
        try:
            counts = self._vectors.counts(self._base, model_digest(self._model))
        except KnowledgeError as error:
            return EmbeddingStatus(status="failing", model=self._model.name, reason=error.advice)
        return EmbeddingStatus(
            status="waiting" if counts.pending else "ready",
            model=self._model.name,
            documents=counts.documents,
            chunks=counts.chunks,
            pending=counts.pending,
            reason=self._model.failure,
        )

    def embed(self, progress: Progress | None = None) -> None:
        """Raise an error, because workers embed the pages."""
        del progress
        raise UnavailableError(
            "The vectors of this collection are in the search cluster.", kind="model", hint=WORKER_HINT, retryable=0
        )

    def catch_up(self, documents: int, seconds: float) -> None:
        """Do nothing, because workers embed the pages."""

    def close(self) -> None:
        """Do nothing, because the owner of the engine closes it."""

    def _require_question(self, text: str) -> QuestionVector:
        if reason := self._model.missing:
            raise missing_model(reason)
        question = self._question(text, LOADING_SECONDS)
        if question is None or not self._vectors.has(self._base, question.model):
            raise UnavailableError(
                "No page has been embedded yet.", kind="model", hint=f"{WORKER_HINT}, or search with mode=keyword."
            )
        return question

    def _question(self, text: str, patience: float) -> QuestionVector | None:
        """The query's vector; None while the model is being loaded, or if the text has no vector."""
        if not self._loaded.is_set():
            loading = threading.Thread(target=self._load, name="model", daemon=True)
            loading.start()
            loading.join(patience)
            if not self._loaded.is_set() and not self._model.failure:
                return None
        from commonplace.embed.unit_vectors import as_integers

        values = as_integers(self._model.question(text))
        if values is None:
            return None
        return QuestionVector(values, model_digest(self._model), self._model.understood(text))

    def _load(self) -> None:
        with self._loading, suppress(KnowledgeError):  # the error was recorded and is part of the status
            self._model.encoder()
            self._loaded.set()


def model_digest(model: Model) -> str:
    """A digest of a model's identity. Raises the same errors as `Model.encoder`."""
    return blake2b(model.encoder().identity.encode(), digest_size=6).hexdigest()
