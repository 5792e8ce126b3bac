"""Embeddings: a model, the vectors of a collection's texts, and similarity search.

numpy and the model's libraries are not imported before the first semantic query or the first text to embed.
"""

from commonplace.embed.embedding_service import EmbeddingService
from commonplace.embed.models import ModelChoice, open_reranker

__all__ = ["EmbeddingService", "ModelChoice", "open_reranker"]
