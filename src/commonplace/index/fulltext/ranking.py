"""Ranks the documents that match a search, and their sections."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import islice, takewhile
from typing import Generic, Protocol, TypeVar, cast

import tantivy

from commonplace.domain.query import Background, ListQuery, NearDocument, SearchQuery
from commonplace.domain.query_parser import asked_title
from commonplace.domain.ranking import HEADING_BONUS, name_bonus
from commonplace.domain.semantic import FLOOR, agreement, fused, weight_of
from commonplace.index.catalogue.database import stored_language_folders
from commonplace.index.catalogue.document_rows import document_key, paths_by_key, titled_keys
from commonplace.index.catalogue.listing import sorted_keys
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.name_coverage import NOT_COVERED, NameCoverage
from commonplace.index.fulltext.query_builder import QueryBuilder, SearchScope
from commonplace.index.fulltext.scoring import RecentScorer, Snapshot
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.sites import TRANSLATION_WINDOW, readers_language_first

MAX_RERANKED = 30
"""Number of the best documents that are reranked by their best section."""
SECTION_WEIGHT = 0.7
"""Weight of the best section's score relative to the document's score.

With a lower weight, a long page with the words in different sections outranks the page on their subject.
"""
MAX_NAMED = 50
"""Number of the best documents by words whose titles and headings are compared with the query."""
SECTIONS_SEEN = 200
"""Minimum number of sections that are fetched for reranking."""
SECTIONS_EACH = 8
"""Minimum number of sections of each document among which the best one by words and headings is chosen."""
MAX_TIED = 100
"""Maximum number of documents with equal scores that are sorted by path.

Further ones are in the full text's order, which is the same for every page; sorting them would require fetching all.
"""


class _Counted(Protocol):
    """Attributes of a search result that the library's stubs lack."""

    @property
    def count(self) -> int: ...


