"""Similarities that an engine has: asked for when they are first needed, and once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from commonplace.domain.cluster import EngineSimilarity, NearestPages, SharedBase, SharedVectors
from commonplace.domain.query import Background, Filter, NearDocument, QuestionVector

BASE = SharedBase("notes", "s")
QUESTION = QuestionVector((1, 2), "model", 0.5)
NEAR = NearDocument("a.md", 1, 0.7)


class Vectors:
    """An engine that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def nearest(self, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int) -> NearestPages:
        self.asked.append((base, question, filter_, limit))
        return NearestPages((NEAR,), Background(0.2, 0.1))

    def of(self, base: SharedBase, question: QuestionVector, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        self.asked.append((base, question, tuple(paths)))
        return {"a.md": NEAR}


def test_the_engine_is_asked_once_and_only_when_it_has_to_be() -> None:
    vectors = Vectors()
    scores = EngineSimilarity(cast("SharedVectors", vectors), BASE, QUESTION, Filter(prefix="x/"), 7)
    assert scores.understood == 0.5
    assert vectors.asked == []
    assert list(scores.best) == [NEAR]
    assert scores.background == Background(0.2, 0.1)
    assert vectors.asked == [(BASE, QUESTION, Filter(prefix="x/"), 7)]
    assert scores.of(["a.md"]) == {"a.md": NEAR}
