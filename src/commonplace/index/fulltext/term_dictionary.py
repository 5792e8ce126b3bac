"""The terms of the index: other forms, completions and corrections of a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol
from weakref import proxy

import tantivy

from commonplace.domain.languages import DEFAULT, content_words, language_of, without_stop_words
from commonplace.domain.query_parser import Analyze, Expression, ParsedQuery, PhraseTerms, changed, count_each
from commonplace.domain.ranking import best_forms, near_words, rarity
from commonplace.domain.words.grams import is_whole
from commonplace.domain.words.scripts import language_of_script, spellings
from commonplace.index.fulltext import tantivy_index as ft
from commonplace.index.fulltext.document_text import RecentDocuments

STEM_WEIGHT = 0.5
"""Weight of another form of a word (`restored` for `restore`), relative to the word itself."""
SPELLING_WEIGHT = 0.8
"""Weight of another spelling (`colour` for `color`)."""
PREFIX_WEIGHT = 0.3
"""Weight of a longer word that begins with the word."""
TYPO_WEIGHT = 0.8
"""Weight of a spelling correction; multiplied once per edit."""

MIN_PREFIX_LENGTH = 5
"""Minimum length of a word that also matches as a prefix (compounds, in many languages)."""
MIN_UNKNOWN_LENGTH = 3
MIN_UNFINISHED_LENGTH = 2
"""Minimum length for a prefix match of an unknown or unfinished word."""
MIN_FUZZY_LENGTH = 5
MIN_TWO_EDITS_LENGTH = 9
"""Minimum length of an unknown word for corrections by two edits; `MIN_FUZZY_LENGTH` is that for one edit."""

MIN_JOINED_LENGTH = 4
"""Minimum length of a word joined from two others."""
MIN_STEM_LENGTH = 3
MAX_STEMMED = 300
MAX_CONTINUED = 20
MAX_FORMS = 10
"""Maximum number of forms of a word. `MAX_STEMMED` and `MAX_CONTINUED` limit words to stem, and completions.

