"""Scores of recent documents, by the formulas and statistics of the full text."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from typing import TypedDict, cast

import tantivy
from tantivy import Query

from commonplace.domain.query_parser import PhraseTerms, holds
from commonplace.domain.ranking import FieldStatistics, best_of, bm25, phrase_bm25, phrase_count
from commonplace.domain.words.grams import is_whole
from commonplace.index.catalogue.database import read_number
from commonplace.index.catalogue.document_rows import RecordCache
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import (
    DocumentSections,
    FieldTexts,
    RecentCache,
    RecentDocument,
    RecentDocuments,
    TextTerms,
)
from commonplace.index.fulltext.name_coverage import NameCache
from commonplace.index.fulltext.query_builder import (
    COMPOUND_WEIGHT,
    EXACT_OR_STEM,
    FIELD_WEIGHTS,
    FieldWeight,
    SearchScope,
    optional_weight,
)
from commonplace.index.fulltext.tantivy_index import FullText, Searchers
from commonplace.index.fulltext.term_dictionary import ExpandedQuery, ExpandedTerm, TermDictionary, TermForms

SCORE_OF_BEGINNING = 1.0
"""Score of a quoted text that is shorter than a gram; the same as in the full text."""
PROBES = 200
"""Maximum number of words that are tried until the full text explains the average length of a field."""
MAX_CACHED_COUNTS = 5000
"""Maximum number of words whose numbers of texts are cached; a full cache is cleared."""

Fields = Mapping[str, TextTerms]
"""The words of a document, by field."""


class TermStatistics:
    """BM25 statistics of the full text and the recent texts together.

    Args:
        searcher: Searcher of documents, or of sections.
        schema: Schema of the searcher's index.
        texts: The recent texts, by field.
        lengths: Cached average lengths of the full text's fields; further lengths are added.
    """

    def __init__(
        self,
        searcher: tantivy.Searcher,
        schema: tantivy.Schema,
        texts: Sequence[Mapping[str, FieldTexts]],
        lengths: dict[str, float],
    ) -> None:
        self._searcher = searcher
        self._schema = schema
        self._texts = texts
        self._lengths = lengths
        self._fields: dict[str, FieldStatistics] = {}
        self._holding: dict[tuple[str, str], int] = {}

    def score(self, field: str, word: str, count: int, length: int) -> float:
        """BM25 score of a word with `count` occurrences in a field of `length` words."""
        return bm25(count, length, self._holders(field, word), self._of(field)) if count else 0.0

    def phrase_score(self, field: str, run: Sequence[str], words: TextTerms) -> float:
        """BM25 score of adjacent words."""
        count = phrase_count(words.order, run)
        if not count:
            return 0.0
        return phrase_bm25(count, len(words.order), [self._holders(field, word) for word in run], self._of(field))

    def _holders(self, field: str, word: str) -> int:
        holders = self._holding.get((field, word))
        if holders is None:
            if len(self._holding) >= MAX_CACHED_COUNTS:
                self._holding = {}
            newer = sum(text[field].holding(word) for text in self._texts)
            holders = self._holding[field, word] = self._searcher.doc_freq(field, word) + newer
        return holders

    def _of(self, field: str) -> FieldStatistics:
        if field not in self._fields:
            lengths = [length for text in self._texts for length in text[field].lengths]
            own = sum(lengths) / len(lengths) if lengths else 0.0
            total = self._searcher.num_docs
            average = (total and self._average_length(field)) or own
            self._fields[field] = FieldStatistics(total + len(lengths), average)
        return self._fields[field]

    def _average_length(self, field: str) -> float:
        """The full text's average length of a field; 0 if it is unknown."""
        length = self._lengths.get(field, 0.0) or self._explained_length(field)
        if length:
            self._lengths[field] = length
        return length

    def _explained_length(self, field: str) -> float:
        """The average length of a field, read from a score explanation, because Tantivy exposes it nowhere else."""
        for word in self._probes(field):
            query = Query.term_query(self._schema, field, word)
            hits = (
                self._searcher.search(query, limit=1, count=False).hits if self._searcher.doc_freq(field, word) else ()
            )
            for _, address in hits:
                explanation = json.loads(query.explain(self._searcher, address).to_json())
                return _explained_average(cast("_Explanation", explanation))
        return 0.0

    def _probes(self, field: str) -> Iterable[str]:
        return islice((word for text in self._texts for word in text[field].vocabulary), PROBES)


class RecentStatistics:
    """The statistics of one snapshot of the index, which its searches share.

    Args:
        recent: The recent documents.
        fulltext: The full text, for its schemas.
        searchers: Searchers of the full text.
    """

    def __init__(self, recent: RecentDocuments, fulltext: ft.FullText, searchers: ft.Searchers) -> None:
        self._recent = recent
        self._fulltext = fulltext
        self._searchers = searchers

    @cached_property
    def documents(self) -> TermStatistics:
        """Statistics of whole documents."""
        texts = [document.fields for document in self._recent.documents.values()]
        searchers = self._searchers
        return TermStatistics(searchers.documents, self._fulltext.document_schema, texts, searchers.document_lengths)

    @cached_property
    def sections(self) -> TermStatistics:
        """Statistics of sections."""
        parts = [document.sections.fields for document in self._recent.documents.values()]
        searchers = self._searchers
        return TermStatistics(searchers.sections, self._fulltext.section_schema, parts, searchers.section_lengths)


