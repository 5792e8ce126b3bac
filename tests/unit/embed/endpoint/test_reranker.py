"""A server with a cross-encoder: its scores are taken, and whatever is wrong with it is said within the time."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.embed.endpoint import EndpointReranker
from embeddings import RerankServer, reranking


def failure(server: RerankServer, passages: int = 2, seconds: float = 20.0) -> str:
    with pytest.raises(UnavailableError) as refused:
        EndpointReranker(server.url, seconds=seconds).scores("q", ["text"] * passages)
    assert "rerank_url" in refused.value.hint
    return str(refused.value)


def test_scores_are_in_the_order_of_the_passages() -> None:
    with reranking() as server:
        scores = EndpointReranker(server.url, "small", "secret", seconds=20).scores(
            "green tea", ["soup", "green tea", "tea"]
        )
    assert scores == [0.0, 2.0, 1.0]
    assert server.asked == [{"query": "green tea", "documents": ["soup", "green tea", "tea"], "model": "small"}]
    assert server.keys == ["Bearer secret"]


def test_without_a_model_and_a_key_none_is_named() -> None:
    with reranking() as server:
        EndpointReranker(server.url, seconds=20).scores("q", ["text"])
    assert (server.asked[0].keys(), server.keys) == ({"query", "documents"}, [None])


@pytest.mark.parametrize(
    "body",
    [
        b'{"results": []}',
        b'{"results": [{"index": 0, "relevance_score": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": NaN}]}',
        b'{"results": [{"index": 0, "relevance_score": 1}, {"index": 7, "relevance_score": 1}]}',
        b'{"results": [{"index": "0"}, 5, null, []]}',
        b'{"results": "01"}',
        b"[]",
        b"null",
    ],
)
def test_an_answer_without_a_score_for_each_passage_is_a_failure(body: bytes) -> None:
    with reranking(body=body) as server:
        assert "does not have one finite score for each passage" in failure(server)


def test_what_is_no_json_and_what_is_refused_is_said() -> None:
    with reranking(body=b"<html>") as server:
        assert "not JSON" in failure(server)
    with reranking(body=b"[" * 100_000) as server:
        assert "not JSON" in failure(server)
    with reranking(status=503) as server:
        assert "status 503" in failure(server)
    assert "cannot be reached" in failure(server)


@pytest.mark.parametrize("dripping", [False, True])
def test_a_server_that_does_not_come_to_an_end_is_left_after_the_time(dripping: bool) -> None:
    with reranking(blocked=not dripping, dripping=dripping) as server:
        assert "no answer within 50 ms" in failure(server, seconds=0.05)


def test_after_a_failure_the_server_is_not_asked_for_a_while() -> None:
    with reranking(status=500) as server:
        reranker = EndpointReranker(server.url, seconds=20)
        for _ in range(3):
            with pytest.raises(UnavailableError, match="status 500"):
                reranker.scores("q", ["a", "b"])
    assert len(server.asked) == 1
