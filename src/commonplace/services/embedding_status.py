"""The status of semantic search of a collection."""

from __future__ import annotations

from commonplace.domain.similarity import EmbeddingStatus
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection

EMBEDDING_OFF = EmbeddingStatus(
    status="off", reason="Search by meaning is switched off (--no-embed, or the setting embed)."
)


EMBED_COMMAND = "commonplace index --embed"


def embedding_gap(state: EmbeddingStatus) -> str:
    """A sentence about texts that are not embedded yet, and the process that embeds them; "" if nothing is missing."""
    if state.status not in {"waiting", "working"}:
        return ""
    known = f"{state.documents:,} of {amount(state.documents + state.pending, 'page')}"
    who = "the rest is being embedded" if state.status == "working" else "nothing embeds the rest"
    return f"Search by meaning knows {known}; {who}."


def embedding_status(collection: Collection) -> EmbeddingStatus:
    """The status of a collection's vectors: the model, the number of embedded texts, and the last error."""
    return collection.semantic_index.status() if collection.semantic_index else EMBEDDING_OFF