class RecentScorer:
    """Searches the recent documents.

    Args:
        expanded: The expanded query.
        recent: The recent documents.
        statistics: The statistics of their snapshot.
    """

    def __init__(self, expanded: ExpandedQuery, recent: RecentDocuments, statistics: RecentStatistics) -> None:
        self._expanded = expanded
        self._recent = recent
        self._statistics = statistics
        self._asked = _asked(expanded)
        self._searched = {
            name: [(word.count, list(_searched(word, name, field))) for word in expanded.words]
            for name, field in FIELD_WEIGHTS.items()
        }
        """Count and searched forms of each word of the query, by field."""

    def documents(self, scope: SearchScope) -> dict[int, float]:
        """Scores of the matching documents, by number."""
        scores = {
            key: self._score(document)
            for key, document in self._recent.documents.items()
            if self._may_match(document) and scope.holds(key, document.terms, document.text.numbers)
        }
        return {key: score for key, score in scores.items() if score is not None}

    def sections(self, key: int) -> list[tuple[int, float]]:
        """Ordinal and score of the matching sections of a document, best first."""
        sections = self._recent.documents[key].sections
        scores: defaultdict[int, float] = defaultdict(float)
        for word in self._expanded.words:
            worths_by_place: defaultdict[int, list[float]] = defaultdict(list)
            for name, form, weight in _searched(word, ft.BODY, EXACT_OR_STEM):
                for place, worth in self._worths(sections, name, form):
                    worths_by_place[place].append(weight * worth)
            for place, worths in worths_by_place.items():
                scores[place] += EXACT_OR_STEM.weight * word.count * best_of(worths)
        for gram, count in self._expanded.grams.items():
            for place, worth in self._worths(sections, ft.GRAMS, gram):
                scores[place] += count * worth
        for phrase in (*self._expanded.phrases, *map(PhraseTerms, self._expanded.parted)):
            for place, worth in self._all_of(sections, phrase).items():
                scores[place] += worth
        found_at = ((sections.ordinals[place], score) for place, score in scores.items() if score > 0)
        return sorted(found_at, key=lambda element: (-element[1], element[0]))

    def _may_match(self, document: RecentDocument) -> bool:
        """Whether a document contains a term of the query. Most documents contain none, and are not scored."""
        return self._asked is None or not self._asked.isdisjoint(document.vocabulary)

    def _score(self, document: RecentDocument) -> float | None:
        if any(_holds(document, phrase) for phrase in self._expanded.excluded):
            return None
        if not all(_holds(document, phrase) for phrase in self._expanded.phrases):
            return None
        expression = self._expanded.expression
        if expression is not None and not holds(expression, partial(_contains, document)):
            return None
        score = sum(self._words(name, field, document.fields) for name, field in FIELD_WEIGHTS.items())
        score += sum(
            count * self._worth(ft.GRAMS, gram, document.fields) for gram, count in self._expanded.grams.items()
        )
        for compound in (*self._expanded.compounds, *self._expanded.parted):
            score += COMPOUND_WEIGHT * self._statistics.documents.phrase_score(
                ft.BODY, compound, document.fields[ft.BODY]
            )
        score += sum(
            optional_weight(phrase) * self._phrase(document, phrase)
            for phrase in self._expanded.optional_phrases
            if _holds(document, phrase)
        )
        score += sum(self._phrase(document, phrase) for phrase in self._expanded.phrases)
        return score if score > 0 or self._expanded.phrases or not self._expanded.has_terms else None

    def _phrase(self, document: RecentDocument, phrase: PhraseTerms) -> float:
        if not phrase.mixed:
            return self._adjacent(document, ft.BODY, phrase.words)
        return self._adjacent(document, ft.GRAMS, phrase.beginning) if phrase.beginning else SCORE_OF_BEGINNING

    def _adjacent(self, document: RecentDocument, field: str, run: Sequence[str]) -> float:
        return self._statistics.documents.phrase_score(field, run, document.fields[field])

    def _worths(self, sections: DocumentSections, field: str, word: str) -> Iterator[tuple[int, float]]:
        """Positions of the sections that contain a word, with the score in each."""
        postings = sections.fields[field]
        for place, count in postings.places(word):
            yield place, self._statistics.sections.score(field, word, count, postings.lengths[place])

    def _worths_of_part(self, sections: DocumentSections, field: str, word: str) -> Iterator[tuple[int, float]]:
        if field != ft.GRAMS or is_whole(word):
            return self._worths(sections, field, word)
        postings = sections.fields[field]
        longer = (gram for gram in postings.vocabulary if gram.startswith(word))
        return ((place, SCORE_OF_BEGINNING) for gram in longer for place, _ in postings.places(gram))

    def _all_of(self, sections: DocumentSections, phrase: PhraseTerms) -> dict[int, float]:
        """Positions of the sections that contain every part of a phrase, with the sum of the parts' scores."""
        parts = [(ft.BODY, word) for word in phrase.words] + [(ft.GRAMS, gram) for gram in phrase.grams]
        worths_by_part = [dict(self._worths_of_part(sections, field, word)) for field, word in parts]
        shared = set[int].intersection(*map(set, worths_by_part)) if worths_by_part else set[int]()
        return {place: sum(worths[place] for worths in worths_by_part) for place in shared}

    def _words(self, name: str, field: FieldWeight, fields: Fields) -> float:
        best = (
            count
            * best_of(self._worth(of, form, fields) * weight for of, form, weight in forms if form in fields[of].counts)
            for count, forms in self._searched[name]
        )
        return field.weight * sum(best)

    def _worth(self, name: str, word: str, fields: Fields) -> float:
        words = fields[name]
        return self._statistics.documents.score(name, word, words.counts[word], len(words.order))


