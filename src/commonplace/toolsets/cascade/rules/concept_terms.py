"""Search terms for concepts that no index contains: nodes of foreign graphs, and effective text."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json
from commonplace.domain.languages import content_words, language_of
from commonplace.domain.query_parser import parse_query
from commonplace.domain.ranking import K1, B, FieldStatistics, bm25
from commonplace.domain.records import aliases_of
from commonplace.domain.snippets import MAX_SOURCE_CHARS, HighlightTerms, snippet
from commonplace.domain.words.grams import WORD, grams, is_whole
from commonplace.domain.words.scripts import fold_text
from commonplace.toolsets.cascade.rules.values import Concept, ConceptSection, scalar_as_text

TITLE_WEIGHT = 2.0
"""Weight of a word in a node's title or id; a word anywhere in the node has weight 1."""
MIN_STEM_LENGTH = 3
"""Minimum length of a word's stem that also matches its other forms."""
SNIPPET_CHARS = 180

_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ers", "es", "ed", "er", "e", "s", "y")


def terms_of(text: str) -> list[str]:
    """The words of a text in comparison form: without case, width and accents."""
    folded = fold_text(text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFKD", folded) if unicodedata.category(c) != "Mn")
    return WORD.findall(folded)


class NameWeight(NamedTuple):
    """The weight of one occurrence of a word in a field, and how much of it a long field takes away, from 0 to 1."""

    weight: float
    b: float


NAME_WEIGHTS = (
    NameWeight(3.0, 0.4),
    NameWeight(5.0, 0.4),
    NameWeight(5.0, 0.4),
    NameWeight(3.0, 0.5),
    NameWeight(2.0, 0.4),
)
"""Weights of a concept's id, title, aliases, description and tags."""
SECTION_WEIGHTS = (NameWeight(1.0, 0.4), NameWeight(1.0, B))
"""Weights of a section's heading and text."""


@dataclass(frozen=True, slots=True)
class FieldTerms:
    """A text, prepared for counting words."""

    text: str
    """The text, for counting grams; "" for an ASCII text, which has none."""
    words: str
    """The words in comparison form, each between blanks."""
    length: int
    """Number of words."""

    @classmethod
    def of(cls, text: str) -> FieldTerms:
        """Prepare a text."""
        words = terms_of(text)
        return cls("" if text.isascii() else text, _joined(words), len(words))


@dataclass(frozen=True, slots=True)
class ConceptTerms:
    """A concept of one layer, prepared for comparison with many searches."""

    names: tuple[FieldTerms, ...]
    """Id, title, aliases, description and tags."""
    sections: tuple[tuple[FieldTerms, FieldTerms], ...]
    """Heading and text of each section; at least one pair."""

    @classmethod
    def of(cls, concept: Concept) -> ConceptTerms:
        """Prepare a concept."""
        values = concept.frontmatter
        title = scalar_as_text(values.get("title")) or ""
        described = scalar_as_text(values.get("description")) or scalar_as_text(values.get("summary")) or ""
        names = (concept.id, title, " ".join(aliases_of(values)), described, _tags(values))
        sections = [(section.heading or "", section.content) for section in concept.sections] or [("", "")]
        return cls(
            tuple(map(FieldTerms.of, names)),
            tuple((FieldTerms.of(heading), FieldTerms.of(text)) for heading, text in sections),
        )


def section_scores(query: ConceptQuery, concepts: Sequence[ConceptTerms]) -> list[float]:
    """The score of each concept: the best sum over the search's words in its names and one of its sections.

    BM25 over weighted fields (Robertson, Zaragoza, Taylor 2004). A word is rare if few of these concepts contain it, so
    layers of different sizes are compared by the same measure.
    """
    averages = _average_lengths(concepts)
    weighted = [_weighted_counts(query, concept, averages) for concept in concepts]
    holders = [sum(map(bool, column)) for column in zip(*map(_sums, weighted), strict=True)]
    rarities = [math.log(1 + (len(concepts) - number + 0.5) / (number + 0.5)) for number in holders]
    return [
        max(
            sum(rarity * count / (K1 + count) for rarity, count in zip(rarities, counts, strict=True))
            for counts in values
        )
        for values in weighted
    ]


def _average_lengths(concepts: Sequence[ConceptTerms]) -> list[float]:
    """The average number of words of each field of names and of sections, where the field is not empty.

    Most concepts have no aliases: with them, every alias would count as a very long one.
    """
    names = zip(*(concept.names for concept in concepts), strict=True)
    sections = zip(*(section for concept in concepts for section in concept.sections), strict=True)
    columns = [[field.length for field in column if field.length] for column in (*names, *sections)]
    return [sum(lengths) / len(lengths) if lengths else 0.0 for lengths in columns]


def _weighted_counts(query: ConceptQuery, concept: ConceptTerms, averages: Sequence[float]) -> list[list[float]]:
    """The weighted number of occurrences of each word in the names and a section, for each section."""
    weights = (*NAME_WEIGHTS, *SECTION_WEIGHTS)
    places = list(zip(weights, averages, strict=True))
    names = [query.weighted_counts(field, *place) for field, place in zip(concept.names, places, strict=False)]
    own = places[len(NAME_WEIGHTS) :]
    return [
        _sums([*names, *(query.weighted_counts(field, *place) for field, place in zip(section, own, strict=True))])
        for section in concept.sections
    ]


def _sums(rows: Iterable[Sequence[float]]) -> list[float]:
    """The sum of each column."""
    return list(map(sum, zip(*rows, strict=True)))


@dataclass(frozen=True, slots=True)
class ConceptQuery:
    """A parsed search for concepts."""

    words: tuple[str, ...]
    grams: tuple[str, ...]
    stems: tuple[str, ...]
    """The stem of each word."""
    patterns: tuple[str, ...]
    """Substrings that find each word, or another form of the word, in blank-separated words."""

    @classmethod
    def of(cls, text: str) -> ConceptQuery:
        """Parse a search as typed; function words are dropped."""
        question = parse_query(text, terms_of, prefix=False)
        phrases = question.phrases
        words = [*question.words, *(word for phrase in phrases for word in phrase.words)]
        pairs = [*question.grams, *(gram for phrase in phrases for gram in phrase.grams)]
        kept_content_words = content_words(words, language_of(words, lambda _: 0.0)) if words else []
        unique = tuple(dict.fromkeys(kept_content_words))
        stems = tuple(map(_stem, unique))
        whole_or_begun = (
            f" {s}" if len(s) >= MIN_STEM_LENGTH else f" {w} " for w, s in zip(unique, stems, strict=True)
        )
        return cls(unique, tuple(dict.fromkeys(pairs)), stems, tuple(whole_or_begun))

    def highlight_terms(self, text: str) -> HighlightTerms:
        """The terms of the search that occur in a text, for a snippet."""
        if text.isascii() and not self._could_stand_in(text):
            return HighlightTerms({})
        joined = _joined(terms_of(text))
        forms: dict[str, set[str]] = {}
        for word, stem, looked_for in zip(self.words, self.stems, self.patterns, strict=True):
            at = joined.find(looked_for)
            while at >= 0:
                end = joined.index(" ", at + 1)
                form = joined[at + 1 : end]
                forms.setdefault(word if form == word else stem, set()).add(form)
                at = joined.find(looked_for, end)
        return HighlightTerms(
            {beginning: frozenset(words) for beginning, words in forms.items()},
            tuple(gram for gram in self.grams if gram in text),
            lambda word: next(iter(terms_of(word)), ""),
        )

    def _could_stand_in(self, text: str) -> bool:
        """A quick test on letters; False only if no term can occur in the text."""
        lowered = text.lower()
        return "#" in text or "++" in text or any(stem in lowered for stem in self.stems)

    def matches(self, text: str) -> bool:
        """Whether any term of the search occurs in a text."""
        terms = self.highlight_terms(text)
        return bool(terms.words or terms.grams)

    def is_satisfied_by(self, terms: HighlightTerms) -> bool:
        """Whether all terms of the search were found."""
        words = all(w in terms.words or s in terms.words for w, s in zip(self.words, self.stems, strict=True))
        return words and len(terms.grams) == len(self.grams)

    def weighted_counts(self, field: FieldTerms, weight: NameWeight, average: float) -> list[float]:
        """The weighted number of occurrences of each word and gram in a field.

        Args:
            field: The field.
            weight: The weight of the field.
            average: Average number of words of this field.
        """
        relative = field.length / average if average else 1.0
        factor = weight.weight / (1 - weight.b + weight.b * relative)
        counts = [*map(field.words.count, self.patterns), *map(field.text.count, self.grams)]
        return [factor * count for count in counts]


def best_snippet(sections: Iterable[ConceptSection], query: ConceptQuery) -> tuple[str, ConceptSection] | None:
    """A snippet of the section with most terms of the search, and the section; None if no term occurs.

    Args:
        sections: The sections to search, up to the first with all terms. Headings count, but are not shown.
        query: The search.
    """
    best, most = 0, HighlightTerms({})
    chosen: ConceptSection | None = None
    for section in sections:
        text = section.stated[:MAX_SOURCE_CHARS]
        terms = query.highlight_terms(f"{section.heading or ''}\n{text}") if text else HighlightTerms({})
        if (size := len(terms.words) + len(terms.grams)) > best:
            best, most, chosen = size, terms, section
            if query.is_satisfied_by(terms):
                break
    return (snippet(chosen.stated[:MAX_SOURCE_CHARS], most, SNIPPET_CHARS), chosen) if chosen else None


def first_text(sections: Iterable[ConceptSection]) -> str:
    """The beginning of a concept's text, for concepts without a matching section."""
    return snippet(
        next((section.stated for section in sections if section.stated), ""), HighlightTerms({}), SNIPPET_CHARS
    )


class TermIndex:
    """Ranks a few thousand concepts by their words with BM25, as the full text does.

    Args:
        concepts: The concepts to search.
    """

    def __init__(self, concepts: Iterable[Concept]) -> None:
        self._bodies: dict[str, Counter[str]] = {}
        self._names: dict[str, Counter[str]] = {}
        for concept in concepts:
            title = f"{scalar_as_text(concept.frontmatter.get('title')) or ''} {concept.id}"
            text = "\n".join([title, *(f"{section.heading}\n{section.content}" for section in concept.sections)])
            self._names[concept.id] = Counter(_terms(title))
            self._bodies[concept.id] = Counter(_terms(text))

    def search(self, query: ConceptQuery, limit: int) -> list[tuple[str, float]]:
        """Return at most `limit` ids with their scores, best first."""
        scores: dict[str, float] = {}
        for field, weight in ((self._bodies, 1.0), (self._names, TITLE_WEIGHT)):
            for term in (*query.words, *query.grams):
                for identifier, score in _scored(field, term).items():
                    scores[identifier] = scores.get(identifier, 0.0) + weight * score
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def _scored(field: Mapping[str, Counter[str]], term: str) -> dict[str, float]:
    holders = [(identifier, count) for identifier, terms in field.items() if (count := _occurrences(term, terms))]
    if not holders:
        return {}
    lengths = sum(terms.total() for terms in field.values())
    statistics = FieldStatistics(len(field), lengths / len(field))
    return {id_: bm25(count, field[id_].total(), len(holders), statistics) for id_, count in holders}


def _occurrences(term: str, terms: Counter[str]) -> int:
    if is_whole(term):
        return terms[term]
    return sum(count for longer, count in terms.items() if longer.startswith(term))


def _terms(text: str) -> Sequence[str]:
    folded = fold_text(text)
    return [*terms_of(folded), *grams(folded)]


def _joined(words: Iterable[str]) -> str:
    return f" {' '.join(words)} "


def _tags(values: Mapping[str, Json]) -> str:
    return " ".join(text_items(values.get("tags")))


def _stem(word: str) -> str:
    """An approximate stem of a word; the word itself if it has no known ending."""
    ending = next((text for text in _ENDINGS if word.endswith(text) and len(word) - len(text) >= MIN_STEM_LENGTH), "")
    return word.removesuffix(ending)
