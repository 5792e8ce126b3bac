"""The documents of a project in searchable form: folded once and cached until their files change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Document
from commonplace.toolsets.projects.rules.chapters import first_paragraph, introduction_of, read_chapters
from commonplace.toolsets.projects.rules.knowledge import Metadata, metadata_of
from commonplace.toolsets.projects.rules.search.substring_index import SubstringIndex

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
        for numbers, one in ((self._owned(held), OCCURRENCE_SCORE), (self._owned(whole), WHOLE_WORD_SCORE)):
            for number in numbers:
                worth[number] += one
        ends = [bisect_left(held, size * field) for field in range(FIELDS + 1)]
        for field, one in enumerate(FIELD_SCORES):
            for number in held[ends[field] : ends[field + 1]]:
                worth[number - size * field] += one
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
            text for one, obsolete in self.segments for number, text in enumerate(one.texts) if number not in obsolete
        ]

    def updated(self, obsolete: Collection[str], changed: Sequence[SearchableDocument]) -> SearchableDocuments:
        """The documents after a change.

        Args:
            obsolete: File names of removed and changed documents.
            changed: New and changed documents.
        """
        large, before = self.segments[0]
        numbers = before.union(large.numbers[name] for name in obsolete if name in large.numbers)
        beside = [text for one, _ in self.segments[1:] for text in one.texts if text.filename not in obsolete]
        beside += changed
        if max(len(numbers), len(beside)) > max(MIN_CHANGED, len(large.texts) // 8):
            kept = [text for number, text in enumerate(large.texts) if number not in numbers]
            return SearchableDocuments(Segment([*kept, *beside]))
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
