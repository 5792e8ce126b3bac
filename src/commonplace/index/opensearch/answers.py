"""Ranked pages of one base: the queries of a search, their fusion, and hits made of stored fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.query import (
    Background,
    Filter,
    Hit,
    NearDocument,
    QuestionVector,
    SearchQuery,
    SearchResult,
    SectionHit,
)
from commonplace.domain.query_parser import NO_WORDS, Analyze, asked_title, exclusion_notice, is_title, parse_query
from commonplace.domain.semantic import FLOOR, agreement, background, fused, weight_of
from commonplace.domain.snippets import HighlightTerms, SnippetSource, snippet, with_labels
from commonplace.index.fulltext.ranking import (
    MAX_FUSED,
    MAX_NAMED,
    MAX_RERANKED,
    NOT_COVERED,
    SECTIONS_EACH,
    NameCoverage,
    blended,
    by_names,
    named_sections,
    reranked_by_section,
)
from commonplace.index.fulltext.searcher import highlight_terms
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.opensearch.connection import Answer, Search, Steps, Stored
from commonplace.index.opensearch.indexes import HitSection, shown_section
from commonplace.index.opensearch.queries import (
    ClusterPage,
    ClusterPages,
    Vocabulary,
    by_score,
    chosen_query,
    filter_clauses,
    found_coverage,
    found_pages,
    found_sections,
    left_out,
    name_searches,
    order,
    page_query,
    page_search,
    section_search,
)

_NO_SECTION = HitSection((), "", "")
NEAREST = 100
"""Minimum number of pages that a search by meaning fetches."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Pages in order."""

    pages: Sequence[ClusterPage]
    total: int
    sections: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict[str, Sequence[tuple[int, float]]])
    """Ordinals and scores of the best sections, by page."""


