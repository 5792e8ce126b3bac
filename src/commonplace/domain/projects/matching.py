"""Search by substrings, so that `C++`, `$x`, `中文` and a single letter are found as they are typed.

Texts are folded once and kept; a question then costs one pass over them. Every word of it that occurs anywhere in a
document makes the document a result; the order is decided by how many words occur whole, how many occur, and where.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
_MAX_WHOLE_LOOKS = 50
"""Places of a keyword with signs that are looked at for one that stands alone."""
_TITLE_WEIGHT, _KEYWORD_WEIGHT, _HEADING_WEIGHT = 8, 6, 4

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


def find(texts: Iterable[Text], words: Sequence[str], limit: int) -> Answer:
    """The documents in which any of the words occurs, best first.

    Args:
        texts: Where to look.
        words: Of the query, as typed.
        limit: Documents to show.
    """
    wanted = {word: fold(word) for word in words}
    scored: list[tuple[tuple[int, int, int, int], str, Text]] = []
    total = 0
    for text in texts:
        found = [folded for folded in wanted.values() if folded in text.whole]
        if not found:
            continue
        matching = _matching_parts(text, found)
        total += matching
        scored.append((_score(text, found, matching), text.filename, text))
    best = heapq.nsmallest(limit, scored, key=lambda one: ([-number for number in one[0]], one[1]))
    return Answer(tuple(_match(text, wanted, score[-1]) for score, _, text in best), len(scored), total)


def _matching_parts(text: Text, found: Sequence[str]) -> int:
    matching = 0
    for part in text.parts:
        folded = part.folded
        for word in found:  # plain loops: this is the one place that every chapter of every document comes by
            if word in folded:
                matching += 1
                break
    return matching


def _score(text: Text, found: Sequence[str], matching: int) -> tuple[int, int, int, int]:
    """Words that occur whole, words that occur, where they do, and in how many chapters."""
    weight = 0
    for folded in found:
        weight += _TITLE_WEIGHT if folded in text.title else 0
        weight += _KEYWORD_WEIGHT if folded in text.keywords else 0
        weight += _HEADING_WEIGHT if folded in text.headings else 0
    return len([1 for folded in found if _occurs_whole(text, folded)]), len(found), weight, matching


def _occurs_whole(text: Text, folded: str) -> bool:
    if folded in text.words:
        return True
    if _WORD.fullmatch(folded):
        return False
    at, end = -1, len(folded)
    for _ in range(_MAX_WHOLE_LOOKS):
        at = text.whole.find(folded, at + 1)
        if at < 0:
            return False
        if not _joined(text.whole, at - 1, folded[0]) and not _joined(text.whole, at + end, folded[-1]):
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
