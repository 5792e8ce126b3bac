"""Search terms for concepts that no index contains: nodes of foreign graphs, and effective text."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json
from commonplace.domain.languages import content_words, language_of
from commonplace.domain.query_parser import parse_query
from commonplace.domain.ranking import FieldStatistics, bm25
from commonplace.domain.records import aliases_of
from commonplace.domain.snippets import MAX_SOURCE_CHARS, HighlightTerms, snippet
from commonplace.domain.words.folded_text import fold_text
from commonplace.domain.words.grams import WORD, grams, is_whole
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


@dataclass(frozen=True, slots=True)
class ConceptTerms:
    """The names and descriptions of a concept, prepared for comparison with many searches."""

    fields: tuple[tuple[str, str, float], ...]
    """Per field: its distinct words, each surrounded by blanks; its text; the weight of a word in it."""

    @classmethod
    def from_frontmatter(cls, identifier: str, values: Mapping[str, Json]) -> ConceptTerms:
        """Terms from a concept's id and frontmatter. The title and id weigh most, tags and description least."""
        title = f"{identifier} {scalar_as_text(values.get('title')) or ''}"
        described = scalar_as_text(values.get("description")) or scalar_as_text(values.get("summary")) or ""
        texts = ((title, 3.0), (" ".join(aliases_of(values)), 2.0), (f"{described} {_tags(values)}", 1.0))
        return cls(tuple((_joined(set(terms_of(text))), text, weight) for text, weight in texts if text.strip()))


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
        kept = content_words(words, language_of(words, lambda _: 0.0)) if words else []
        unique = tuple(dict.fromkeys(kept))
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
        wanted = self.highlight_terms(text)
        return bool(wanted.words or wanted.grams)

    def is_satisfied_by(self, found: HighlightTerms) -> bool:
        """Whether all terms of the search were found."""
        words = all(w in found.words or s in found.words for w, s in zip(self.words, self.stems, strict=True))
        return words and len(found.grams) == len(self.grams)

    def score(self, names: ConceptTerms) -> float:
        """The share of the search that occurs in a concept's names, from 0 to the weight of a title."""
        terms = len(self.words) + len(self.grams)
        counted = 0.0
        for looked_for in self.patterns:  # plain loops, because this runs for every candidate of every layer
            for words, _, weight in names.fields:
                if looked_for in words:
                    counted += weight
                    break
        for gram in self.grams:
            counted += next((weight for _, text, weight in names.fields if gram in text), 0.0)
        return counted / terms if terms else 0.0


def best_snippet(sections: Iterable[ConceptSection], asked: ConceptQuery) -> str | None:
    """A snippet of the section with most terms of the search; None if no term occurs.

    Args:
        sections: The sections to search, up to the first with all terms. Headings count, but are not shown.
        asked: The search.
    """
    best, most, text_of_most = 0, HighlightTerms({}), ""
    for section in sections:
        text = section.stated[:MAX_SOURCE_CHARS]
        wanted = asked.highlight_terms(f"{section.heading or ''}\n{text}") if text else HighlightTerms({})
        if (size := len(wanted.words) + len(wanted.grams)) > best:
            best, most, text_of_most = size, wanted, text
            if asked.is_satisfied_by(wanted):
                break
    return snippet(text_of_most, most, SNIPPET_CHARS) if best else None


def first_text(sections: Iterable[ConceptSection]) -> str:
    """The beginning of a concept's text, for concepts without a matching section."""
    return snippet(next((one.stated for one in sections if one.stated), ""), HighlightTerms({}), SNIPPET_CHARS)


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
            text = "\n".join([title, *(f"{one.heading}\n{one.content}" for one in concept.sections)])
            self._names[concept.id] = Counter(_terms(title))
            self._bodies[concept.id] = Counter(_terms(text))

    def search(self, asked: ConceptQuery, limit: int) -> list[tuple[str, float]]:
        """Return at most `limit` ids with their scores, best first."""
        scores: dict[str, float] = {}
        for field, weight in ((self._bodies, 1.0), (self._names, TITLE_WEIGHT)):
            for term in (*asked.words, *asked.grams):
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
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= MIN_STEM_LENGTH), "")
    return word.removesuffix(ending)
