"""Embeddings: a model, the vectors of a collection's texts, and similarity search.

numpy and the model's libraries are not imported before the first semantic query or the first text to embed.
"""

import os

from commonplace.embed.embedding_service import EmbeddingService
from commonplace.embed.models import ModelChoice, open_reranker

# From 1.29 on, importing the model's runtime makes an identifier of the device and sends how models are used to its
# maker, unless this is set before.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__all__ = ["EmbeddingService", "ModelChoice", "open_reranker"]
