"""Semantic search in a collection whose vectors are in a shared engine: implements `domain.semantic`."""

from __future__ import annotations

import logging
import random
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

from commonplace.domain.cluster import Claim, EmbeddingWork, EngineSimilarity, SharedBase, SharedVectors
from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.domain.ports import Progress
from commonplace.domain.query import ChunkHit, Coverage, EmbeddingStatus, Filter, QuestionVector
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

    def status(self, *, trying: bool = False) -> EmbeddingStatus:
        """The current status, after use of the model if `trying`."""
        if reason := self._model.missing:
            return EmbeddingStatus(status="missing", reason=reason)
        if trying:
            self._model.try_out()
            if failure := self._model.failure:
                return EmbeddingStatus(status="failing", model=self._model.name, reason=failure)
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
        from commonplace.embed.encoders import as_integers

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


# A worker that embeds chunks without vectors in a shared engine, concurrently with other workers.


log = logging.getLogger(__name__)

BATCH = 32
"""Number of chunks that are embedded and written together; the claim is renewed after each batch."""
DIMENSION_PROBE = "dimension"
"""Text that is embedded to determine the dimension of the model's vectors."""
SLICE = 4
"""Number of texts per call of the model; small, so that stopping is quick."""


@dataclass(slots=True)
class Embedded:
    """Results of a worker's run."""

    chunks: int = 0
    parts: int = 0
    """Number of finished ranges."""
    waiting: int = 0
    """Number of ranges left to other workers, as of the last check."""


class EmbeddingWorker:
    """One worker of a process.

    Args:
        model: The model.
        work: The engine.
        stop: Stops the work after the running call of the model.
        names: Names of the bases to embed; empty for all.
    """

    def __init__(self, model: Model, work: EmbeddingWork, stop: threading.Event, names: Collection[str] = ()) -> None:
        self._model = model
        self._work = work
        self._stop = stop
        self._names = names
        self._owner = secrets.token_hex(8)
        self._prepared: set[SharedBase] = set()
        self._dimension = 0

    def run(self, tell: Callable[[str], None]) -> Embedded:
        """Embed all chunks without vectors, except ranges that other workers have claimed.

        Args:
            tell: Called with a line for each finished range.

        Raises:
            KnowledgeError: the model or the engine fails.
        """
        done = Embedded()
        for base in self._work.bases():
            if not self._stop.is_set() and (not self._names or base.name in self._names):
                self._embed_base(base, done, tell)
        return done

    def _embed_base(self, base: SharedBase, done: Embedded, tell: Callable[[str], None]) -> None:
        model = model_digest(self._model)
        if base not in self._prepared:
            self._work.prepare(base, model, self._known_dimension())
            self._prepared.add(base)
        parts = list(self._work.lacking(base, model))
        random.shuffle(parts)  # so that workers seldom try to claim the same range
        for part in parts:
            if self._stop.is_set():
                return
            claim = self._work.claim(base, model, part, self._owner)
            if claim is None:
                done.waiting += 1
                continue
            before = done.chunks
            if self._embed_part(claim, done):
                done.parts += 1
                tell(f"{base.name}: {done.chunks - before:,} chunks of range {part}")

    def _embed_part(self, claim: Claim, done: Embedded) -> bool:
        """Embed a range. Returns false if another worker has taken over the claim, or if the work was stopped."""
        held: Claim | None = claim
        for batch in self._work.texts(claim):
            for start in range(0, len(batch), BATCH):
                if self._stop.is_set() or held is None:
                    break
                vectors = self._vectors(batch[start : start + BATCH])
                self._work.store(held, vectors)
                done.chunks += len(vectors)
                held = self._work.renew(held)
        if held is None:
            log.info("another worker has taken over range %s", claim.part)
            return False
        self._work.release(held)
        return not self._stop.is_set()

    def _vectors(self, texts: Sequence[tuple[str, str]]) -> dict[str, tuple[int, ...] | None]:
        from commonplace.embed.encoders import as_integers

        made: dict[str, tuple[int, ...] | None] = {}
        for start in range(0, len(texts), SLICE):
            some = texts[start : start + SLICE]
            vectors = self._model.texts([text for _, text in some])
            made |= {key: as_integers(vector) for (key, _), vector in zip(some, vectors, strict=True)}
        return made

    def _known_dimension(self) -> int:
        if not self._dimension:
            self._dimension = self._model.texts([DIMENSION_PROBE]).shape[1]
        return self._dimension
