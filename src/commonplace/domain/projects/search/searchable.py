"""The documents of a project as they are searched: folded once and kept, until their files change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Document
from commonplace.domain.projects.chapters import first_paragraph, introduction_of, read_chapters
from commonplace.domain.projects.knowledge import Metadata, metadata_of
from commonplace.domain.projects.search.substring_index import SubstringIndex

INTRODUCTION = "(Document Introduction)"
"""What the text before the first chapter is called in results."""
MIN_CHANGED = 32
"""Documents that may have changed before all are made ready anew; of large projects an eighth."""
FIELDS = 3
"""Title, keywords and headings: what is searched of a document beside its parts."""
MAX_CHAPTER_SCORE = 2**20 - 1
"""Matching chapters of a document that count for the order."""
FIELD_SCORES = tuple(worth << 20 for worth in (8, 6, 4))
"""What a word in the title, in the keywords, in a heading is worth; so that no number of chapters outweighs it."""
OCCURRENCE_SCORE = 1 << 30
"""What a word is worth for occurring, more than all places of 20 words together."""
WHOLE_WORD_SCORE = 1 << 36
"""What it is worth for occurring whole."""
_MAX_WHOLE_LOOKS = 50
"""Places of a keyword with signs that are looked at for one that stands alone."""
MAX_CACHED_WORDS = 64
"""Words of questions: those of one question and the ones that every question has."""


@dataclass(frozen=True, slots=True)
class SearchablePart:
    """A chapter, or the introduction, as it is searched."""

    title: str
    folded: str
    """Heading and text."""
    source: str
    """What `folded` was made of, character by character; `folded` itself where folding changed the length."""
    summary: str


@dataclass(frozen=True, slots=True)
class SearchableDocument:
    """A document as it is searched."""

    filename: str
    metadata: Metadata
    fields: tuple[str, str, str]
    """Title, keywords and headings, folded."""
    parts: tuple[SearchablePart, ...]


class TermOccurrences(NamedTuple):
    """Where a word occurs, by the numbers that a `Segment` gives its documents and their parts."""

    worth: Sequence[int]
    """What it adds for each document, in their order; 0 for those without it."""
    parts: int
    """The parts that hold it: the bits of their numbers."""


class Segment:
    """Documents that were made ready together.

    Args:
        texts: In any order.
    """

    def __init__(self, texts: Sequence[SearchableDocument]) -> None:
        self.find = lru_cache(MAX_CACHED_WORDS)(self._find)
        """Where a word of a question occurs, folded; what was found of the last words is kept."""
        self.texts = tuple(texts)
        self.numbers = {text.filename: number for number, text in enumerate(texts)}
        """Of the documents by file name."""
        self._owners = [*range(len(texts))] * FIELDS
        self._owners += [number for number, text in enumerate(texts) for _ in text.parts]
        self._begins = [*accumulate((len(text.parts) for text in texts), initial=0)]
        """The number of each document's first part."""
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
        """How many of these parts a document has."""
        begin, end = self._begins[number : number + 2]
        return (parts >> begin & (1 << end - begin) - 1).bit_count()

    def _owned(self, numbers: Iterable[int]) -> set[int]:
        return set(map(self._owners.__getitem__, numbers))


class SearchableDocuments:
    """The documents of a project: most of them made ready long ago, those that changed since beside them.

    Args:
        shelf: Most of them.
        gone: The numbers of those there that are no longer or have changed.
        changed: What has changed since.
    """

    def __init__(self, shelf: Segment, gone: frozenset[int] = frozenset(), changed: Segment | None = None) -> None:
        self.shelves = ((shelf, gone), *([(changed, frozenset[int]())] if changed else []))
        """With the numbers of the documents that no longer count."""

    @property
    def all(self) -> list[SearchableDocument]:
        """Every document that counts, in no particular order."""
        return [text for shelf, gone in self.shelves for number, text in enumerate(shelf.texts) if number not in gone]

    def updated(self, gone: Collection[str], changed: Sequence[SearchableDocument]) -> SearchableDocuments:
        """The documents after a change.

        Args:
            gone: File names of those that are no longer as they were.
            changed: Those that are new or have changed.
        """
        shelf, before = self.shelves[0]
        dead = before.union(shelf.numbers[name] for name in gone if name in shelf.numbers)
        beside = [text for one, _ in self.shelves[1:] for text in one.texts if text.filename not in gone]
        beside += changed
        if max(len(dead), len(beside)) > max(MIN_CHANGED, len(shelf.texts) // 8):
            kept = [text for number, text in enumerate(shelf.texts) if number not in dead]
            return SearchableDocuments(Segment([*kept, *beside]))
        return SearchableDocuments(shelf, dead, Segment(beside) if beside else None)


NO_DOCUMENTS = SearchableDocuments(Segment(()))


def searchable(filename: str, document: Document) -> SearchableDocument:
    """A document made ready for searching."""
    metadata = metadata_of(document)
    introduction = introduction_of(document)
    chapters = read_chapters(document)
    parts = [_part(INTRODUCTION, "", introduction)] if introduction else []
    parts += [_part(chapter.title, chapter.title, chapter.text) for chapter in chapters]
    headings = fold("\n".join(chapter.title for chapter in chapters))
    fields = (fold(metadata.title), fold("\n".join(metadata.keywords)), headings)
    return SearchableDocument(filename, metadata, fields, tuple(parts))


def _part(title: str, heading: str, text: str) -> SearchablePart:
    source = f"{heading}\n{text}" if heading else text
    folded = fold(source)
    return SearchablePart(title, folded, source if len(source) == len(folded) else folded, first_paragraph(text))


def _bits(numbers: Iterable[int], size: int) -> int:
    """A set of numbers below a size as one number, which has these bits."""
    digits = bytearray(b"0") * (size + 1)
    for number in numbers:
        digits[size - number] = ord("1")
    return int(digits, 2)


def _stands_alone(text: str, folded: str) -> bool:
    """Whether a text has a word where no letter or digit joins on to one of its own."""
    at, end = -1, len(folded)
    for _ in range(_MAX_WHOLE_LOOKS):
        at = text.find(folded, at + 1)
        if at < 0:
            return False
        if not _joined(text, at - 1, folded[0]) and not _joined(text, at + end, folded[-1]):
            return True
    return False


def _joined(text: str, at: int, edge: str) -> bool:
    """Whether a keyword's edge and the character beside it are of one word."""
    return 0 <= at < len(text) and edge.isalnum() and text[at].isalnum()
