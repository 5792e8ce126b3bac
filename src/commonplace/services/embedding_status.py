"""The status of semantic search of a collection."""

from __future__ import annotations

from commonplace.domain.similarity import EmbeddingStatus
from commonplace.services.collections import Collection

EMBEDDING_OFF = EmbeddingStatus(
    status="off", reason="Search by meaning is switched off (--no-embed, or the setting embed)."
)


def embedding_status(collection: Collection) -> EmbeddingStatus:
    """The status of a collection's vectors: the model, how much is embedded, and the last error."""
    return collection.semantic_index.status() if collection.semantic_index else EMBEDDING_OFF