Key = TypeVar("Key", bound=Hashable)
"""A document: its number, or its key in a search cluster."""
SectionScores = Mapping[int, Sequence[tuple[int, float]]]
"""Ordinals and scores by document, best first."""


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of results."""

    scores: Mapping[int, float]
    """Scores by document, in order."""
    sections: SectionScores
    total: int
    titled: frozenset[int] = frozenset()
    """Documents of the page whose title or alias equals the query."""


class Ranker:
    """Ranks the results of one search in one snapshot of the index.

    Args:
        connection: The catalogue, inside a transaction.
        fulltext: The full text.
        snapshot: The snapshot.
        expanded: The expanded query.
        known_only: Whether to exclude documents that the catalogue does not contain. They exist only after a process
            was killed, and excluding them costs a tenth of a search.
        language: The reader's language, for the order of translations; "" to leave their order unchanged.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        fulltext: ft.FullText,
        snapshot: Snapshot,
        expanded: ExpandedQuery,
        *,
        known_only: bool = False,
        language: str = "",
    ) -> None:
        self._connection = connection
        self._language = language
        self._language_folders = stored_language_folders(connection) if language else frozenset[str]()
        self._snapshot = snapshot
        self._searchers = snapshot.searchers
        self._recent = snapshot.recent
        self._expanded = expanded
        self._known_only = known_only
        self._query_builder = QueryBuilder(expanded, fulltext.document_schema, fulltext.section_schema)
        self._scorer = RecentScorer(expanded, snapshot.recent, snapshot.statistics)
        self._best_score = 0.0
        """The best score by words, of which bonuses are a share; 0 until documents are ranked by score."""
        self._covered: dict[int, NameCoverage] = {}
        """Coverage of the query by document, if it was computed."""

    def page(self, query: SearchQuery, scope: SearchScope) -> RankedPage:
        """The page of documents by the query's sort, offset and limit."""
        offset, limit = max(query.offset, 0), max(query.limit, 0)
        if scope.keys is not None and not scope.keys:
            return RankedPage({}, {}, 0)
        if query.similarity and not query.words:
            return self._fused(self._by_similarity(query, scope), {}, 0, query, scope)
        if query.sort != "score" or not self._expanded.has_terms:
            every = self.all(scope)
            sort = "path" if query.sort == "score" else query.sort
            order = ListQuery(sort=sort, descending=query.descending and sort == query.sort, offset=offset, limit=limit)
            chosen = {key: every[key] for key in sorted_keys(self._connection, list(every), order)}
            return RankedPage(chosen, self._sections_of(list(chosen), query.sections), len(every))
        if not query.descending:
            every = self._ordered(self.all(scope))
            chosen = dict(list(reversed(every.items()))[offset : offset + limit])
            return RankedPage(chosen, self._sections_of(list(chosen), query.sections), len(every))
        return self._best(scope, query)

    def all(self, scope: SearchScope) -> dict[int, float]:
        """Every matching document, with its score."""
        scored, _ = self._documents(scope, max(self._searchers.documents.num_docs, 1))
        return self._scorer.documents(scope) | scored

    def _best(self, scope: SearchScope, query: SearchQuery) -> RankedPage:
        offset, limit = max(query.offset, 0), max(query.limit, 0)
        least = TRANSLATION_WINDOW if self._language_folders else MAX_NAMED
        scored, total = self._documents(scope, max(offset + limit, least, MAX_NAMED))
        newer = self._scorer.documents(scope)
        ordered = self._ordered(newer | scored)
        total += len(newer) - (len(scored) + len(newer) - len(ordered))
        seen: SectionScores = {}
        if offset < MAX_RERANKED or query.similarity:
            # The similarity may raise any section, if more than one is shown.
            ordered, seen = self._reranked(ordered, SECTIONS_EACH if query.similarity else query.sections)
        if query.similarity:
            strict = bool(self._expanded.phrases or self._expanded.excluded or self._expanded.expression)
            return self._fused(RankFusion(self._connection, query, strict).fuse(ordered), seen, total, query, scope)
        return self._page(ordered, seen, total, query, scope)

    def _reranked(self, ordered: dict[int, float], count: int) -> tuple[dict[int, float], SectionScores]:
        """The documents with the best ones reranked by their names and their best section, and these sections.

        Args:
            ordered: Scores by document, best first.
            count: Number of sections of each document.
        """
        named = dict(islice(ordered.items(), MAX_NAMED))
        self._cover(list(named))
        window = by_names(named, self._covered)[:MAX_RERANKED]
        reranked = reranked_by_section(
            {key: ordered[key] for key in window},
            self._seen_sections(window, count, SECTIONS_EACH * len(window)),
            self._covered,
            count,
        )
        self._best_score = reranked.best
        rest = {key: score for key, score in ordered.items() if key not in reranked.scores}
        return reranked.scores | rest, reranked.sections

    def _cover(self, keys: Sequence[int]) -> None:
        """Compute how far the names of these documents and their headings cover the query."""
        missing = [key for key in keys if key not in self._covered]
        if missing and self._expanded.names:
            self._covered |= self._snapshot.names.coverages(self._connection, missing, self._expanded.names)

    def _coverage(self, key: int) -> NameCoverage:
        return self._covered.get(key, NOT_COVERED)

    def _by_similarity(self, query: SearchQuery, scope: SearchScope) -> FusedRanking:
        """The most similar documents, except distant ones that contain no word of the query."""
        ranking = RankFusion(self._connection, query).by_similarity()
        far = frozenset(key for key, similarity in ranking.scores.items() if similarity < FLOOR)
        shared = self.all(replace(scope, keys=far)) if far and self._expanded.has_terms else {}
        scores = {key: score for key, score in ranking.scores.items() if key not in far or key in shared}
        return FusedRanking(scores, ranking.nearest, len(scores))

    def _fused(
        self, meant: FusedRanking, seen: SectionScores, total: int, query: SearchQuery, scope: SearchScope
    ) -> RankedPage:
        """The requested page of a fused ranking. Documents without a matching word show their most similar section."""
        page = self._page(meant.scores, seen, total + meant.added, query, scope)
        sections = {
            key: blended(page.sections.get(key, ()), meant.nearest.get(key), query.sections) for key in page.scores
        }
        return replace(page, sections={key: found_pairs for key, found_pairs in sections.items() if found_pairs})

    def _page(
        self, ordered: dict[int, float], seen: SectionScores, total: int, query: SearchQuery, scope: SearchScope
    ) -> RankedPage:
        """The requested page of ranked documents.

        Args:
            ordered: Scores by document, best first.
            seen: The best sections of documents, if known.
            total: Number of all matching documents.
            query: The query.
            scope: The filter.
        """
        offset, limit = max(query.offset, 0), max(query.limit, 0)
        titled = self._titled(query, scope, ordered)
        if not query.words:
            total += len(titled.keys() - ordered.keys())
        ordered = titled | {**ordered, **titled}
        if self._language_folders:
            window = list(ordered)[:TRANSLATION_WINDOW]
            paths = self._snapshot.documents.paths(self._connection, window)
            ordered = readers_language_first(ordered, paths, self._language, self._language_folders)
        chosen = dict(list(ordered.items())[offset : offset + limit])
        if query.sections > SECTIONS_EACH or not all(key in seen for key in chosen):
            seen = self._sections_of(list(chosen), query.sections)
        # A translation that was moved behind other pages does not count as a document named by the query.
        return RankedPage(chosen, seen, total, frozenset(takewhile(titled.__contains__, ordered)))

    def _titled(self, query: SearchQuery, scope: SearchScope, ordered: Mapping[int, float]) -> dict[int, float]:
        """The matching documents whose title or alias equals the query, with scores that no other document exceeds."""
        title = asked_title(query.text)
        named = titled_keys(self._connection, title) if title else ()
        if not named:
            return {}
        missing = frozenset(named) - ordered.keys()
        if scope.keys is not None:
            missing &= scope.keys
        further: dict[int, float] = {}
        if missing:
            within = replace(scope, keys=missing)
            further = self._documents(within, len(missing))[0] | self._scorer.documents(within)
        best = max(ordered.values(), default=0.0)
        scores = {key: max(best, further.get(key, 0.0)) for key in named if key in ordered or key in further}
        places = {key: place for place, key in enumerate(ordered)}
        return dict(sorted(scores.items(), key=lambda element: places.get(element[0], len(places))))

    def _documents(self, scope: SearchScope, limit: int) -> tuple[dict[int, float], int]:
        """The best documents of the full text, in its order, and the number of all matches.

        All documents that tie with the last one are included, unless there are more than `MAX_TIED`.
        """
        query = self._query_builder.documents(scope, self._recent.hidden)
        searcher = self._searchers.documents
        # Tantivy allocates memory for the limit; a limit far above the number of documents can abort the process.
        limit = min(limit, max(searcher.num_docs, 1))
        result = searcher.search(query, limit=limit + 1)
        hits = result.hits
        if len(hits) > limit:
            last = hits[limit - 1][0]
            if hits[limit][0] == last:
                further = searcher.search(query, limit=limit + 1 + MAX_TIED, count=False).hits
                hits = [hit for hit in further if hit[0] >= last]
            else:
                hits = hits[:limit]
        keys = searcher.fast_field_values(ft.KEY, [address for _, address in hits])
        scores = {int(key or 0): float(score) for key, (score, _) in zip(keys, hits, strict=True)}
        return scores, cast("_Counted", result).count

    def _ordered(self, scores: Mapping[int, float]) -> dict[int, float]:
        """The documents sorted by score, best first, ties by path.

        Args:
            scores: Scores by document; documents of the full text are in its order.
        """
        alike = Counter(scores.values())
        tied = (
            [key for key, score in scores.items() if 1 < alike[score] <= MAX_TIED] if len(alike) < len(scores) else []
        )
        paths = self._snapshot.documents.paths(self._connection, scores if self._known_only else tied)
        keys = [key for key in scores if key in paths] if self._known_only else list(scores)
        if tied:
            keys.sort(key=lambda key: (-scores[key], paths.get(key, "")))
        else:
            keys.sort(key=scores.__getitem__, reverse=True)
        return {key: scores[key] for key in keys}

    def _sections_of(self, keys: Sequence[int], count: int) -> SectionScores:
        """The `count` best sections of each document."""
        if not keys or not self._expanded.has_terms or count < 1:
            return {}
        self._cover(keys)
        by_words = self._seen_sections(keys, count, SECTIONS_EACH * count * len(keys))
        named = {
            key: named_sections(by_words.get(key, ()), self._coverage(key), self._best_score, count)[:count]
            for key in keys
        }
        return {key: sections for key, sections in named.items() if sections}

    def _seen_sections(self, keys: Iterable[int], count: int, limit: int) -> dict[int, list[tuple[int, float]]]:
        newer = self._recent.documents.keys() & set(keys)
        older = [key for key in keys if key not in newer]
        sections = {key: self._scorer.sections(key) for key in newer}
        if older:
            sections |= self._best_sections(older, count, limit)
        return {key: sections for key, sections in sections.items() if sections}

    def _best_sections(self, keys: Sequence[int], count: int, limit: int) -> dict[int, list[tuple[int, float]]]:
        """Ordinals and scores of the best sections of documents, at least `count` of each; ties in document order.

        The full text returns ties in the order of insertion.

        Args:
            keys: The documents.
            count: Number of sections of each document whose headings do not cover the query.
            limit: Number of sections of all documents together, if it is more than `SECTIONS_SEEN`.
        """
        searcher, count = self._searchers.sections, max(count, 1)
        query = self._query_builder.sections(keys)
        hits = searcher.search(query, limit=max(SECTIONS_SEEN, limit), count=False).hits
        owners = cast("list[int]", searcher.fast_field_values(ft.KEY, [address for _, address in hits]))
        # A heading raises its section, which is not always the best one by words.
        counts = {key: max(count, SECTIONS_EACH) if self._coverage(key).headings else count for key in keys}
        chosen: dict[int, list[tuple[float, tantivy.DocAddress]]] = {key: [] for key in keys}
        for owner, hit in zip(owners, hits, strict=True):
            sections = chosen[owner]
            if len(sections) < counts[owner]:
                sections.append(hit)
        addresses = [address for sections in chosen.values() for _, address in sections]
        ordinals = iter(cast("list[int]", searcher.fast_field_values(ft.ORDINAL, addresses)))
        return {key: [(next(ordinals), score) for score, _ in sections] for key, sections in chosen.items()}


