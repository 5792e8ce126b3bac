"""What the services need for searching by meaning, as a protocol; `embed` fulfils it."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from commonplace.domain.ports import Progress
from commonplace.domain.similarity import ChunkHit, EmbeddingStatus, SimilarityScores


class SemanticIndex(Protocol):
    """The documents of one collection by what they mean."""

    def similar(self, text: str, within: AbstractSet[str] | None, limit: int) -> SimilarityScores | None:
        """How near documents are to a question; None at once where there is no model yet, or none that answers.

        Args:
            text: The question.
            within: Paths of the documents that are meant; None for all.
            limit: How many documents are best at the most.
        """
        ...

    def nearest(self, text: str, within: AbstractSet[str] | None, limit: int) -> SimilarityScores:
        """The same for who asks by meaning alone.

        Raises:
            UnavailableError: kind "model": there is none, or it does not answer; the hint says what to do.
            StorageError: kind "model": it is damaged.
        """
        ...

    def nearest_chunks(self, text: str, count: int, each: int) -> Sequence[ChunkHit]:
        """The nearest chunks, at most `each` of a document; raises as `nearest` does."""
        ...

    def status(self) -> EmbeddingStatus:
        """What there is of it now."""
        ...

    def embed(self, progress: Progress | None = None) -> None:
        """Embed what has changed and return when it is done, or at once where another process is at it.

        Raises:
            KnowledgeError: kind "model": there is none, or it fails.
        """
        ...

    def close(self) -> None:
        """Release everything."""
        ...