The most frequent words are used.
"""
MAX_TELLING_SHARE = 0.5
"""Maximum share of documents that contain a significant word; a more frequent word has no meaning for the query."""
MIN_DOCUMENTS_TO_TELL = 8
"""Minimum number of documents in the index for `MAX_TELLING_SHARE` to apply."""
MAX_CACHED_WORDS = 5000
"""Maximum number of words whose forms, and of words whose frequencies, are cached."""


class TermSource(Protocol):
    """The terms of whole documents, from a Tantivy searcher or a search cluster."""

    @property
    def num_docs(self) -> int:
        """Number of documents."""
        ...

    def doc_freq(self, field_name: str, field_value: str) -> int:
        """Number of documents with a term in a field."""
        ...

    def terms_with_prefix(self, field_name: str, prefix: str, *, limit: int | None = None) -> list[tuple[str, int]]:
        """Terms with a prefix and their numbers of documents, most frequent first."""
        ...


@dataclass(frozen=True, slots=True)
class ExpandedTerm:
    """A word of the query, with its expansions."""

    count: int
    """Number of occurrences in the query."""
    forms: Mapping[str, float]
    """Weights by form, including the word itself."""
    accented: str = ""
    """The word with its accents; "" if it was typed without accents, or if no document contains the accented form."""


@dataclass(frozen=True, slots=True)
class WordForms:
    """Expansion of one word of a query."""

    weights: Mapping[str, float]
    """Weights by form, including the word itself."""
    is_unknown: bool
    """Whether no document contains the word, another form or a longer word. The forms are corrections then."""


@dataclass(frozen=True, slots=True)
class TermForms:
    """A term of an expression."""

    phrase: PhraseTerms
    forms: tuple[str, ...] = ()
    """Words of which at least one must occur; empty if the phrase itself must occur."""


@dataclass(frozen=True, slots=True)
class NameTerm:
    """A word or gram of the query that titles and headings are searched for."""

    forms: tuple[str, ...]
    """The word and its other forms, or the gram. One of them covers the term."""
    share: float
    """Share of the query by occurrences and rarity, 0 to 1. The shares of all terms add up to 1."""


@dataclass(frozen=True, slots=True)
class ExpandedQuery:
    """A query expanded to terms of the index."""

    words: tuple[ExpandedTerm, ...]
    grams: Mapping[str, int]
    """Number of occurrences of each gram in the query."""
    compounds: tuple[tuple[str, ...], ...]
    """Parts of words that were typed without a space, such as `std::vector`."""
    parted: tuple[tuple[str, ...], ...]
    """Words that were split at boundaries without a separator, such as `utf8`."""
    phrases: tuple[PhraseTerms, ...]
    optional_phrases: tuple[PhraseTerms, ...]
    excluded: tuple[PhraseTerms, ...]
    expression: Expression[TermForms] | None = None
    """The expression that documents must match, for a search with operators; None without operators."""
    names: tuple[NameTerm, ...] = ()
    """The terms that some document contains."""
    known: bool = True
    """Whether any document contains a word of the query, including other forms and longer words."""
    unknown: tuple[str, ...] = ()
    """Words that no document contains in any form; empty if these are less than half of the significant words."""

    @property
    def has_terms(self) -> bool:
        """Whether the query has positive terms. Without any, all documents match except the excluded ones."""
        return bool(self.words or self.grams or self.phrases)


class TermDictionary:
    """The terms of one snapshot of the index, with cached expansions.

    Args:
        searcher: The terms of whole documents.
        recent: The recent documents.
        analyze: The full text's tokenizer.
    """

    def __init__(self, searcher: TermSource, recent: RecentDocuments, analyze: Analyze) -> None:
        self._analyze = analyze
        self._searcher = searcher
        self._recent = recent
        # Without a circle of references, the files of a snapshot are released with the last who uses it.
        weak = proxy(self)
        self._forms = lru_cache(MAX_CACHED_WORDS)(partial(TermDictionary._found_forms, weak))
        self._holding = lru_cache(MAX_CACHED_WORDS)(partial(TermDictionary._counted_holders, weak))

    def expand(self, question: ParsedQuery) -> ExpandedQuery:
        """Every word of a query with its forms."""
        language = language_of(set(question.words), self._share)
        words = content_words(list(question.words), language)
        accented = {word: text for text in question.accented if self._holds(text) for word in self._analyze(text)}
        counts = count_each(tuple(words))
        forms = {
            word: self._forms(word, language_of_script(word) or language, self._least(word, question))
            for word in counts
        }
        grams = self._known_grams(question)
        terms = [ExpandedTerm(count, forms[word].weights, accented.get(word, "")) for word, count in counts.items()]
        return ExpandedQuery(
            words=(*terms, *self._joined(question)),
            grams=grams,
            compounds=question.compounds,
            parted=tuple(parts for parts in question.parted if all(map(self._holding, parts))),
            phrases=question.phrases,
            optional_phrases=question.optional_phrases,
            excluded=question.excluded,
            expression=changed(question.expression, partial(self._matching, question)) if question.expression else None,
            names=self._names(forms, counts, grams, question),
            known=self._knows(forms, question, grams),
            unknown=self._unknown(forms, language),
        )

    def _names(
        self, forms: Mapping[str, WordForms], counts: Mapping[str, int], grams: Mapping[str, int], question: ParsedQuery
    ) -> tuple[NameTerm, ...]:
        """The terms that titles and headings may cover: words and grams, also those of phrases."""
        close = {
            tuple(form for form, weight in of.weights.items() if weight >= STEM_WEIGHT): counts[word]
            for word, of in forms.items()
        }
        close |= {(word,): 1 for phrase in question.phrases for word in phrase.words}
        weights = {
            of: count * self._rarity(self._holding(of[0]) or max(map(self._holding, of))) for of, count in close.items()
        }
        quoted = {gram: 1 for phrase in question.phrases for gram in phrase.grams if is_whole(gram)}
        for gram, count in {**quoted, **grams}.items():
            weights[gram,] = count * self._rarity(self._gram_holders(gram))
        whole = sum(weights.values())
        return tuple(NameTerm(of, weight / whole) for of, weight in weights.items() if weight)

    def _rarity(self, holders: int) -> float:
        """The rarity of a word by its number of documents; 0 if there are none."""
        return rarity(holders, self._total()) if holders else 0.0

    def _gram_holders(self, gram: str) -> int:
        return self._searcher.doc_freq(ft.GRAMS, gram) + self._recent.holders(ft.GRAMS, gram)

    def _unknown(self, forms: Mapping[str, WordForms], language: str) -> tuple[str, ...]:
        """The words that no document contains; empty if most of the significant words are known."""
        if not any(of.is_unknown for of in forms.values()):
            return ()
        telling = [word for word in without_stop_words(list(forms), language) if self._tells(word)]
        unknown = tuple(word for word in telling if forms[word].is_unknown)
        return unknown if 2 * len(unknown) >= len(telling) else ()

    def _tells(self, word: str) -> bool:
        return self._total() < MIN_DOCUMENTS_TO_TELL or self._share(word) <= MAX_TELLING_SHARE

    def _holds(self, accented: str) -> bool:
        """Whether a document contains a word with these accents."""
        return bool(self._searcher.doc_freq(ft.ACCENTED, accented) or self._recent.holders(ft.ACCENTED, accented))

    def _knows(self, forms: Mapping[str, WordForms], question: ParsedQuery, grams: Mapping[str, int]) -> bool:
        if question.phrases or not all(of.is_unknown for of in forms.values()):
            return True
        return any(map(self._gram_holders, grams))

    def _matching(self, question: ParsedQuery, term: PhraseTerms) -> TermForms:
        """The forms that match a term of an expression: the other forms of a single word, too."""
        if len(term.words) != 1 or term.grams:
            return TermForms(term)
        (word,) = term.words
        forms = self._forms(word, language_of_script(word) or DEFAULT, self._least(word, question))
        return TermForms(term, tuple(form for form, weight in forms.weights.items() if weight >= STEM_WEIGHT))

    def _counted_holders(self, word: str) -> int:
        """Number of documents that contain a word."""
        return self._searcher.doc_freq(ft.BODY, word) + self._recent.holders(ft.BODY, word)

    def _share(self, word: str) -> float:
        total = self._total()
        return self._holding(word) / total if total else 0.0

    def _total(self) -> int:
        return self._searcher.num_docs + len(self._recent.documents)

    def _joined(self, question: ParsedQuery) -> Iterator[ExpandedTerm]:
        """Compounds written without a separator: `email` for `e-mail`, but not `its` for `it's`."""
        for parts in question.compounds:
            joined = "".join(parts)
            if parts[-1] != "s" and len(joined) >= MIN_JOINED_LENGTH and self._holding(joined):
                yield ExpandedTerm(1, {joined: 1.0})

    def _least(self, word: str, question: ParsedQuery) -> int:
        """Minimum length for the word to match as a prefix."""
        if word in question.unfinished:
            return MIN_UNFINISHED_LENGTH
        if question.exact:
            return len(word) + 1
        return MIN_PREFIX_LENGTH if self._holding(word) else MIN_UNKNOWN_LENGTH

    def _found_forms(self, word: str, language: str, least: int) -> WordForms:
        weights = {word: 1.0}
        holders: dict[str, int] = {}
        stem = _stem(language, word) if word.isalpha() else word
        beginning = _stem_beginning(stem) if word.isalpha() else ""
        akin = self._beginning(beginning, MAX_STEMMED) if beginning else []
        if len(word) >= least:
            # If all words with the stem's prefix were read, they include those with the word as prefix.
            enough = beginning and word.startswith(beginning) and len(akin) < MAX_STEMMED
            longer = (
                [pair for pair in akin if pair[0].startswith(word)] if enough else self._beginning(word, MAX_CONTINUED)
            )
            for other, count in longer[:MAX_CONTINUED]:
                weights.setdefault(other, PREFIX_WEIGHT)
                holders[other] = count
        for other, count in akin:
            if other != word and _stem(language, other) == stem:
                weights[other] = STEM_WEIGHT
                holders[other] = count
        for spelling in spellings(word, language):
            for other, count in self._akin(spelling, language):
                weights.setdefault(other, SPELLING_WEIGHT if other == spelling else SPELLING_WEIGHT * STEM_WEIGHT)
                holders[other] = count
        is_unknown = len(weights) == 1 and not self._holding(word)
        if is_unknown:
            weights |= self._corrections(word)
        return WordForms(best_forms(weights, holders, MAX_FORMS), is_unknown)

    def _akin(self, word: str, language: str) -> list[tuple[str, int]]:
        """The existing words among a word and its other forms."""
        stem = _stem(language, word)
        beginning = self._beginning(_stem_beginning(stem), MAX_CONTINUED)
        return [(other, count) for other, count in beginning if _stem(language, other) == stem]

    def _corrections(self, word: str) -> dict[str, float]:
        """Existing words within the permitted edit distance of an unknown word."""
        if len(word) < MIN_FUZZY_LENGTH or not word.isalpha():
            return {}
        most = 2 if len(word) >= MIN_TWO_EDITS_LENGTH else 1
        for beginning in (word[:2], word[1::-1], word[0]):
            near = near_words(word, (other for other, _ in self._beginning(beginning, None)), most)
            if near:
                least = min(near.values())
                return {other: TYPO_WEIGHT**typos for other, typos in near.items() if typos == least}
        return {}

    def _known_grams(self, question: ParsedQuery) -> dict[str, int]:
        counts: dict[str, int] = {}
        for gram, count in count_each(question.grams).items():
            if is_whole(gram):
                counts[gram] = count
            else:
                listed = self._searcher.terms_with_prefix(ft.GRAMS, gram, limit=100)
                for longer in (*(element for element, _ in listed), *self._recent.grams_beginning(gram)):
                    counts.setdefault(longer, 1)
        return counts

    def _beginning(self, prefix: str, limit: int | None) -> list[tuple[str, int]]:
        """Words with a prefix and their numbers of documents, most frequent first."""
        terms = self._searcher.terms_with_prefix(ft.BODY, prefix, limit=limit)
        newer = self._recent.words_beginning(prefix)
        if not newer:
            return terms
        counts = dict(terms)
        for word in newer:
            counts[word] = counts.get(word, 0) + 1
        return sorted(counts.items(), key=lambda element: -element[1])[:limit]


@lru_cache(maxsize=20_000)
def _stem(language: str, word: str) -> str:
    return "".join(_stemmer(language).analyze(word))


@lru_cache(maxsize=16)
def _stemmer(language: str) -> tantivy.TextAnalyzer:
    stemmer = tantivy.Filter.stemmer((language or DEFAULT).capitalize())
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(stemmer).build()


def _stem_beginning(stem: str) -> str:
    """The common prefix of a stem's words, without a final vowel that endings replace (`make`, `making`; `study`)."""
    return stem[:-1] if len(stem) >= MIN_STEM_LENGTH and stem[-1] in "eiy" else stem