def by_names(scores: Mapping[Key, float], covered: Mapping[Key, NameCoverage]) -> list[Key]:
    """The documents, best first by their score and the greatest bonus of their names and headings.

    Args:
        scores: Scores by words.
        covered: Coverage of the query, if it is known.
    """
    best = max(scores.values(), default=0.0)
    bonuses = {
        key: name_bonus(best, of.title, max(of.headings.values(), default=0.0))
        for key in scores
        if (of := covered.get(key, NOT_COVERED)) is not NOT_COVERED
    }
    return sorted(scores, key=lambda key: scores[key] + bonuses.get(key, 0.0), reverse=True)


@dataclass(frozen=True, slots=True)
class RerankedDocuments(Generic[Key]):
    """Documents that were reranked by their best section."""

    scores: dict[Key, float]
    """Scores, best first."""
    sections: dict[Key, list[tuple[int, float]]]
    """Ordinals and scores of the sections, best first; a score includes the section's bonus."""
    best: float
    """The best score without bonuses."""


def reranked_by_section(
    scores: Mapping[Key, float],
    by_words: Mapping[Key, Sequence[tuple[int, float]]],
    covered: Mapping[Key, NameCoverage],
    count: int = SECTIONS_EACH,
) -> RerankedDocuments[Key]:
    """The documents, reranked by the sum of their score and that of their best section, which includes its bonus.

    Args:
        scores: Scores of the documents by words.
        by_words: Their sections by words, best first.
        covered: Coverage of the query by their names.
        count: Minimum number of sections of each document, if it has so many.
    """
    words = {key: score + SECTION_WEIGHT * (by_words[key][0][1] if by_words.get(key) else 0.0)
             for key, score in scores.items()}  # fmt: skip
    best = max(words.values(), default=0.0)
    sections = {
        key: named_sections(by_words.get(key, ()), covered.get(key, NOT_COVERED), best, count) for key in scores
    }
    sums = {
        key: score + SECTION_WEIGHT * max(score for _, score in plain)
        if (plain := _without_heading_bonus(sections[key], covered.get(key, NOT_COVERED), best))
        else score + name_bonus(best, title := covered.get(key, NOT_COVERED).title, title)
        for key, score in scores.items()
    }
    ordered = dict(sorted(sums.items(), key=lambda scored: -scored[1]))
    return RerankedDocuments(ordered, {key: found_pairs for key, found_pairs in sections.items() if found_pairs}, best)