def _asked(expanded: ExpandedQuery) -> frozenset[str] | None:
    """Terms of which every matching document contains at least one; None if there is no such set."""
    optional = expanded.optional_phrases
    if not expanded.has_terms or expanded.phrases or any(phrase.mixed and not phrase.beginning for phrase in optional):
        return None
    words = chain.from_iterable((*word.forms, word.accented) for word in expanded.words)
    adjacent = (*expanded.compounds, *expanded.parted, *(phrase.beginning or phrase.words for phrase in optional))
    return frozenset(chain(words, expanded.grams, chain.from_iterable(adjacent)))


def _contains(document: RecentDocument, term: TermForms) -> bool:
    counts = document.fields[ft.BODY].counts
    return any(form in counts for form in term.forms) if term.forms else _holds(document, term.phrase)


def _searched(word: ExpandedTerm, name: str, field: FieldWeight) -> Iterator[tuple[str, str, float]]:
    """The forms of a word to search in a field, each with the field that contains it and the factor of its score."""
    for form, weight in field.forms(word):
        yield name, form, weight
    if word.accented and name == ft.BODY:
        yield ft.ACCENTED, word.accented, 1.0


def _holds(document: RecentDocument, phrase: PhraseTerms) -> bool:
    """Whether a document contains the adjacent words and grams of a phrase."""
    if not phrase.mixed:
        return phrase_count(document.fields[ft.BODY].order, phrase.words) > 0
    order, beginning = document.fields[ft.GRAMS].order, phrase.beginning
    if beginning == phrase.mixed:
        return phrase_count(order, beginning) > 0
    size = len(beginning)
    return any(
        token.startswith(phrase.mixed[-1]) and tuple(order[max(at - size, 0) : at]) == beginning
        for at, token in enumerate(order)
    )


class _Explanation(TypedDict, total=False):
    value: float
    description: str
    details: list[_Explanation]


def _explained_average(explanation: _Explanation) -> float:
    """The value whose description begins with `avgdl`, anywhere in an explanation; 0 if there is none."""
    if explanation.get("description", "").startswith("avgdl"):
        return explanation.get("value", 0.0)
    explained_averages = map(_explained_average, explanation.get("details", ()))
    return next((value for value in explained_averages if value), 0.0)


# Data that is shared by the searches of one generation of the index.


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The index at one generation."""

    generation: int
    searchers: Searchers
    recent: RecentDocuments
    """Documents that are newer than the full text."""
    statistics: RecentStatistics
    dictionary: TermDictionary
    documents: RecordCache
    names: NameCache


class SnapshotCache:
    """A cache of the latest snapshot. Thread-safe.

    Args:
        fulltext: The full text.
    """

    def __init__(self, fulltext: FullText) -> None:
        self._fulltext = fulltext
        self._recent = RecentCache(fulltext.analyzer.analyze)
        self._lock = threading.Lock()
        self._latest: Snapshot | None = None

    def at(self, connection: sqlite3.Connection) -> Snapshot:
        """The snapshot for a transaction of the catalogue.

        Raises:
            FullTextError: the full text is missing or damaged.
        """
        generation = read_number(connection, "generation")
        with self._lock:
            latest = self._latest
        if latest and latest.generation == generation:
            return latest
        recent = self._recent.at(connection, generation)
        searchers = self._fulltext.searchers(read_number(connection, "fulltext"))
        dictionary = TermDictionary(searchers.documents, recent, self._fulltext.analyzer.analyze)
        statistics = RecentStatistics(recent, self._fulltext, searchers)
        records = latest.documents.of_next_generation() if latest else RecordCache()
        snapshot = Snapshot(generation, searchers, recent, statistics, dictionary, records, NameCache())
        with self._lock:
            self._latest = snapshot
        return snapshot

    def close(self) -> None:
        """Release the latest snapshot, whose searchers keep the full text open, and close the full text."""
        with self._lock:
            self._latest = None
        self._fulltext.close()
