"""Semantic search in a collection whose vectors an engine has: what is asked, and what is said without any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from commonplace.domain.cluster import SharedBase, SharedVectors, VectorCounts
from commonplace.domain.errors import UnavailableError
from commonplace.domain.query import ChunkHit, Coverage, Filter, QuestionVector
from commonplace.embed import EmbeddingService, ModelChoice
from commonplace.embed.local import MODEL_LOADING
from commonplace.embed.shared import SharedSemanticIndex
from embeddings import EmbeddingServer

BASE = SharedBase("notes", "s", meaning=True)
HIT = ChunkHit(path="a.md", ordinal=0, number=0, of=1, similarity=0.5)


class Vectors:
    """An engine with or without vectors, or one that is away."""

    def __init__(self) -> None:
        self.away = False
        self.there = True
        self.pending = 2
        self.asked: list[QuestionVector] = []

    def has(self, base: SharedBase, model: str) -> bool:
        del base, model
        self._answer()
        return self.there

    def counts(self, base: SharedBase, model: str) -> VectorCounts:
        del base, model
        self._answer()
        return VectorCounts(5, 9, self.pending)

    def nearest_chunks(self, base: SharedBase, question: QuestionVector, count: int, each: int) -> Sequence[ChunkHit]:
        del base, count, each
        self.asked.append(question)
        return [HIT]

    def _answer(self) -> None:
        if self.away:
            raise UnavailableError("The search cluster does not answer.", kind="engine", hint="Wait.")


@pytest.fixture
def vectors() -> Vectors:
    return Vectors()


@pytest.fixture
def meaning(server: EmbeddingServer, tmp_path: Path, vectors: Vectors) -> Iterator[SharedSemanticIndex]:
    embedding = EmbeddingService(ModelChoice(models=tmp_path, url=server.url, model="words"))
    yield embedding.shared(cast("SharedVectors", vectors), BASE)
    embedding.close()


def test_a_query_becomes_integers_of_which_the_greatest_is_127(meaning: SharedSemanticIndex) -> None:
    assert meaning.nearest("tea", Filter(), 5).question.values  # waits for the model
    near = meaning.similar("hot tea", Filter(), 5)
    assert near is not None
    assert meaning.coverage() == Coverage(7, 2)
    assert max(near.question.values) == 127
    assert near.understood == 1.0


def test_without_vectors_words_have_to_do_and_a_search_by_meaning_says_what_to_run(
    meaning: SharedSemanticIndex, vectors: Vectors
) -> None:
    vectors.there = False
    assert meaning.similar("tea", Filter(), 5) is None
    with pytest.raises(UnavailableError) as refused:
        meaning.nearest("tea", Filter(), 5)
    assert "embed-worker" in refused.value.hint


def test_an_engine_that_is_away_leaves_hybrid_search_to_the_words(
    meaning: SharedSemanticIndex, vectors: Vectors
) -> None:
    assert meaning.coverage().obstacle == MODEL_LOADING
    vectors.away = True
    assert meaning.similar("tea", Filter(), 5) is None
    assert meaning.status().status == "failing"
    with pytest.raises(UnavailableError, match="does not answer"):
        meaning.nearest("tea", Filter(), 5)


def test_the_status_is_what_the_engine_counts(meaning: SharedSemanticIndex, vectors: Vectors) -> None:
    status = meaning.status()
    assert (status.status, status.documents, status.chunks, status.pending) == ("waiting", 5, 9, 2)
    vectors.pending = 0
    assert meaning.status().status == "ready"


def test_chunks_come_from_the_engine_and_embedding_is_left_to_workers(
    meaning: SharedSemanticIndex, vectors: Vectors
) -> None:
    assert meaning.nearest_chunks("tea", 3, 1) == [HIT]
    assert len(vectors.asked) == 1
    meaning.catch_up(10, 1.0)
    with pytest.raises(UnavailableError) as refused:
        meaning.embed()
    assert "embed-worker" in refused.value.hint
