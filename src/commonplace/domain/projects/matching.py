"""Search by substrings, so that `C++`, `$x`, `中文` and a single letter are found as they are typed.

Texts are folded once and kept, in columns; a question then costs one pass over those that it needs. Every word of it
that occurs anywhere in a document makes the document a result; the order is decided by how many words occur whole, how
many occur, and where.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from commonplace.domain.addresses import fold
from commonplace.domain.documents import Document
from commonplace.domain.projects.chapters import first_paragraph, introduction_of, read_chapters
from commonplace.domain.projects.knowledge import Metadata, metadata_of

INTRODUCTION = "(Document Introduction)"
"""What the text before the first chapter is called in results."""
MAX_EXCERPTS = 2
"""Of one keyword in one chapter."""
MAX_PARTS = 50
"""Chapters of one document that are shown; `Match.matching` counts all."""
EXCERPT = 100
"""Characters of an excerpt, about."""
_MAX_WORDS = 40
"""Words that hold one of a query, to look for the documents by them."""
_MAX_WHOLE_LOOKS = 50
"""Places of a keyword with signs that are looked at for one that stands alone."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Part:
    """A chapter, or the introduction, as it is searched."""

    title: str
    folded: str
    """Heading and text."""
    source: str
    """What `folded` was made of, character by character; `folded` itself where folding changed the length."""
    summary: str


@dataclass(frozen=True, slots=True)
class Text:
    """A document as it is searched."""

    filename: str
    metadata: Metadata
    title: str
    """Folded, as are the next three."""
    keywords: str
    headings: str
    whole: str
    """Title, keywords and all parts."""
    words: frozenset[str]
    parts: tuple[Part, ...]


class Texts:
    """The documents of a project, their fields side by side.

    Args:
        texts: In any order.
    """

    def __init__(self, texts: Sequence[Text]) -> None:
        self.all = tuple(texts)
        self.parts = [part.folded for text in texts for part in text.parts]
        """Those of all documents."""
        self.owners = [number for number, text in enumerate(texts) for _ in text.parts]
        """For each part the number of its document."""
        self.starts = [0, *accumulate(len(text.parts) for text in texts)]
        """For each document the number of its first part."""
        self.names = [f"{text.title}\n{text.keywords}" for text in texts]
        self.fields = (
            ([text.title for text in texts], 8),
            ([text.keywords for text in texts], 6),
            ([text.headings for text in texts], 4),
        )
        """What is looked through for the order, and what a word in it counts."""
        self.words = [text.words for text in texts]
        self._vocabulary = "\n".join(frozenset[str]().union(*self.words)) + "\n"

    def parts_with(self, folded: str) -> list[int]:
        """The numbers of the parts in which a word of a query occurs."""
        documents = self._holding(folded)
        if documents is None:
            return [number for number, part in enumerate(self.parts) if folded in part]
        parts, starts = self.parts, self.starts
        return [
            number
            for document in documents
            for number in range(starts[document], starts[document + 1])
            if folded in parts[number]
        ]

    def _holding(self, folded: str) -> list[int] | None:
        """The documents in which it occurs, by the few words that it is a part of; None where that would be no help."""
        if not _WORD.fullmatch(folded):
            return None
        words: set[str] = set()
        at = self._vocabulary.find(folded)
        while at >= 0 and len(words) < _MAX_WORDS:
            end = self._vocabulary.index("\n", at)
            words.add(self._vocabulary[self._vocabulary.rfind("\n", 0, at) + 1 : end])
            at = self._vocabulary.find(folded, end)
        if at >= 0:
            return None
        return [number for number, own in enumerate(self.words) if not own.isdisjoint(words)]


@dataclass(frozen=True, slots=True)
class MatchingPart:
    """A chapter with keywords in it."""

    chapter: str
    keywords: tuple[str, ...]
    excerpts: dict[str, list[str]]
    summary: str


@dataclass(frozen=True, slots=True)
class Match:
    """A document that answers."""

    text: Text
    keywords: tuple[str, ...]
    """Those found anywhere in it."""
    parts: tuple[MatchingPart, ...]
    """The first of them."""
    matching: int
    """How many chapters match."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The best documents, and how many there are in all."""

    matches: tuple[Match, ...]
    total_documents: int
    total_matches: int
    """Matching chapters of all documents."""


