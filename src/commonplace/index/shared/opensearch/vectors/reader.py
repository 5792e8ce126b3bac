"""Searches of the vectors of bases in a cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.cluster.shared_vectors import NearestPages, VectorCounts
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import Filter
from commonplace.domain.similarity import ChunkHit, NearDocument, QuestionVector
from commonplace.index.shared.opensearch.connection import Answer, Connection
from commonplace.index.shared.opensearch.indexes import BaseIndexes
from commonplace.index.shared.opensearch.layout import page_key
from commonplace.index.shared.opensearch.search.hybrid import Meaning, VectorField
from commonplace.index.shared.opensearch.search.requests import Search, Steps, run
from commonplace.index.shared.opensearch.vectors.layout import check_chunks, vector_field, vectors_of

COUNTED_SECONDS = 30.0
"""Validity in seconds of the cached number of vectors, which determines the method of comparison."""


class ClusterVectors:
    """`domain.cluster.shared_vectors.SharedVectors`.

    Args:
        connection: The cluster.
        indexes: The indexes of bases.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._fields: dict[tuple[str, str], tuple[float, VectorField | None]] = {}
        self._lock = Lock()

    def has(self, base: SharedBase, model: str) -> bool:
        """Whether a base has vectors of a model."""
        return self.field(base, model) is not None

    def field(self, base: SharedBase, model: str) -> VectorField | None:
        """The vectors of a model; None if there are none."""
        index = vectors_of(self._indexes.alias(base))
        with self._lock:
            seen, found = self._fields.get((index, model), (0.0, None))
        if seen and time.monotonic() - seen <= COUNTED_SECONDS:
            return found
        found = self._counted(base, index, model)
        with self._lock:
            self._fields[index, model] = time.monotonic(), found
        return found

    def nearest(self, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int) -> NearestPages:
        """The pages within a filter that are most similar to a query."""
        meaning = self._meaning(base, question)
        found = meaning.nearest(self._msearch(meaning.searches(filter_, limit)))
        return NearestPages(tuple(found.pages.values()), found.ordinary)

    def of(self, base: SharedBase, question: QuestionVector, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these pages."""
        if not paths:
            return {}
        meaning = self._meaning(base, question)
        by_key = {page_key(path): path for path in paths}
        (answer,) = self._msearch([meaning.of(list(by_key))])
        return {by_key[key]: near for key, near in meaning.similarities(answer).items()}

    def nearest_chunks(self, base: SharedBase, question: QuestionVector, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` of a page."""
        meaning = self._meaning(base, question)
        (answer,) = self._msearch([meaning.chunks(count * each)])
        seen: dict[str, int] = {}
        chosen: list[ChunkHit] = []
        for near, number, of in meaning.near_chunks(answer):
            seen[near.path] = seen.get(near.path, 0) + 1
            if seen[near.path] <= each:
                chosen.append(
                    ChunkHit(path=near.path, ordinal=near.ordinal, number=number, of=of, similarity=near.similarity)
                )
        return chosen[:count]

    def counts(self, base: SharedBase, model: str) -> VectorCounts:
        """Number of chunks and of embedded chunks."""
        index = vectors_of(self._indexes.alias(base))
        lacking = {"bool": {"filter": [{"exists": {"field": "number"}}, lacks(model)]}}
        pages = {"pages": {"cardinality": {"field": "page", "precision_threshold": 40_000}}}
        every, done, left = self._msearch([
            Search(index, {"size": 0, "track_total_hits": True, "query": {"exists": {"field": "chunks"}}}),
            Search(index, {"size": 0, "track_total_hits": True, "query": {"exists": {"field": vector_field(model)}}}),
            Search(index, {"size": 0, "query": lacking, "aggs": pages}),
        ])  # fmt: skip
        pending = int(left["aggregations"]["pages"]["value"])
        return VectorCounts(max(_total(every) - pending, 0), _total(done), pending)

    def _counted(self, base: SharedBase, index: str, model: str) -> VectorField | None:
        try:
            (found,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        except NotFoundError:
            return None
        check_chunks(found["mappings"], base)
        if vector_field(model) not in found["mappings"]["properties"]:
            return None
        pages = {"pages": {"cardinality": {"field": "page"}}}
        body = {"size": 0, "track_total_hits": True, "query": {"exists": {"field": vector_field(model)}}, "aggs": pages}
        (answer,) = self._msearch([Search(index, body)])
        chunks = _total(answer)
        if not chunks:
            return None
        return VectorField(index, vector_field(model), int(answer["aggregations"]["pages"]["value"]), chunks)

    def _meaning(self, base: SharedBase, question: QuestionVector) -> Meaning:
        vectors = self.field(base, question.model)
        if vectors is None:
            raise NotFoundError(
                f"The search cluster has no vectors of {base.name!r}.",
                kind="engine",
                hint="Run: commonplace embed-worker",
            )
        return Meaning(question, vectors)

    def _msearch(self, searches: Sequence[Search]) -> Sequence[Answer]:
        (answers,) = run(self._connection, [_one_step(searches)])
        return answers


def lacks(model: str) -> dict[str, Any]:
    """The query for chunks that still lack a vector of a model, except chunks without embeddable text."""
    has = [{"exists": {"field": vector_field(model)}}, {"term": {"void": model}}]
    return {"bool": {"must_not": has}}


def _one_step(searches: Sequence[Search]) -> Steps[Sequence[Answer]]:
    return (yield searches)


def _total(answer: Answer) -> int:
    return int(answer["hits"]["total"]["value"])
