"""Embeddings: a model, the vectors of a collection's texts, and similarity search.

numpy and the model's libraries are not imported before the first semantic query or the first text to embed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.ports import Index
from commonplace.embed.local import SERVING_SECONDS, BackgroundEmbedder, LocalSemanticIndex
from commonplace.embed.models import Model, ModelChoice, open_reranker

if TYPE_CHECKING:
    from commonplace.domain.cluster import EmbeddingWork, SharedBase, SharedVectors
    from commonplace.embed.shared import EmbeddingWorker, SharedSemanticIndex


# From 1.29 on, importing the model's runtime makes an identifier of the device and sends how models are used to its
# maker, unless this is set before.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__all__ = ["EmbeddingService", "ModelChoice", "open_reranker"]


# The embedding service of a process: one model, and the semantic index of each collection.


class EmbeddingService:
    """The model of this process and its semantic indexes.

    Args:
        choice: The choice of the model.
    """

    def __init__(self, choice: ModelChoice) -> None:
        self.model = Model(choice)
        self._meanings: list[LocalSemanticIndex] = []
        self._background: BackgroundEmbedder | None = None

    def of(self, index: Index, folder: Path) -> LocalSemanticIndex:
        """Create the semantic index of a collection.

        Args:
            index: Index of the collection's documents.
            folder: Folder of the collection's vectors.
        """
        meaning = LocalSemanticIndex(self.model, index, folder)
        if self._background:
            _serving(meaning)
        self._meanings.append(meaning)
        return meaning

    def shared(self, vectors: SharedVectors, base: SharedBase) -> SharedSemanticIndex:
        """Create the semantic index of a collection whose vectors are in a shared engine.

        Args:
            vectors: The engine.
            base: The collection in the engine.
        """
        from commonplace.embed.shared import SharedSemanticIndex

        return SharedSemanticIndex(self.model, vectors, base)

    def worker(self, work: EmbeddingWork, stop: threading.Event, names: Collection[str]) -> EmbeddingWorker:
        """Create a worker that embeds for a shared engine.

        Args:
            work: The engine.
            stop: Stops the work.
            names: Names of the bases to embed; empty for all.
        """
        from commonplace.embed.shared import EmbeddingWorker

        return EmbeddingWorker(self.model, work, stop, names)

    def serve(self, wait: Callable[[], None] = lambda: None) -> None:
        """Start embedding in the background; searches no longer wait for the model to be loaded.

        Args:
            wait: Called in the background before the libraries are loaded. It should wait until the first answer,
                which loading would delay.
        """
        if self.model.missing:
            return
        for meaning in self._meanings:
            _serving(meaning)
        self._background = BackgroundEmbedder(self._meanings, wait)
        self._background.start()

    def close(self) -> None:
        """Stop the background thread and release every file."""
        if self._background:
            self._background.close()
        for meaning in self._meanings:
            meaning.close()


def _serving(meaning: LocalSemanticIndex) -> None:
    meaning.patience = SERVING_SECONDS
    meaning.in_background = True
