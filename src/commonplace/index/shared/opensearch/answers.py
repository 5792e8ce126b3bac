"""Ranked pages of one base: the two queries of a search, their fusion, and hits made of stored fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from commonplace.domain.cluster.shared_index import LinkLabels, no_labels
from commonplace.domain.query import Hit, Record, SearchQuery, SearchResult, SectionHit
from commonplace.domain.query_parser import NO_WORDS, Analyze, asked_title, is_title, parse_query
from commonplace.domain.snippets import HighlightTerms, snippet, with_labels
from commonplace.index.fulltext.ranking import MAX_RERANKED, SECTION_WEIGHT, SECTIONS_SEEN
from commonplace.index.fulltext.searcher import highlight_terms
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.shared.opensearch.connection import Answer, Connection
from commonplace.index.shared.opensearch.documents import ShownSection, record_from_json, shown_section
from commonplace.index.shared.opensearch.layout import MAX_WINDOW
from commonplace.index.shared.opensearch.query_dsl import by_score, order, page_query, section_query
from commonplace.index.shared.opensearch.vocabulary import Vocabulary

_NO_SECTION = ShownSection((), "", "")


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the results."""

    key: str
    score: float
    record: Record
    first: int
    """Ordinal of the first section."""
    titled: bool = False
    """Whether the query is its title or one of its aliases."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Pages in order."""

    pages: Sequence[_Page]
    total: int
    sections: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict[str, Sequence[tuple[int, float]]])
    """Ordinals and scores of the best sections, by page."""