def _without_heading_bonus(
    sections: Sequence[tuple[int, float]], coverage: NameCoverage, best: float
) -> Sequence[tuple[int, float]]:
    """The sections with scores that are comparable between documents.

    A section that the query names whole, first its document and then its heading, keeps its bonus.
    """
    if not coverage.named:
        return sections[:1]
    bonus = HEADING_BONUS * best / SECTION_WEIGHT
    partly = coverage.named - (coverage.whole if coverage.title else set())
    return [(ordinal, score - bonus if ordinal in partly else score) for ordinal, score in sections]


def named_sections(
    by_words: Sequence[tuple[int, float]], coverage: NameCoverage, best: float, count: int
) -> list[tuple[int, float]]:
    """The sections of a document by the sum of their score by words and their bonus, best first.

    Args:
        by_words: Ordinals and scores of sections, best first, ties in order.
        coverage: Coverage of the query by the names of the document and its headings.
        best: The best score of a document by words, without bonuses.
        count: Minimum number of sections, if the document has so many.
    """
    title, headings, others, named = coverage
    whole = best / SECTION_WEIGHT
    bonus = name_bonus(whole, title, title)
    sums = [(ordinal, score + bonus) for ordinal, score in by_words]
    if headings:
        scores = dict(by_words)
        added = [ordinal for ordinal in headings if ordinal not in scores]
        scores |= dict.fromkeys(nlargest(max(count, SECTIONS_EACH), added, key=headings.__getitem__), 0.0)
        of_heading = dict.fromkeys(named, HEADING_BONUS * whole)
        sums = [
            (
                ordinal,
                score
                + (name_bonus(whole, title, headings[ordinal]) if ordinal in headings else bonus)
                + of_heading.get(ordinal, 0.0),
            )
            for ordinal, score in scores.items()
        ]
        sums.sort(key=lambda section: (-section[1], section[0]))
    if others and len(sums) < count:
        # All sections have at least the bonus of the title, so those with this bonus alone come last, in their order.
        shown = {ordinal for ordinal, _ in sums}
        sums += ((at, bonus) for at in islice((at for at in others if at not in shown), count - len(sums)))
    return sums


