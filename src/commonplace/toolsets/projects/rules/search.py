"""Search in documents: normalized texts, an index of their substrings, and matches of a query in chapters."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from typing import NamedTuple

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Document
from commonplace.toolsets.projects.rules.chapters import (
    Metadata,
    first_paragraph,
    introduction_of,
    metadata_of,
    read_chapters,
)

# Index of the texts that contain a string: `C++`, `$x`, `中文`, a single letter or part of a word.
#
# A text is split into tokens: runs of letters and digits, and runs of other signs. A string without blanks is part of
# one token, or spans the end of one token, some whole tokens and the start of another. Its tokens therefore give the
# candidate texts, and only these are searched. A string that most texts contain is searched in all texts, because each
# such search ends early.


MAX_LISTED = 4
"""Maximum total length of a string's token lists, as a multiple of the number of texts; longer lists are ignored."""

_TOKEN = re.compile(r"\w+|[^\w\s]+")
_WORD = re.compile(r"\w+")
_EDGE = "\n"
"""Separator of the tokens in the vocabulary; occurs in no token."""


class SubstringIndex:
    """Texts by number, with an index of their tokens.

    Args:
        texts: Texts, folded like the strings to search for.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._listed: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for token in set(_TOKEN.findall(text)):
                self._listed.setdefault(token, []).append(number)
        self._vocabulary = _EDGE + "".join(f"{token}{_EDGE}" for token in self._listed)

    def holding(self, needle: str) -> Collection[int]:
        """Numbers of the texts that contain a string, each once.

        Args:
            needle: The string, at least one character.
        """
        tokens = _TOKEN.findall(needle)
        if len(tokens) == 1 and tokens[0] == needle:
            lists = self._lists(needle) if len(needle) > 1 else None
            return self._looked_through(needle) if lists is None else _united(lists)
        candidates = self._candidates(tokens) if "".join(tokens) == needle else None
        if candidates is None:
            return self._looked_through(needle)
        return [number for number in candidates if needle in self._texts[number]]

    def whole_words(self, needle: str) -> Collection[int] | None:
        """Numbers of the texts that contain a whole word, each once; None if the string is not a single word."""
        return self._listed.get(needle, ()) if _WORD.fullmatch(needle) else None

    def _looked_through(self, needle: str) -> list[int]:
        return [number for number, text in enumerate(self._texts) if needle in text]

    def _candidates(self, tokens: Sequence[str]) -> Collection[int] | None:
        """The texts with the rarest of several consecutive tokens; None if all are too common."""
        first, *between, last = tokens
        lists = [self._lists(f"{first}{_EDGE}"), self._lists(f"{_EDGE}{last}")]
        lists += [[self._listed.get(token, [])] for token in between]
        known_lists = [lists for lists in lists if lists is not None]
        return _united(min(known_lists, key=lambda lists: sum(map(len, lists)))) if known_lists else None

    def _lists(self, part: str) -> list[list[int]] | None:
        """The texts of each token that contains `part`; None if they exceed `MAX_LISTED`."""
        vocabulary, lists = self._vocabulary, list[list[int]]()
        left = MAX_LISTED * len(self._texts)
        at = vocabulary.find(part)
        while at >= 0 and left >= 0:
            begin = at + 1 if vocabulary[at] == _EDGE else vocabulary.rfind(_EDGE, 0, at) + 1
            end = vocabulary.index(_EDGE, begin)
            lists.append(self._listed[vocabulary[begin:end]])
            left -= len(lists[-1])
            at = vocabulary.find(part, end)
        return None if left < 0 else lists


def _united(lists: Sequence[Sequence[int]]) -> Collection[int]:
    return lists[0] if len(lists) == 1 else set[int]().union(*lists)


# The documents of a project in searchable form: folded once and cached until their files change.


INTRODUCTION = "(Document Introduction)"
"""Name of the text before the first chapter in results."""
MIN_CHANGED = 32
"""Number of changed documents above which everything is rebuilt; in large projects, an eighth of all documents."""
FIELDS = 3
"""Number of searched fields besides the parts: title, keywords and headings."""
MAX_CHAPTER_SCORE = 2**20 - 1
"""Maximum number of matching chapters that count in the ranking."""
FIELD_SCORES = tuple(worth << 20 for worth in (8, 6, 4))
"""Scores of a word in the title, in the keywords and in a heading; greater than any number of chapters."""
OCCURRENCE_SCORE = 1 << 30
"""Score of a word that occurs; greater than all field scores of 20 words together."""
WHOLE_WORD_SCORE = 1 << 36
"""Score of a word that occurs as a whole word."""
_MAX_WHOLE_LOOKS = 50
"""Maximum number of occurrences of a keyword with signs that are checked for a whole word."""
MAX_CACHED_WORDS = 64
"""Maximum number of cached query words."""


@dataclass(frozen=True, slots=True)
class SearchablePart:
    """A chapter, or the introduction, in searchable form."""

    title: str
    folded: str
    """Heading and text, folded."""
    source: str
    """The unfolded text, character by character; `folded` itself if folding changed the length."""
    summary: str


@dataclass(frozen=True, slots=True)
class SearchableDocument:
    """A document in searchable form."""

    filename: str
    metadata: Metadata
    fields: tuple[str, str, str]
    """Title, keywords and headings, folded."""
    parts: tuple[SearchablePart, ...]


class TermOccurrences(NamedTuple):
    """Occurrences of a word, by the numbers of a `Segment`'s documents and parts."""

    worth: Sequence[int]
    """Score of the word in each document, in order; 0 if it does not occur."""
    parts: int
    """Parts that contain the word, as a bit set of their numbers."""


