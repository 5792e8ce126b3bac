"""Search by meaning in a cluster: compares a query's vector with those of pages, and fuses the result with the words.

The fusion is the same as in the embedded index (`index.fulltext.hybrid_ranking`). The similarity of a page is that of
its most similar chunk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from commonplace.domain.query import Filter, SearchQuery
from commonplace.domain.semantic.fusion import FLOOR, agreement, background, fused, weight_of
from commonplace.domain.similarity import Background, NearDocument, QuestionVector
from commonplace.index.fulltext.hybrid_ranking import MAX_FUSED
from commonplace.index.shared.opensearch.connection import Answer
from commonplace.index.shared.opensearch.search.pages import ClusterPage
from commonplace.index.shared.opensearch.search.query_dsl import filter_clauses, left_out
from commonplace.index.shared.opensearch.search.requests import Search

MAX_COMPARED = 20_000
"""Maximum number of chunks for an exact comparison. Beyond it, the graph is used, which may miss a page."""
CHUNKS_EACH = 6
"""Number of chunks requested from the graph for each page, because a similar page has several similar chunks."""
MAX_NEIGHBOURS = 10_000
"""Maximum number of chunks requested from the graph."""
SAMPLED, SAMPLED_EACH = 128, 8
"""Number of pages in the sample that determines an ordinary similarity, and of chunks of each page."""
_HEX = 8
"""Number of digits of a page's key that determine whether it is in the sample."""

Clause = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VectorField:
    """The vectors of a base by one model."""

    index: str
    name: str
    """Name of the field."""
    pages: int
    """Number of pages with chunks."""
    chunks: int
    """Number of chunks."""


@dataclass(frozen=True, slots=True)
class NearPages:
    """The most similar pages."""

    pages: Mapping[str, NearDocument]
    """Most similar chunks of pages by key, most similar page first."""
    ordinary: Background
    """The similarity of an ordinary page."""
    understood: float
    """The share of the query that the model has tokens for."""

    def is_far(self, key: str) -> bool:
        """Whether a page is too dissimilar to match without a word of the query."""
        return self.pages[key].similarity < FLOOR

    def beyond(self, by_words: Sequence[ClusterPage]) -> list[str]:
        """Keys of the pages to fuse that are not among the best by words."""
        known = {page.key for page in by_words[:MAX_FUSED]}
        least = max(FLOOR, self.ordinary.threshold)
        best = list(self.pages.items())[:MAX_FUSED]
        return [key for key, near in best if near.similarity >= least and key not in known]


