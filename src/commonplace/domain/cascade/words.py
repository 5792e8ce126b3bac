"""Words of a search and of a text, for what no index holds: nodes of foreign graphs, and effective text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from commonplace.domain.cascade.values import Concept, ConceptSection, written
from commonplace.domain.describing import aliases_of
from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json
from commonplace.domain.languages import content_words, language_of
from commonplace.domain.ranking import FieldStatistics, bm25
from commonplace.domain.search_text import ask, fold_text, grams, without_grams
from commonplace.domain.snippets import MAX_SOURCE_CHARS, Wanted, snippet

TITLE_WEIGHT = 2.0
"""What a word counts in the title or id of a node, beside 1 for standing anywhere in it."""
SHORTEST_STEM = 3
"""Letters of a word's beginning that is taken for its other forms too."""
SNIPPET_CHARS = 200
MAX_REMEMBERED = 300
"""Characters of a text whose words are remembered."""

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ers", "es", "ed", "er", "e", "s", "y")


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared: without case, width and accents."""
    folded = fold_text(text).casefold()
    if not folded.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFKD", folded) if unicodedata.category(c) != "Mn")
    return _WORD.findall(folded)


@lru_cache(maxsize=20_000)
def _different_words(text: str) -> frozenset[str]:
    """Of a title or another short text, which is looked at by search after search."""
    return frozenset(words_of(text))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search looks for."""

    words: tuple[str, ...]
    grams: tuple[str, ...]
    stems: tuple[str, ...]
    """Of each word, what its other forms begin with."""

    @classmethod
    def of(cls, text: str) -> Asked:
        """The search as typed, without the words that only make it a sentence."""
        question = ask(text, words_of, prefix=False)
        phrases = question.phrases
        words = [*question.words, *(word for phrase in phrases for word in phrase.words)]
        pairs = [*question.grams, *(gram for phrase in phrases for gram in phrase.grams)]
        kept = content_words(words, language_of(words, lambda _: 0.0)) if words else []
        unique = tuple(dict.fromkeys(kept))
        return cls(unique, tuple(dict.fromkeys(pairs)), tuple(map(_stem, unique)))

    def standing_in(self, text: str) -> dict[str, set[str]]:
        """The words and pairs of the search that stand in a text, each with the forms in which it does."""
        forms: dict[str, set[str]] = {gram: {gram} for gram in self.grams if gram in text}
        for found in _different_words(text) if len(text) <= MAX_REMEMBERED else set(words_of(text)):
            if found.startswith(self.stems):
                for word, stem in zip(self.words, self.stems, strict=True):
                    if found == word or (len(stem) >= SHORTEST_STEM and found.startswith(stem)):
                        forms.setdefault(word, set()).add(found)
        return forms

    def in_text(self, text: str) -> Wanted:
        """What stands in a text, for a snippet of it."""
        forms: dict[str, set[str]] = {}
        for term, found in self.standing_in(text).items():
            if term not in self.grams:
                for form in found:
                    forms.setdefault(term if form == term else _stem(term), set()).add(form)
        return Wanted(
            {beginning: frozenset(words) for beginning, words in forms.items()},
            tuple(gram for gram in self.grams if gram in text),
            lambda word: next(iter(words_of(word)), ""),
        )

    def share_in_names(self, identifier: str, values: Mapping[str, Json]) -> float:
        """How much of the search stands in a concept's names, from 0 to the weight of a title."""
        terms = {*self.words, *self.grams}
        title = f"{identifier} {written(values.get('title')) or ''}"
        described = written(values.get("description")) or written(values.get("summary")) or ""
        fields = ((title, 3.0), (" ".join(aliases_of(values)), 2.0), (f"{described} {_tags(values)}", 1.0))
        weights: dict[str, float] = {}
        for text, weight in fields:
            for term in self.standing_in(text) if text.strip() else ():
                weights.setdefault(term, weight)
        return sum(weights.values()) / len(terms) if terms else 0.0


def best_snippet(sections: Sequence[ConceptSection], asked: Asked, names: str = "") -> str | None:
    """A snippet of the section in which most of what is asked stands; None when nothing stands anywhere.

    Args:
        sections: Where to look; headings count, but are not shown.
        asked: What to look for.
        names: Title and other names: where they alone answer, the first text is shown.
    """
    best, most = "", Wanted({})
    for section in sections:
        text = section.stated[:MAX_SOURCE_CHARS]
        wanted = asked.in_text(f"{section.heading or ''}\n{text}") if text else Wanted({})
        if _size(wanted) > _size(most):
            best, most = text, wanted
    if _size(most):
        return snippet(best, most, SNIPPET_CHARS)
    return first_text(sections) if _size(asked.in_text(names)) else None


def first_text(sections: Sequence[ConceptSection]) -> str:
    """How a concept begins, for where nothing of what is asked stands in its text."""
    return snippet(next((one.stated for one in sections if one.stated), ""), Wanted({}), SNIPPET_CHARS)


def _size(wanted: Wanted) -> int:
    return len(wanted.words) + len(wanted.grams)


class WordIndex:
    """Ranks a few thousand concepts by their words, as the full text does.

    Args:
        concepts: What is searched.
    """

    def __init__(self, concepts: Iterable[Concept]) -> None:
        self._bodies: dict[str, Counter[str]] = {}
        self._names: dict[str, Counter[str]] = {}
        for concept in concepts:
            title = f"{written(concept.frontmatter.get('title')) or ''} {concept.id}"
            text = "\n".join([title, *(f"{one.heading}\n{one.content}" for one in concept.sections)])
            self._names[concept.id] = Counter(_terms(title))
            self._bodies[concept.id] = Counter(_terms(text))

    def search(self, asked: Asked, limit: int) -> list[tuple[str, float]]:
        """Ids with their scores, best first; at most `limit`."""
        scores: dict[str, float] = {}
        for field, weight in ((self._bodies, 1.0), (self._names, TITLE_WEIGHT)):
            for term in (*asked.words, *asked.grams):
                for identifier, score in _scored(field, term).items():
                    scores[identifier] = scores.get(identifier, 0.0) + weight * score
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def _scored(field: Mapping[str, Counter[str]], term: str) -> dict[str, float]:
    holders = [(identifier, terms) for identifier, terms in field.items() if term in terms]
    if not holders:
        return {}
    lengths = sum(terms.total() for terms in field.values())
    statistics = FieldStatistics(len(field), lengths / len(field))
    return {id_: bm25(terms[term], terms.total(), len(holders), statistics) for id_, terms in holders}


def _terms(text: str) -> Sequence[str]:
    folded = fold_text(text)
    return [*words_of(without_grams(folded)), *grams(folded)]


def _tags(values: Mapping[str, Json]) -> str:
    return " ".join(text_items(values.get("tags")))


def _stem(word: str) -> str:
    """A word's beginning that its other forms share, roughly; the word itself where it has no known ending."""
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= SHORTEST_STEM), "")
    return word.removesuffix(ending)