class Segment:
    """Documents that were indexed together.

    Args:
        texts: The documents, in any order.
    """

    def __init__(self, texts: Sequence[SearchableDocument]) -> None:
        self.find = lru_cache(MAX_CACHED_WORDS)(self._find)
        """Occurrences of a folded query word; the results of the latest words are cached."""
        self.texts = tuple(texts)
        self.numbers = {text.filename: number for number, text in enumerate(texts)}
        """Document number by file name."""
        self._owners = [*range(len(texts))] * FIELDS
        self._owners += [number for number, text in enumerate(texts) for _ in text.parts]
        self._begins = [*accumulate((len(text.parts) for text in texts), initial=0)]
        """Number of each document's first part."""
        self._held = [text.fields[field] for field in range(FIELDS) for text in texts]
        self._held += [part.folded for text in texts for part in text.parts]
        self._substrings = SubstringIndex(self._held)

    def _find(self, folded: str) -> TermOccurrences:
        held, size = sorted(self._substrings.holding(folded)), len(self.texts)
        whole = self._substrings.whole_words(folded)
        if whole is None:
            whole = [number for number in held if _stands_alone(self._held[number], folded)]
        worth = [0] * size
        for numbers, element in ((self._owned(held), OCCURRENCE_SCORE), (self._owned(whole), WHOLE_WORD_SCORE)):
            for number in numbers:
                worth[number] += element
        ends = [bisect_left(held, size * field) for field in range(FIELDS + 1)]
        for field, field_score in enumerate(FIELD_SCORES):
            for number in held[ends[field] : ends[field + 1]]:
                worth[number - size * field] += field_score
        return TermOccurrences(worth, _bits([number - size * FIELDS for number in held[ends[-1] :]], len(self._held)))

    def counted(self, number: int, parts: int) -> int:
        """The number of these parts that belong to a document."""
        begin, end = self._begins[number : number + 2]
        return (parts >> begin & (1 << end - begin) - 1).bit_count()

    def _owned(self, numbers: Iterable[int]) -> set[int]:
        return set(map(self._owners.__getitem__, numbers))