@dataclass(frozen=True, slots=True)
class FusedPages:
    """Pages in fused order."""

    pages: Sequence[ClusterPage]
    nearest: Mapping[str, NearDocument]
    """The most similar chunk of each page, if known."""
    added: int
    """Number of pages that contain none of the words."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query as a vector, and the vectors of the base to compare it with."""

    question: QuestionVector
    vectors: VectorField

    def searches(self, filter_: Filter, count: int) -> list[Search]:
        """The searches for the most similar pages and for a sample of pages; `nearest` evaluates the answers."""
        ordinary: list[Clause] = [{"range": {"number": {"lt": SAMPLED_EACH}}}]
        if self.vectors.pages > SAMPLED:
            # Keys are digests, so the pages with keys below a bound are a random sample, and always the same.
            bound = SAMPLED * 16**_HEX // self.vectors.pages
            ordinary.append({"range": {"page": {"lt": f"{bound:0{_HEX}x}"}}})
        clauses = list(filter_clauses(filter_))
        clauses += left_out(filter_)
        best = self._by_graph(clauses, count) if self._uses_graph else self._compared(clauses, count)
        return [best, self._compared(ordinary, 2 * SAMPLED)]

    def of(self, keys: Sequence[str]) -> Search:
        """The search for the similarities of these pages."""
        return self._compared([{"terms": {"page": list(keys)}}], len(keys))

    def chunks(self, count: int) -> Search:
        """The search for the most similar chunks."""
        if self._uses_graph:
            return self._by_graph([], count, each=1)
        return self._compared([], count, collapse=False)

    def nearest(self, answers: Sequence[Answer]) -> NearPages:
        """The most similar pages, from the answers to `searches`."""
        best, ordinary = answers
        sample = [one.similarity for one in self.similarities(ordinary).values()]
        found = self.similarities(best, by_graph=self._uses_graph)
        return NearPages(found, background(sample), self.question.understood)

    def similarities(self, answer: Answer, *, by_graph: bool = False) -> dict[str, NearDocument]:
        """The most similar chunk of each page, most similar first."""
        return {
            str(hit["fields"]["page"][0]): NearDocument(
                str(hit["fields"]["path"][0]), int(hit["fields"]["ordinal"][0]), _cosine(hit, by_graph=by_graph)
            )
            for hit in answer["hits"]["hits"]
        }

    def near_chunks(self, answer: Answer) -> list[tuple[NearDocument, int, int]]:
        """The chunks in an answer to `chunks`, most similar first, each with its number and the page's chunk count."""
        return [
            (
                NearDocument(
                    str(hit["fields"]["path"][0]),
                    int(hit["fields"]["ordinal"][0]),
                    _cosine(hit, by_graph=self._uses_graph),
                ),
                int(hit["fields"]["number"][0]),
                int(hit["fields"]["of"][0]),
            )
            for hit in answer["hits"]["hits"]
        ]

    @property
    def _uses_graph(self) -> bool:
        return self.vectors.chunks > MAX_COMPARED

    def _compared(self, clauses: Sequence[Clause], count: int, *, collapse: bool = True) -> Search:
        """The search that compares all chunks that match the clauses."""
        script = {
            "lang": "knn",
            "source": "knn_score",
            "params": {
                "field": self.vectors.name,
                "query_value": list(self.question.values),
                "space_type": "cosinesimil",
            },
        }
        chosen = {"bool": {"filter": [{"exists": {"field": self.vectors.name}}, *clauses]}}
        return self._search({"script_score": {"query": chosen, "script": script}}, count, collapse=collapse)

    def _by_graph(self, clauses: Sequence[Clause], count: int, each: int = CHUNKS_EACH) -> Search:
        near: dict[str, Any] = {"vector": list(self.question.values), "k": min(count * each, MAX_NEIGHBOURS)}
        if clauses:
            near["filter"] = {"bool": {"filter": list(clauses)}}
        graph = {"knn": {self.vectors.name: near}}
        return self._search(graph, count, collapse=each > 1)

    def _search(self, query: Clause, count: int, *, collapse: bool) -> Search:
        body: dict[str, Any] = {
            "query": query,
            "size": count,
            "track_total_hits": False,
            "_source": False,
            "docvalue_fields": ["path", "ordinal", "number", "of"],
        }
        body["docvalue_fields"] += [] if collapse else ["page"]
        return Search(self.vectors.index, {**body, "collapse": {"field": "page"}} if collapse else body)


def _cosine(hit: Mapping[str, Any], *, by_graph: bool) -> float:
    """The cosine of a hit. The score of a comparison is the cosine plus 1, and that of the graph is half of this."""
    score = float(hit["_score"])
    return 2 * score - 1 if by_graph else score - 1


def fuse_pages(
    query: SearchQuery,
    by_words: Sequence[ClusterPage],
    further: Sequence[ClusterPage],
    nearest: NearPages,
    known: Mapping[str, NearDocument],
) -> FusedPages:
    """All pages in fused order.

    Args:
        query: The query.
        by_words: Pages by words, best first.
        further: The existing pages among those of `NearPages.beyond`.
        nearest: The most similar pages.
        known: The similarities of the best pages by words.
    """
    window = {page.key: page.score for page in by_words[:MAX_FUSED]}
    near = {**known, **{page.key: nearest.pages[page.key] for page in further}}
    scale = query.scale or max(window.values(), default=0.0) or 1.0
    similarities = {key: one.similarity for key, one in near.items()}
    weight = weight_of(query.text, nearest.understood) * agreement(window, similarities, nearest.ordinary)
    ordered = fused(window, similarities, scale, weight, nearest.ordinary.threshold)
    pages = {page.key: page for page in (*further, *by_words)}
    best = [replace(pages[key], score=score) for key, score in ordered.items() if key in pages]
    rest = [replace(page, score=page.score / scale) for page in by_words if page.key not in ordered]
    return FusedPages([*best, *rest], near, len(near.keys() - {page.key for page in by_words}))


def pages_by_meaning(
    nearest: NearPages, records: Mapping[str, ClusterPage], left_out: AbstractSet[str], titled: Sequence[ClusterPage]
) -> FusedPages:
    """The most similar existing pages, followed by further pages whose title equals the query.

    Args:
        nearest: The most similar pages.
        records: Pages that exist.
        left_out: Pages to exclude.
        titled: Pages whose title or alias equals the query.
    """
    near = [
        replace(records[key], score=one.similarity)
        for key, one in nearest.pages.items()
        if key in records and key not in left_out
    ]
    there = {page.key for page in near}
    named = [replace(page, score=0.0) for page in titled if page.key not in there]
    return FusedPages([*near, *named], nearest.pages, len(near) + len(named))
