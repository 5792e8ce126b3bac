"""What searching by meaning has of a collection, and pages that mean nearly the same."""

from __future__ import annotations

from commonplace.domain.similarity import EmbeddingStatus
from commonplace.services.collections import Collection

EMBEDDING_OFF = EmbeddingStatus(
    status="off", reason="Search by meaning is switched off (--no-embed, or the setting embed)."
)


def embedding_status(collection: Collection) -> EmbeddingStatus:
    """The state of a collection's vectors: which model, how much is embedded, and what is wrong."""
    return collection.semantic_index.status() if collection.semantic_index else EMBEDDING_OFF