class BaseSearch:
    """One search of one base.

    Args:
        connection: The cluster.
        index: The base's index or alias.
        vocabulary: Its terms.
        analyze: The full text's tokenizer.
        labels: Returns label and page of a page's links that have the label first.
    """

    def __init__(
        self,
        connection: Connection,
        index: str,
        vocabulary: Vocabulary,
        analyze: Analyze,
        labels: LinkLabels = no_labels,
    ) -> None:
        self._labels = labels
        self._connection = connection
        self._index = index
        self._vocabulary = vocabulary
        self._analyze = analyze
        self.partial = False
        """Whether a part of the index could not be searched."""

    def answer(self, query: SearchQuery) -> SearchResult:
        """A page of hits. The text is not blank."""
        question = parse_query(query.text, self._analyze, prefix=query.prefix, demand=query.demand)
        if question.empty:
            return SearchResult(hits=(), total=0, notice=NO_WORDS)
        expanded = self._vocabulary.expand(question)
        ranked = self._ranked(expanded, query)
        wanted = highlight_terms(expanded, self._analyze)
        return SearchResult(
            hits=self._hits(ranked, query, wanted) if query.records else (),
            total=ranked.total,
            addresses=() if query.records else tuple(page.record.address for page in ranked.pages),
            highlight=wanted,
            demanded=len(expanded.phrases),
            known=expanded.known or not expanded.has_terms,
            unknown=expanded.unknown,
        )

    def _ranked(self, expanded: ExpandedQuery, query: SearchQuery) -> _Ranked:
        offset, limit = max(query.offset, 0), max(query.limit, 0)
        if query.sort == "score" and query.descending and expanded.has_terms:
            return self._best(expanded, query, offset, limit)
        if query.sort == "score" and expanded.has_terms:
            ranked = self._pages(expanded, query, by_score(descending=False), offset, limit)
        else:
            ranked = self._pages(
                expanded, query, order(query.sort, descending=query.descending and query.sort != "score"), offset, limit
            )
        return _Ranked(ranked.pages, ranked.total, self._sections(expanded, ranked.pages, query.sections))

    def _best(self, expanded: ExpandedQuery, query: SearchQuery, offset: int, limit: int) -> _Ranked:
        """The best pages, the first of them reranked by their best section."""
        if offset >= MAX_RERANKED:
            ranked = self._pages(expanded, query, by_score(descending=True), offset, limit)
            return _Ranked(ranked.pages, ranked.total, self._sections(expanded, ranked.pages, query.sections))
        ranked = self._pages(expanded, query, by_score(descending=True), 0, max(offset + limit, MAX_RERANKED))
        window = ranked.pages[:MAX_RERANKED]
        seen = self._sections(expanded, window, max(query.sections, 1))
        scored = [
            _Page(page.key, page.score + SECTION_WEIGHT * seen[page.key][0][1], page.record, page.first)
            if page.key in seen
            else page
            for page in window
        ]
        first = _titled_first(sorted(scored, key=lambda page: -page.score), asked_title(query.text))
        ordered = [*first, *ranked.pages[MAX_RERANKED:]]
        chosen = ordered[offset : offset + limit]
        later = [page for page in chosen if page in ranked.pages[MAX_RERANKED:]] if query.sections else []
        return _Ranked(chosen, ranked.total, {**seen, **self._sections(expanded, later, query.sections)})

    def _pages(
        self, expanded: ExpandedQuery, query: SearchQuery, sort: list[dict[str, str]], offset: int, limit: int
    ) -> _Ranked:
        size = max(min(limit, MAX_WINDOW - offset), 0)
        body = {
            "query": page_query(expanded, query.filter),
            "from": min(offset, MAX_WINDOW),
            "size": size,
            "sort": sort,
            "track_scores": True,
            "track_total_hits": True,
            "_source": ["page", "shown", "first"],
        }
        found = self._search(body)["hits"]
        pages = [
            _Page(
                hit["_source"]["page"],
                float(hit["_score"] or 0.0),
                record_from_json(hit["_source"]["shown"]),
                hit["_source"]["first"],
            )
            for hit in found["hits"]
        ]
        return _Ranked(pages, int(found["total"]["value"]))

    def _sections(
        self, expanded: ExpandedQuery, pages: Sequence[_Page], count: int
    ) -> dict[str, list[tuple[int, float]]]:
        """Ordinals and scores of the `count` best sections of each page, ties in order."""
        if not pages or count < 1 or not expanded.has_terms:
            return {}
        body = {
            "query": section_query(expanded, [page.key for page in pages]),
            "size": max(SECTIONS_SEEN, 8 * count * len(pages)),
            "sort": [{"_score": "desc"}, {"ordinal": "asc"}],
            "track_scores": True,
            "track_total_hits": False,
            "_source": False,
            "docvalue_fields": ["page", "ordinal"],
        }
        chosen: dict[str, list[tuple[int, float]]] = {}
        for hit in self._search(body)["hits"]["hits"]:
            sections = chosen.setdefault(hit["fields"]["page"][0], [])
            if len(sections) < count:
                sections.append((int(hit["fields"]["ordinal"][0]), float(hit["_score"])))
        return chosen

    def _search(self, body: dict[str, Any]) -> Answer:
        answer = self._connection.ask("POST", f"/{self._index}/_search", body)
        shards = answer["_shards"]
        # A shard of which no copy lives counts as neither successful nor failed.
        if shards["successful"] < shards["total"] or answer["timed_out"]:
            self.partial = True
        return answer

    def _hits(self, ranked: _Ranked, query: SearchQuery, wanted: HighlightTerms) -> tuple[Hit, ...]:
        if not query.sections:
            return tuple(Hit(record=page.record, score=page.score, titled=page.titled) for page in ranked.pages)
        chosen = {
            page.key: list(ranked.sections.get(page.key, ()))[: query.sections] or [(page.first, 0.0)]
            for page in ranked.pages
        }
        texts = self._texts([(key, ordinal) for key, found in chosen.items() for ordinal, _ in found])

        def shown(page: _Page, ordinal: int, score: float) -> SectionHit:
            section = texts.get((page.key, ordinal), _NO_SECTION)
            text = with_labels(section.text, partial(self._labels, page.record.address))
            return SectionHit(
                ordinal=ordinal,
                path=section.path,
                anchor=section.anchor,
                snippet=snippet(text, wanted, query.snippet),
                score=score,
            )

        return tuple(
            Hit(
                record=page.record,
                score=page.score,
                titled=page.titled,
                sections=tuple(shown(page, ordinal, score) for ordinal, score in chosen[page.key]),
            )
            for page in ranked.pages
        )

    def _texts(self, sections: Sequence[tuple[str, int]]) -> dict[tuple[str, int], ShownSection]:
        """What hits show of sections. One that has gone meanwhile is omitted."""
        if not sections:
            return {}
        asked = [{"_id": f"{key}-{ordinal}", "routing": key} for key, ordinal in sections]
        found = self._connection.ask("POST", f"/{self._index}/_mget", {"docs": asked}, _source="shown")["docs"]
        return {
            section: shown_section(one["_source"]["shown"])
            for section, one in zip(sections, found, strict=True)
            if one.get("found")
        }


def _titled_first(pages: Sequence[_Page], title: str) -> list[_Page]:
    """Pages best first, before them those whose title or alias is the query, with scores no other one exceeds."""
    best = max((page.score for page in pages), default=0.0)
    titled = {
        page.key: replace(page, score=best, titled=True)
        for page in pages
        if title and is_title(title, (page.record.title, *page.record.aliases))
    }
    return [*titled.values(), *(page for page in pages if page.key not in titled)]
