"""Cached term statistics of an index: the requests for them, and their validity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from commonplace.domain.cluster import BranchPosition
from commonplace.domain.query_parser import parse_query
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.opensearch.connection import Request, Search, Statistics
from commonplace.index.opensearch.queries import Vocabulary

ANALYZE = words_analyzer().analyze


class Index:
    """The terms of an index, which answers as the engine does."""

    def __init__(self, frequencies: Mapping[str, int]) -> None:
        self.frequencies = dict(frequencies)
        self.asked: list[Request] = []

    def answer(self, request: Request) -> dict[str, Any]:
        self.asked.append(request)
        if isinstance(request, Search):
            listed = {at: self._listed(of["terms"]["include"]) for at, of in request.body["aggs"].items()}
            return {"aggregations": {at: {"buckets": [{"key": word} for word in of]} for at, of in listed.items()}}
        assert isinstance(request, Statistics)
        terms = {word: {"doc_freq": count} for word, count in self.frequencies.items() if count}
        return {"term_vectors": {"body": {"terms": terms, "field_statistics": {"doc_count": 100}}}}

    def _listed(self, pattern: str) -> list[str]:
        return sorted(word for word in self.frequencies if word.startswith(pattern.removesuffix(".{0,}")))


def expand(vocabulary: Vocabulary, index: Index, text: str) -> ExpandedQuery:
    steps = vocabulary.expand(parse_query(text, ANALYZE))
    answers: Sequence[dict[str, Any]] | None = None
    while True:
        try:
            requests = next(steps) if answers is None else steps.send(answers)
        except StopIteration as ended:
            return ended.value
        answers = [index.answer(request) for request in requests]


def test_a_query_is_expanded_once_while_the_index_stays_as_it_is() -> None:
    index, vocabulary = Index({"restore": 5, "restored": 3, "backup": 2}), Vocabulary("i", ANALYZE)
    vocabulary.note(BranchPosition(1, "a"))
    first = expand(vocabulary, index, "restore backup")
    assert "restored" in first.words[0].forms
    count = len(index.asked)
    assert count == 2
    vocabulary.note(BranchPosition(1, "a"))
    assert expand(vocabulary, index, "restore backup") == first
    assert expand(vocabulary, index, "backup restore").words[1].forms == first.words[0].forms
    assert len(index.asked) == count


def test_a_word_that_was_absent_is_asked_again_when_the_index_has_changed() -> None:
    index, vocabulary = Index({"restore": 5}), Vocabulary("i", ANALYZE)
    vocabulary.note(BranchPosition(1, "a"))
    assert not expand(vocabulary, index, "kettle").known
    index.frequencies["kettle"] = 1
    assert not expand(vocabulary, index, "kettle").known
    vocabulary.note(BranchPosition(2, "b"))
    assert expand(vocabulary, index, "kettle").known


def test_what_was_there_is_kept_over_a_change() -> None:
    index, vocabulary = Index({"restore": 5, "restored": 3}), Vocabulary("i", ANALYZE)
    vocabulary.note(BranchPosition(1, "a"))
    expand(vocabulary, index, "restore")
    count = len(index.asked)
    assert "restored" in counted(index.asked)
    vocabulary.note(BranchPosition(2, "b"))
    expand(vocabulary, index, "restore")
    assert not {"restore", "restored"} & counted(index.asked[count:])


def counted(requests: Sequence[Request]) -> set[str]:
    """The words whose frequencies were asked for."""
    return {
        word for request in requests if isinstance(request, Statistics) for word in request.body["doc"]["body"].split()
    }