def searchable(filename: str, document: Document) -> Text:
    """A document made ready for searching."""
    metadata = metadata_of(document)
    introduction = introduction_of(document)
    chapters = read_chapters(document)
    parts = [_part(INTRODUCTION, "", introduction)] if introduction else []
    parts += [_part(chapter.title, chapter.title, chapter.text) for chapter in chapters]
    title, keywords = fold(metadata.title), fold("\n".join(metadata.keywords))
    headings = fold("\n".join(chapter.title for chapter in chapters))
    whole = "\n".join([title, keywords, *(part.folded for part in parts)])
    return Text(filename, metadata, title, keywords, headings, whole, frozenset(_WORD.findall(whole)), tuple(parts))


def find(texts: Texts, words: Sequence[str], limit: int) -> Answer:
    """The documents in which any of the words occurs, best first.

    Args:
        texts: Where to look.
        words: Of the query, as typed.
        limit: Documents to show.
    """
    wanted = {word: fold(word) for word in words}
    worth = [[0, 0, 0, 0] for _ in texts.all]
    matching: set[int] = set()
    for folded in wanted.values():
        parts = texts.parts_with(folded)
        found = {number for number, names in enumerate(texts.names) if folded in names}
        found.update(map(texts.owners.__getitem__, parts))
        matching.update(parts)
        _add(worth, texts, folded, found)
    for part in matching:
        worth[texts.owners[part]][3] += 1
    answering = [number for number, one in enumerate(worth) if one[1]]
    best = heapq.nsmallest(
        limit, answering, key=lambda one: ([-count for count in worth[one]], texts.all[one].filename)
    )
    return Answer(
        tuple(_match(texts.all[number], wanted, worth[number][3]) for number in best), len(answering), len(matching)
    )


def _add(worth: list[list[int]], texts: Texts, folded: str, found: set[int]) -> None:
    """Count a word for the documents in which it occurs: occurring whole, occurring, and where."""
    for number in found:
        worth[number][1] += 1
    for number in _whole(texts, folded, found):
        worth[number][0] += 1
    for field, weight in texts.fields:
        for number in [number for number, text in enumerate(field) if folded in text]:
            worth[number][2] += weight


def _whole(texts: Texts, folded: str, found: set[int]) -> list[int]:
    """The documents in which a word occurs whole."""
    if _WORD.fullmatch(folded):
        return [number for number, words in enumerate(texts.words) if folded in words]
    return [number for number in found if _stands_alone(texts.all[number].whole, folded)]


def _stands_alone(whole: str, folded: str) -> bool:
    at, end = -1, len(folded)
    for _ in range(_MAX_WHOLE_LOOKS):
        at = whole.find(folded, at + 1)
        if at < 0:
            return False
        if not _joined(whole, at - 1, folded[0]) and not _joined(whole, at + end, folded[-1]):
            return True
    return False


def _joined(text: str, at: int, edge: str) -> bool:
    """Whether a keyword's edge and the character beside it are of one word."""
    return 0 <= at < len(text) and edge.isalnum() and text[at].isalnum()


def _match(text: Text, wanted: dict[str, str], matching: int) -> Match:
    parts: list[MatchingPart] = []
    for part in text.parts:
        if len(parts) == MAX_PARTS:
            break
        found = tuple(word for word, folded in wanted.items() if folded in part.folded)
        if found:
            excerpts = {word: _excerpts(part, wanted[word]) for word in found}
            parts.append(MatchingPart(part.title, found, excerpts, part.summary))
    keywords = tuple(word for word, folded in wanted.items() if folded in text.whole)
    return Match(text, keywords, tuple(parts), matching)


def _excerpts(part: Part, folded: str) -> list[str]:
    """Pieces of the chapter round the first places of a keyword, on one line each."""
    source = part.source
    excerpts: list[str] = []
    at = part.folded.find(folded)
    while at >= 0 and len(excerpts) < MAX_EXCERPTS:
        start = max(0, at - EXCERPT // 2)
        end = min(len(source), max(at + len(folded), start + EXCERPT))
        piece = " ".join(source[start:end].split())
        excerpts.append(f"{'...' if start else ''}{piece}{'...' if end < len(source) else ''}")
        at = part.folded.find(folded, end)
    return excerpts


def _part(title: str, heading: str, text: str) -> Part:
    source = f"{heading}\n{text}" if heading else text
    folded = fold(source)
    return Part(title, folded, source if len(source) == len(folded) else folded, first_paragraph(text))
