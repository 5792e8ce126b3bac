"""The port of semantic search, as a protocol; `embed` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.domain.ports import Progress
from commonplace.domain.query import Filter
from commonplace.domain.similarity import ChunkHit, Coverage, EmbeddingStatus, SimilarityScores


class Reranker(Protocol):
    """A cross-encoder, which reads a question and a passage together."""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """Scores of the passages as answers to the question; higher is better.

        Raises:
            UnavailableError: kind "model": the model timed out, or its answer is invalid; the hint gives the next step.
        """
        ...


class SemanticIndex(Protocol):
    """The semantic index of one collection."""

    def similar(self, text: str, filter_: Filter, limit: int) -> SimilarityScores | None:
        """Similarities of documents to a query. Returns None at once if no model is available or it does not respond.

        Args:
            text: The query.
            filter_: The documents to consider.
            limit: Maximum number of best documents.
        """
        ...

    def nearest(self, text: str, filter_: Filter, limit: int) -> SimilarityScores:
        """Similarities of documents to a query, for a search by similarity only. The parameters are those of `similar`.

        Raises:
            UnavailableError: kind "model": there is no model, or it does not respond; the hint gives the next step.
            StorageError: kind "model": the model is damaged.
        """
        ...

    def nearest_chunks(self, text: str, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` per document. Raises the same errors as `nearest`."""
        ...

    def coverage(self) -> Coverage:
        """The documents that a search compares at the moment. Cheap, and never waits for the model."""
        ...

    def status(self) -> EmbeddingStatus:
        """The current status."""
        ...

    def embed(self, progress: Progress | None = None) -> None:
        """Embed changed documents. Returns when done, or at once if another process is embedding.

        Raises:
            KnowledgeError: kind "model": there is no model, or it fails.
        """
        ...

    def catch_up(self, documents: int, seconds: float) -> None:
        """Embed changed documents if there are few; for a command, which has no background thread.

        Does nothing if there are more documents, if the model is on a server, whose answers may be slow, or if it
        fails.

        Args:
            documents: Maximum number of changed documents.
            seconds: Time in seconds after which no further text is embedded.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...