class SearchableDocuments:
    """The documents of a project: one large segment, and a small one of later changes.

    Args:
        large: The large segment.
        obsolete: Numbers of the large segment's documents that were removed or changed.
        changed: The later changes.
    """

    def __init__(self, large: Segment, obsolete: frozenset[int] = frozenset(), changed: Segment | None = None) -> None:
        self.segments = ((large, obsolete), *([(changed, frozenset[int]())] if changed else []))
        """Segments, each with the numbers of its obsolete documents."""

    @property
    def all(self) -> list[SearchableDocument]:
        """Every current document, in no particular order."""
        return [
            text
            for segment, obsolete in self.segments
            for number, text in enumerate(segment.texts)
            if number not in obsolete
        ]

    def updated(self, obsolete: Collection[str], changed: Sequence[SearchableDocument]) -> SearchableDocuments:
        """The documents after a change.

        Args:
            obsolete: File names of removed and changed documents.
            changed: New and changed documents.
        """
        large, before = self.segments[0]
        numbers = before.union(large.numbers[name] for name in obsolete if name in large.numbers)
        beside = [text for segment, _ in self.segments[1:] for text in segment.texts if text.filename not in obsolete]
        beside += changed
        if max(len(numbers), len(beside)) > max(MIN_CHANGED, len(large.texts) // 8):
            documents = [text for number, text in enumerate(large.texts) if number not in numbers]
            return SearchableDocuments(Segment([*documents, *beside]))
        return SearchableDocuments(large, numbers, Segment(beside) if beside else None)


NO_DOCUMENTS = SearchableDocuments(Segment(()))


def searchable(filename: str, document: Document) -> SearchableDocument:
    """A document in searchable form."""
    metadata = metadata_of(document)
    introduction = introduction_of(document)
    chapters = read_chapters(document)
    parts = [_part(chapter.title, chapter.title, chapter.text) for chapter in chapters]
    parts += [_part(INTRODUCTION, "", introduction)] if introduction else []
    headings = fold("\n".join(chapter.title for chapter in chapters))
    fields = (fold(metadata.title), fold("\n".join(metadata.keywords)), headings)
    return SearchableDocument(filename, metadata, fields, tuple(parts))


def _part(title: str, heading: str, text: str) -> SearchablePart:
    source = f"{heading}\n{text}" if heading else text
    folded = fold(source)
    return SearchablePart(title, folded, source if len(source) == len(folded) else folded, first_paragraph(text))


def _bits(numbers: Iterable[int], size: int) -> int:
    """A set of numbers below `size` as an integer bit set."""
    digits = bytearray(b"0") * (size + 1)
    for number in numbers:
        digits[size - number] = ord("1")
    return int(digits, 2)


def _stands_alone(text: str, folded: str) -> bool:
    """Whether a text contains a word without a letter or digit directly before or after it."""
    at, end = -1, len(folded)
    for _ in range(_MAX_WHOLE_LOOKS):
        at = text.find(folded, at + 1)
        if at < 0:
            return False
        if not _joined(text, at - 1, folded[0]) and not _joined(text, at + end, folded[-1]):
            return True
    return False


def _joined(text: str, at: int, edge: str) -> bool:
    """Whether a keyword's edge and the character beside it belong to one word."""
    return 0 <= at < len(text) and edge.isalnum() and text[at].isalnum()


# Substring search, which finds `C++`, `$x`, `中文` and single letters exactly as typed.
#
# A document matches if any word of the query occurs anywhere in it. It is ranked by the number of words that occur
# whole, the number that occur at all, and the fields in which they occur.


MAX_EXCERPTS = 2
"""Maximum number of excerpts of one keyword in one chapter."""
KEYWORD_THRESHOLD = 4
"""Number of matching keywords in a chapter above which each has one excerpt only."""
MAX_PARTS = 50
"""Maximum number of chapters shown per document; `DocumentMatch.matching` counts all."""
EXCERPT_CHARS = 100
"""Approximate length of an excerpt in characters."""


@dataclass(frozen=True, slots=True)
class MatchingPart:
    """A chapter that contains keywords."""

    chapter: str
    keywords: tuple[str, ...]
    excerpts: dict[str, list[str]]
    summary: str


@dataclass(frozen=True, slots=True)
class DocumentMatch:
    """A document that matches."""

    text: SearchableDocument
    keywords: tuple[str, ...]
    """The keywords found anywhere in the document."""
    parts: tuple[MatchingPart, ...]
    """The first matching chapters."""
    matching: int
    """Number of matching chapters."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The best documents, and the total number of matches."""

    matches: tuple[DocumentMatch, ...]
    total_documents: int
    total_matches: int
    """Number of matching chapters in all documents."""


def find_documents(texts: SearchableDocuments, words: Sequence[str], limit: int) -> Matches:
    """The documents that contain any of the words, best first.

    Args:
        texts: The documents to search.
        words: Words of the query, as typed.
        limit: Maximum number of documents.
    """
    wanted_words = {word.lower(): fold(word) for word in words}
    ranked = [
        other_ranked
        for segment, obsolete in texts.segments
        for other_ranked in _ranked(segment, obsolete, list(wanted_words.values()))
    ]
    matches = tuple(_match(text, wanted_words, chapters) for _, _, chapters, text in heapq.nsmallest(limit, ranked))
    return Matches(matches, len(ranked), sum(chapters for _, _, chapters, _ in ranked))


_Ranked = tuple[int, str, int, SearchableDocument]
"""A match: its sort key (the best is the least), file name, number of matching chapters, and document.

File names are unique, so the later items are never compared. It is a plain tuple for speed, because a common word
matches every document.
"""


def _ranked(segment: Segment, obsolete: frozenset[int], words: Sequence[str]) -> list[_Ranked]:
    """The documents of a segment that contain any of the words, in no particular order."""
    occurrences = [segment.find(word) for word in words]
    parts = 0
    for term_occurrences in occurrences:
        parts |= term_occurrences.parts
    ranked: list[_Ranked] = []
    for number, worth in enumerate(
        map(sum, zip(*(term_occurrences.worth for term_occurrences in occurrences), strict=True))
    ):
        if worth and number not in obsolete:
            chapters, text = segment.counted(number, parts), segment.texts[number]
            ranked.append((-worth - min(chapters, MAX_CHAPTER_SCORE), text.filename, chapters, text))
    return ranked


def _match(text: SearchableDocument, wanted_words: dict[str, str], matching: int) -> DocumentMatch:
    rest = iter(text.parts)
    parts = tuple(islice(filter(None, (_shown(part, wanted_words) for part in rest)), MAX_PARTS))
    seen = {word for part in parts for word in part.keywords}
    unseen = [*text.fields, *(part.folded for part in rest)]
    keywords = tuple(w for w, folded in wanted_words.items() if w in seen or any(folded in item for item in unseen))
    return DocumentMatch(text, keywords, parts, matching)


def _shown(part: SearchablePart, wanted_words: dict[str, str]) -> MatchingPart | None:
    """The matching part of a chapter; None if none of the words occurs in the chapter."""
    text = part.folded
    places = [(word, folded, at) for word, folded in wanted_words.items() if (at := text.find(folded)) >= 0]
    if not places:
        return None
    most = MAX_EXCERPTS if len(places) <= KEYWORD_THRESHOLD else 1
    excerpts = {word: _excerpts(part, folded, at, most) for word, folded, at in places}
    return MatchingPart(part.title, tuple(excerpts), excerpts, part.summary)


def _excerpts(part: SearchablePart, folded: str, at: int, most: int) -> list[str]:
    """Excerpts around the first occurrences of a keyword, each on one line. `at` is the first occurrence."""
    source, size = part.source, len(part.source)
    excerpts: list[str] = []
    while at >= 0:
        start = at - EXCERPT_CHARS // 2 if at > EXCERPT_CHARS // 2 else 0
        end = max(at + len(folded), start + EXCERPT_CHARS)
        piece = " ".join(source[start:end].split())
        excerpts.append(f"{'...' if start else ''}{piece}{'...' if end < size else ''}")
        if len(excerpts) == most:
            break
        at = part.folded.find(folded, end)
    return excerpts
