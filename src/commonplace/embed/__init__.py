"""Texts as vectors: a model, the vectors of a collection's texts, and what is near to a question.

Nothing here loads numpy or a model's libraries before the first question by meaning, or the first text to embed.
"""

from commonplace.embed.embedding_service import EmbeddingService
from commonplace.embed.models import ModelChoice

__all__ = ["EmbeddingService", "ModelChoice"]