def blended(
    by_words: Sequence[tuple[int, float]], near: NearDocument | None, count: int
) -> Sequence[tuple[int, float]]:
    """The best sections of a document by words and similarity.

    If only one section is requested, it is the best by words, so that a snippet can show the words.
    """
    if near is None or (by_words and count < 2):  # noqa: PLR2004
        return by_words
    highest = max((score for _, score in by_words), default=0.0) or 1.0
    scores = {ordinal: score / highest for ordinal, score in by_words}
    scores[near.ordinal] = scores.get(near.ordinal, 0.0) + max(near.similarity, 0.0)
    return sorted(scores.items(), key=lambda element: (-element[1], element[0]))[:count]


# Hybrid ranking: one ranking of documents by words and by similarity.


MAX_FUSED = 50
"""Maximum number of documents by words, and by similarity, that are fused. Further documents by words follow."""


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """Documents in fused order."""

    scores: dict[int, float]
    """Scores by document, best first."""
    nearest: Mapping[int, NearDocument]
    """The most similar section of each document, if known."""
    added: int = 0
    """Number of documents that contain none of the words."""


@dataclass(frozen=True, slots=True)
class RankFusion:
    """Ranks documents by words and similarity.

    Args:
        connection: The catalogue, inside a transaction.
        query: The query, with similarities.
        strict: Whether documents without any of the words are excluded, as in a search for a phrase.
    """

    connection: sqlite3.Connection
    query: SearchQuery
    strict: bool = field(default=False)

    def fuse(self, by_words: Mapping[int, float]) -> FusedRanking:
        """All documents in fused order.

        Args:
            by_words: Scores by words, best first.
        """
        window = dict(islice(by_words.items(), MAX_FUSED))
        nearness = self._nearness(list(window))
        scale = self.query.scale or max(window.values(), default=0.0) or 1.0
        near = {key: document.similarity for key, document in nearness.items()}
        similarity = self.query.similarity
        ordinary = similarity.background if similarity else Background()
        weight = weight_of(self.query.text, similarity.understood) if similarity else 0.0
        ordered = fused(window, near, scale, weight * agreement(window, near, ordinary), ordinary.threshold)
        rest = {key: score / scale for key, score in by_words.items() if key not in ordered}
        return FusedRanking(ordered | rest, nearness, len(near.keys() - by_words.keys()))

    def by_similarity(self) -> FusedRanking:
        """The most similar documents, regardless of their words."""
        best = {document_key(near.path): near for near in self._best()}
        there = self._paths(list(best))
        scores = {key: near.similarity for key, near in best.items() if key in there}
        return FusedRanking(scores, best, len(scores))

    def _nearness(self, keys: list[int]) -> dict[int, NearDocument]:
        """Similarities of these documents and of the most similar documents."""
        paths = self._paths(keys)
        documents: Mapping[str, NearDocument] = (
            self.query.similarity.of(list(paths.values())) if self.query.similarity else {}
        )
        near = {document_key(path): document for path, document in documents.items()}
        if self.strict:
            return near
        further = {
            document_key(document.path): document
            for document in self._best()[:MAX_FUSED]
            if document.similarity >= self._floor and document.path not in documents
        }
        there = self._paths(list(further))
        return near | {key: document for key, document in further.items() if key in there}

    @property
    def _floor(self) -> float:
        """The minimum similarity of a document without any of the words."""
        return max(FLOOR, self.query.similarity.background.threshold) if self.query.similarity else FLOOR

    def _best(self) -> list[NearDocument]:
        return list(self.query.similarity.best) if self.query.similarity else []

    def _paths(self, keys: list[int]) -> dict[int, str]:
        """Paths of the documents that exist."""
        return paths_by_key(self.connection, keys)
