"""Similarities of documents to a query, computed by a shared engine that has the vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.cluster.shared_vectors import NearestPages, SharedVectors
from commonplace.domain.query import Filter
from commonplace.domain.similarity import Background, NearDocument, QuestionVector


class EngineSimilarity:
    """`domain.similarity.SimilarityScores` of a base in an engine.

    A search by the engine itself uses only the question. Any other search requests the similarities from the engine
    through this object, when it first needs one.

    Args:
        vectors: The engine.
        base: The base.
        question: The query.
        filter_: The filter.
        limit: Maximum number of best documents.
    """

    def __init__(
        self, vectors: SharedVectors, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int
    ) -> None:
        self.question = question
        self.understood = question.understood
        self._vectors = vectors
        self._base = base
        self._filter = filter_
        self._limit = limit

    @cached_property
    def _nearest(self) -> NearestPages:
        return self._vectors.nearest(self._base, self.question, self._filter, self._limit)

    @property
    def background(self) -> Background:
        """The similarity of an ordinary document."""
        return self._nearest.background

    @property
    def best(self) -> Sequence[NearDocument]:
        """The most similar documents within the filter, best first."""
        return self._nearest.best

    def of(self, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these documents; documents without vectors are omitted."""
        return self._vectors.of(self._base, self.question, paths)
