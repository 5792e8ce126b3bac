"""Fusion of pages by words and by meaning, and the searches for similar chunks."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Background, Filter, NearDocument, QuestionVector, Record, SearchQuery
from commonplace.index.opensearch.answers import (
    MAX_COMPARED,
    Meaning,
    NearPages,
    VectorField,
    fuse_pages,
    pages_by_meaning,
)
from commonplace.index.opensearch.queries import ClusterPage


def found(key: str, score: float) -> ClusterPage:
    return ClusterPage(key, score, Record(address=Address(f"{key}.md"), id=key, title=key, type=""), 0)


def near(key: str, similarity: float) -> NearDocument:
    return NearDocument(f"{key}.md", 0, similarity)


def meaning(chunks: int, pages: int = 10) -> Meaning:
    return Meaning(QuestionVector((1, -2), "m", 1.0), VectorField("i", "vector_m", pages, chunks))


def test_similarity_moves_a_page_up_and_adds_others() -> None:
    words = [found("a", 10.0), found("b", 8.0)]
    nearest = NearPages({"c": near("c", 0.9), "b": near("b", 0.8)}, Background(), 1.0)
    assert nearest.beyond(words) == ["c"]
    fused = fuse_pages(SearchQuery(text="some words"), words, [found("c", 0.0)], nearest, {"b": near("b", 0.8)})
    # "a" has no vector, and gets the excess of a page with its score, as "b" has one.
    assert [page.key for page in fused.pages] == ["a", "b", "c"]
    assert [page.score for page in fused.pages] == pytest.approx([3.0, 2.4, 1.8])
    assert fused.added == 1


def test_what_is_not_above_the_ordinary_adds_nothing() -> None:
    nearest = NearPages({"c": near("c", 0.5)}, Background(0.4, 0.1), 1.0)
    assert nearest.beyond([found("a", 1.0)]) == ["c"]
    assert NearPages({"c": near("c", 0.49)}, Background(0.4, 0.1), 1.0).beyond([]) == []
    fused = fuse_pages(SearchQuery(text="some words"), [found("a", 4.0)], [], nearest, {"a": near("a", 0.5)})
    assert [page.score for page in fused.pages] == [1.0]


def test_pages_by_meaning_are_those_that_exist_and_answer() -> None:
    nearest = NearPages({key: near(key, 0.9) for key in "abc"}, Background(), 1.0)
    fused = pages_by_meaning(nearest, {"a": found("a", 0), "c": found("c", 0)}, {"c"}, [found("d", 3.0)])
    assert [(page.key, page.score) for page in fused.pages] == [("a", 0.9), ("d", 0.0)]
    assert fused.added == 2


def test_few_chunks_are_all_compared_and_many_are_found_by_the_graph() -> None:
    filter_ = Filter(tags=("x",))
    few, ordinary = meaning(MAX_COMPARED).searches(filter_, 5)
    many, _ = meaning(MAX_COMPARED + 1).searches(filter_, 5)
    assert "script_score" in few.body["query"]
    assert "script_score" in ordinary.body["query"]
    assert many.body["query"]["knn"]["vector_m"]["filter"]["bool"]["filter"]


@pytest.mark.parametrize(("pages", "sampled"), [(100, False), (1280, True)])
def test_ordinary_pages_are_a_sample_of_many(pages: int, sampled: bool) -> None:
    _, ordinary = meaning(10, pages).searches(Filter(), 5)
    clauses: list[dict[str, Any]] = ordinary.body["query"]["script_score"]["query"]["bool"]["filter"]
    bounds = [clause["range"]["page"]["lt"] for clause in clauses if "page" in clause.get("range", {})]
    assert bounds == (["19999999"] if sampled else [])


def test_cosines_are_read_from_both_kinds_of_scores() -> None:
    fields = {"page": ["k"], "path": ["k.md"], "ordinal": [3]}
    answer: dict[str, Any] = {"hits": {"hits": [{"_score": 1.6, "fields": fields}]}}
    assert meaning(1).similarities(answer)["k"].similarity == pytest.approx(0.6)
    answer = {"hits": {"hits": [{"_score": 0.8, "fields": fields}]}}
    assert meaning(1).similarities(answer, by_graph=True)["k"].similarity == pytest.approx(0.6)
