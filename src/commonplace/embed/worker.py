"""A worker that embeds chunks without vectors in a shared engine, concurrently with other workers."""

from __future__ import annotations

import logging
import random
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.cluster.shared_vectors import Claim, EmbeddingWork
from commonplace.embed.models import Model
from commonplace.embed.shared import model_digest

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
        from commonplace.embed.unit_vectors import as_integers

        made: dict[str, tuple[int, ...] | None] = {}
        for start in range(0, len(texts), SLICE):
            some = texts[start : start + SLICE]
            found = self._model.texts([text for _, text in some])
            made |= {key: as_integers(vector) for (key, _), vector in zip(some, found, strict=True)}
        return made

    def _known_dimension(self) -> int:
        if not self._dimension:
            self._dimension = self._model.texts([DIMENSION_PROBE]).shape[1]
        return self._dimension