class BaseSearch:
    """One search of one base.

    Args:
        index: The base's index or alias.
        vocabulary: The terms of the index.
        analyze: The full text's tokenizer.
        labels: Returns label and page of those links of a page that are written with the label first.
        meaning: The query as a vector, and the vectors of the base; None for a search by words.
    """

    def __init__(
        self,
        index: str,
        vocabulary: Vocabulary,
        analyze: Analyze,
        labels: Callable[[Address], Collection[tuple[str, str]]],
        meaning: Meaning | None = None,
    ) -> None:
        self._labels = labels
        self._index = index
        self._vocabulary = vocabulary
        self._analyze = analyze
        self._meaning = meaning
        self._covered: dict[str, NameCoverage] = {}
        """Coverage of the query by page, if it was computed."""
        self._best_score = 0.0
        """The best score by words, of which bonuses are a share; 0 until pages are ranked by score."""
        self._texts: dict[tuple[str, int], str] = {}
        """Shown texts of the sections that were fetched together with their scores."""
        self.partial = False
        """Whether a part of the index could not be searched."""

    def answer(self, query: SearchQuery) -> Steps[SearchResult]:
        """A page of hits. The query's text must not be blank."""
        question = parse_query(query.text, self._analyze, prefix=query.prefix, demand=query.demand)
        if question.empty:
            return SearchResult(hits=(), total=0, notice=NO_WORDS)
        expanded = yield from self._vocabulary.expand(question)
        ranked = yield from self._ranked(expanded, query)
        terms = highlight_terms(expanded, self._analyze)
        hits: tuple[Hit, ...] = ()
        if query.records:
            hits = yield from self._hits(ranked, query, terms)
        return SearchResult(
            hits=hits,
            total=ranked.total,
            addresses=() if query.records else tuple(page.record.address for page in ranked.pages),
            highlight=terms,
            demanded=len(expanded.phrases),
            has_operators=expanded.expression is not None,
            known=expanded.known or not expanded.has_terms,
            unknown=expanded.unknown,
            notice=exclusion_notice(query.text, question),
        )

    def _ranked(self, expanded: ExpandedQuery, query: SearchQuery) -> Steps[_Ranked]:
        offset, limit = max(query.offset, 0), max(query.limit, 0)
        if self._meaning is not None and not query.words:
            return (yield from self._by_meaning(self._meaning, expanded, query))
        if query.sort == "score" and query.descending and expanded.has_terms:
            if self._meaning is not None:
                return (yield from self._by_both(self._meaning, expanded, query))
            if offset < MAX_RERANKED:
                return (yield from self._best(expanded, query))
        by = query.sort
        if by == "score" and expanded.has_terms:
            sort = by_score(descending=query.descending)
        else:
            sort = order(by, descending=query.descending and by != "score")
        ranked = yield from self._pages(expanded, query, sort, offset, limit)
        seen = yield from self._sections(expanded, ranked.pages, query.sections)
        return _Ranked(ranked.pages, ranked.total, seen)

    def _best(self, expanded: ExpandedQuery, query: SearchQuery) -> Steps[_Ranked]:
        """The best pages by words; the first ones are reranked by their best section."""
        last = max(query.offset, 0) + max(query.limit, 0)
        ranked = yield from self._pages(expanded, query, by_score(descending=True), 0, max(last, MAX_NAMED))
        pages, seen = yield from self._reranked(expanded, ranked.pages)
        ordered = titled_first(pages, asked_title(query.text))
        return (yield from self._cut(_Ranked(ordered, ranked.total, seen), expanded, query))

    def _by_both(self, meaning: Meaning, expanded: ExpandedQuery, query: SearchQuery) -> Steps[_Ranked]:
        """The best pages by words and by meaning, fused as the embedded index fuses them."""
        last = max(query.offset, 0) + max(query.limit, 0)
        by_words = page_query(expanded, query.filter)
        words, *near = yield [
            page_search(self._index, by_words, by_score(descending=True), 0, max(last, MAX_NAMED)),
            *meaning.searches(query.filter, MAX_FUSED),
        ]
        ranked, nearest = self._found(words), meaning.nearest(near)
        strict = bool(expanded.phrases or expanded.excluded or expanded.expression)
        pages, seen = yield from self._reranked(expanded, ranked.pages)
        further = [] if strict else nearest.beyond(pages)
        answer, records = yield [meaning.of([page.key for page in pages[:MAX_FUSED]]), self._chosen(further)]
        fused = fuse_pages(query, pages, self._found(records).pages, nearest, meaning.similarities(answer))
        return (yield from self._meant(fused, ranked.total, seen, expanded, query))

    def _reranked(
        self, expanded: ExpandedQuery, pages: Sequence[ClusterPage]
    ) -> Steps[tuple[Sequence[ClusterPage], Mapping[str, Sequence[tuple[int, float]]]]]:
        """The pages with the first ones reranked as in the embedded index, and their sections."""
        yield from self._cover(expanded, pages[:MAX_NAMED])
        scores = {page.key: page.score for page in pages[:MAX_NAMED]}
        window = by_names(scores, self._covered)[:MAX_RERANKED]
        (answer,) = yield [section_search(self._index, expanded, window, 1)]
        reranked = reranked_by_section({key: scores[key] for key in window}, self._seen(answer, 1), self._covered)
        self._best_score = reranked.best
        by_key = {page.key: page for page in pages}
        first = [replace(by_key[key], score=score) for key, score in reranked.scores.items()]
        return [*first, *(page for page in pages if page.key not in reranked.scores)], reranked.sections

    def _cover(self, expanded: ExpandedQuery, pages: Sequence[ClusterPage]) -> Steps[None]:
        """Compute how far the names and headings of these pages cover the query."""
        lacking = [page.key for page in pages if page.key not in self._covered]
        if lacking and expanded.names:
            names, headings = yield name_searches(self._index, expanded, lacking)
            self._check(names)
            self._check(headings)
            self._covered |= found_coverage(names, headings, expanded.names)

    def _by_meaning(self, meaning: Meaning, expanded: ExpandedQuery, query: SearchQuery) -> Steps[_Ranked]:
        """The most similar pages, except distant ones that contain no word of the query."""
        count = max(NEAREST, query.offset + query.limit)
        titles = page_search(
            self._index, page_query(expanded, query.filter), by_score(descending=True), 0, MAX_RERANKED
        )
        searches = [*meaning.searches(query.filter, count), *([titles] if expanded.has_terms else [])]
        answers = yield searches
        nearest = meaning.nearest(answers[:2])
        named: Sequence[ClusterPage] = self._found(answers[2]).pages if expanded.has_terms else ()
        far = [key for key in nearest.pages if nearest.is_far(key)]
        meanings = [self._chosen(list(nearest.pages))]
        if far and expanded.has_terms:
            sharing = chosen_query(far, [page_query(expanded, query.filter)])
            meanings.append(Search(self._index, {"query": sharing, "size": len(far), "_source": ["page"]}))
        answers = yield meanings
        shared = {hit["_source"]["page"] for hit in answers[1]["hits"]["hits"]} if len(meanings) > 1 else set[str]()
        records = {page.key: page for page in self._found(answers[0]).pages}
        titled = [page for page in named if is_asked(page, asked_title(query.text))]
        fused = pages_by_meaning(nearest, records, {key for key in far if key not in shared}, titled)
        return (yield from self._meant(fused, 0, {}, expanded, query))

    def _meant(
        self,
        fused: FusedPages,
        total: int,
        seen: Mapping[str, Sequence[tuple[int, float]]],
        expanded: ExpandedQuery,
        query: SearchQuery,
    ) -> Steps[_Ranked]:
        """The requested page of a fused ranking. Pages without a matching word show their most similar section."""
        ordered = titled_first(fused.pages, asked_title(query.text))
        page = yield from self._cut(_Ranked(ordered, total + fused.added, seen), expanded, query)
        sections = {
            item.key: blended(page.sections.get(item.key, ()), fused.nearest.get(item.key), query.sections)
            for item in page.pages
        }
        return replace(page, sections={key: found_pairs for key, found_pairs in sections.items() if found_pairs})

    def _cut(self, ranked: _Ranked, expanded: ExpandedQuery, query: SearchQuery) -> Steps[_Ranked]:
        """The requested page of ranked pages; fetches the sections that are not known yet."""
        offset = max(query.offset, 0)
        chosen = ranked.pages[offset : offset + max(query.limit, 0)]
        whole = query.sections > SECTIONS_EACH
        unseen = [page for page in chosen if whole or page.key not in ranked.sections] if query.sections else []
        later = yield from self._sections(expanded, unseen, query.sections)
        return _Ranked(chosen, ranked.total, {**ranked.sections, **later})

    def _pages(
        self, expanded: ExpandedQuery, query: SearchQuery, sort: list[dict[str, str]], offset: int, limit: int
    ) -> Steps[ClusterPages]:
        (answer,) = yield [page_search(self._index, page_query(expanded, query.filter), sort, offset, limit)]
        return self._found(answer)

    def _chosen(self, keys: Sequence[str]) -> Search:
        """The search for the records of these pages."""
        return page_search(self._index, chosen_query(keys, []), [], 0, len(keys))

    def _found(self, answer: Answer) -> ClusterPages:
        self._check(answer)
        return found_pages(answer)

    def _sections(
        self, expanded: ExpandedQuery, pages: Sequence[ClusterPage], count: int
    ) -> Steps[dict[str, list[tuple[int, float]]]]:
        """Ordinals and scores of the `count` best sections of each page, ties in order."""
        if not pages or count < 1 or not expanded.has_terms:
            return {}
        yield from self._cover(expanded, pages)
        keys = [page.key for page in pages]
        (answer,) = yield [section_search(self._index, expanded, keys, count)]
        seen = self._seen(answer, count)
        named = {
            key: named_sections(seen.get(key, ()), self._covered.get(key, NOT_COVERED), self._best_score, count)[:count]
            for key in keys
        }
        return {key: sections for key, sections in named.items() if sections}

    def _seen(self, answer: Answer, count: int) -> dict[str, list[tuple[int, float]]]:
        self._check(answer)
        return found_sections(answer, count)

    def _check(self, answer: Mapping[str, Any]) -> None:
        shards = answer["_shards"]
        # A shard without a running copy counts as neither successful nor failed.
        if shards["successful"] < shards["total"] or answer["timed_out"]:
            self.partial = True

    def _hits(self, ranked: _Ranked, query: SearchQuery, terms: HighlightTerms) -> Steps[tuple[Hit, ...]]:
        if not query.sections:
            return tuple(Hit(record=page.record, score=page.score, titled=page.titled) for page in ranked.pages)
        chosen = {
            page.key: list(ranked.sections.get(page.key, ()))[: query.sections] or [(page.first, 0.0)]
            for page in ranked.pages
        }
        texts = yield from self._shown([(key, ordinal) for key, pairs in chosen.items() for ordinal, _ in pairs])

        def shown(page: ClusterPage, ordinal: int, score: float) -> SectionHit:
            section = texts.get((page.key, ordinal), _NO_SECTION)
            text = with_labels(SnippetSource(section.text), partial(self._labels, page.record.address))
            return SectionHit(
                ordinal=ordinal,
                path=section.path,
                anchor=section.anchor,
                snippet=snippet(text, terms, query.snippet),
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

    def _shown(self, sections: Sequence[tuple[str, int]]) -> Steps[dict[tuple[str, int], HitSection]]:
        """The shown parts of sections; a section that was deleted meanwhile is omitted."""
        lacking = [section for section in sections if section not in self._texts]
        if lacking:
            keys = [(f"{key}-{ordinal}", key) for key, ordinal in lacking]
            (answer,) = yield [Stored(self._index, keys, "shown")]
            for section, doc in zip(lacking, answer["docs"], strict=True):
                if doc.get("found"):
                    self._texts[section] = doc["_source"]["shown"]
        return {section: shown_section(self._texts[section]) for section in sections if section in self._texts}


def is_asked(page: ClusterPage, title: str) -> bool:
    """Whether the title or an alias of a page equals the query."""
    return bool(title) and is_title(title, (page.record.title, *page.record.aliases))


def titled_first(pages: Sequence[ClusterPage], title: str) -> list[ClusterPage]:
    """The pages, best first, after those whose title or alias equals the query; these get the highest score."""
    best = max((page.score for page in pages), default=0.0)
    titled = {page.key: replace(page, score=best, titled=True) for page in pages if is_asked(page, title)}
    return [*titled.values(), *(page for page in pages if page.key not in titled)]


# Search by meaning in a cluster: compares a query's vector with those of pages, and fuses the result with the words.
#
# The fusion is the same as in the embedded index (`index.fulltext.ranking`). The similarity of a page is that
# of its most similar chunk.


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
        keys = {page.key for page in by_words[:MAX_FUSED]}
        least = max(FLOOR, self.ordinary.threshold)
        best = list(self.pages.items())[:MAX_FUSED]
        return [key for key, near in best if near.similarity >= least and key not in keys]


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
        sample = [document.similarity for document in self.similarities(ordinary).values()]
        similarities = self.similarities(best, by_graph=self._uses_graph)
        return NearPages(similarities, background(sample), self.question.understood)

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
    documents: Mapping[str, NearDocument],
) -> FusedPages:
    """All pages in fused order.

    Args:
        query: The query.
        by_words: Pages by words, best first.
        further: The existing pages among those of `NearPages.beyond`.
        nearest: The most similar pages.
        documents: The similarities of the best pages by words.
    """
    window = {page.key: page.score for page in by_words[:MAX_FUSED]}
    near = {**documents, **{page.key: nearest.pages[page.key] for page in further}}
    scale = query.scale or max(window.values(), default=0.0) or 1.0
    similarities = {key: document.similarity for key, document in near.items()}
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
        replace(records[key], score=document.similarity)
        for key, document in nearest.pages.items()
        if key in records and key not in left_out
    ]
    there = {page.key for page in near}
    named = [replace(page, score=0.0) for page in titled if page.key not in there]
    return FusedPages([*near, *named], nearest.pages, len(near) + len(named))
