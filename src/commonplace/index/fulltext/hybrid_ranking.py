"""Hybrid ranking: one ranking of documents by words and by similarity."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from commonplace.domain.query import Background, NearDocument, SearchQuery
from commonplace.domain.semantic import FLOOR, agreement, fused, weight_of
from commonplace.index.catalogue.document_rows import document_key, paths_by_key

MAX_FUSED = 50
"""Maximum number of documents by words, and by similarity, that are fused. Further documents by words follow."""


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """Documents in fused order."""

    scores: dict[int, float]
    """Scores by document, best first."""
    nearest: Mapping[int, NearDocument]
    """The most similar section of each document, if known."""
    added: int = 0
    """Number of documents that contain none of the words."""


@dataclass(frozen=True, slots=True)
class RankFusion:
    """Ranks documents by words and similarity.

    Args:
        connection: The catalogue, inside a transaction.
        query: The query, with similarities.
        strict: Whether documents without any of the words are excluded, as in a search for a phrase.
    """

    connection: sqlite3.Connection
    query: SearchQuery
    strict: bool = field(default=False)

    def fuse(self, by_words: Mapping[int, float]) -> FusedRanking:
        """All documents in fused order.

        Args:
            by_words: Scores by words, best first.
        """
        window = dict(islice(by_words.items(), MAX_FUSED))
        nearness = self._nearness(list(window))
        scale = self.query.scale or max(window.values(), default=0.0) or 1.0
        near = {key: document.similarity for key, document in nearness.items()}
        similarity = self.query.similarity
        ordinary = similarity.background if similarity else Background()
        weight = weight_of(self.query.text, similarity.understood) if similarity else 0.0
        ordered = fused(window, near, scale, weight * agreement(window, near, ordinary), ordinary.threshold)
        rest = {key: score / scale for key, score in by_words.items() if key not in ordered}
        return FusedRanking(ordered | rest, nearness, len(near.keys() - by_words.keys()))

    def by_similarity(self) -> FusedRanking:
        """The most similar documents, regardless of their words."""
        best = {document_key(near.path): near for near in self._best()}
        there = self._paths(list(best))
        scores = {key: near.similarity for key, near in best.items() if key in there}
        return FusedRanking(scores, best, len(scores))

    def _nearness(self, keys: list[int]) -> dict[int, NearDocument]:
        """Similarities of these documents and of the most similar documents."""
        paths = self._paths(keys)
        documents: Mapping[str, NearDocument] = (
            self.query.similarity.of(list(paths.values())) if self.query.similarity else {}
        )
        near = {document_key(path): document for path, document in documents.items()}
        if self.strict:
            return near
        further = {
            document_key(document.path): document
            for document in self._best()[:MAX_FUSED]
            if document.similarity >= self._floor and document.path not in documents
        }
        there = self._paths(list(further))
        return near | {key: document for key, document in further.items() if key in there}

    @property
    def _floor(self) -> float:
        """The minimum similarity of a document without any of the words."""
        return max(FLOOR, self.query.similarity.background.threshold) if self.query.similarity else FLOOR

    def _best(self) -> list[NearDocument]:
        return list(self.query.similarity.best) if self.query.similarity else []

    def _paths(self, keys: list[int]) -> dict[int, str]:
        """Paths of the documents that exist."""
        return paths_by_key(self.connection, keys)
