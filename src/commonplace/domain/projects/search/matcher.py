"""Search by substrings, so that `C++`, `$x`, `中文` and a single letter are found as they are typed.

Every word of a question that occurs anywhere in a document makes the document a result; the order is decided by how
many words occur whole, how many occur, and where.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import fold
from commonplace.domain.projects.search.searchable import (
    MAX_CHAPTER_SCORE,
    SearchableDocument,
    SearchableDocuments,
    SearchablePart,
    Segment,
)

MAX_EXCERPTS = 2
"""Of one keyword in one chapter."""
KEYWORD_THRESHOLD = 4
"""Where more of them stand in a chapter, one excerpt of each says enough."""
MAX_PARTS = 50
"""Chapters of one document that are shown; `DocumentMatch.matching` counts all."""
EXCERPT_CHARS = 100
"""Characters of an excerpt, about."""


@dataclass(frozen=True, slots=True)
class MatchingPart:
    """A chapter with keywords in it."""

    chapter: str
    keywords: tuple[str, ...]
    excerpts: dict[str, list[str]]
    summary: str


@dataclass(frozen=True, slots=True)
class DocumentMatch:
    """A document that answers."""

    text: SearchableDocument
    keywords: tuple[str, ...]
    """Those found anywhere in it."""
    parts: tuple[MatchingPart, ...]
    """The first of them."""
    matching: int
    """How many chapters match."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The best documents, and how many there are in all."""

    matches: tuple[DocumentMatch, ...]
    total_documents: int
    total_matches: int
    """Matching chapters of all documents."""


def find_documents(texts: SearchableDocuments, words: Sequence[str], limit: int) -> Matches:
    """The documents in which any of the words occurs, best first.

    Args:
        texts: Where to look.
        words: Of the query, as typed.
        limit: Documents to show.
    """
    wanted = {word: fold(word) for word in words}
    ranked = [one for shelf, gone in texts.shelves for one in _ranked(shelf, gone, list(wanted.values()))]
    matches = tuple(_match(text, wanted, chapters) for _, _, chapters, text in heapq.nsmallest(limit, ranked))
    return Matches(matches, len(ranked), sum(chapters for _, _, chapters, _ in ranked))


_Ranked = tuple[int, str, int, SearchableDocument]
"""A document that answers: its place (the best is the least), file name, how many chapters match, and its text.

File names differ, so nothing behind them is compared. A plain tuple, as a common word makes one of every document.
"""


def _ranked(shelf: Segment, gone: frozenset[int], words: Sequence[str]) -> list[_Ranked]:
    """The documents of a shelf in which any of the words occurs, in no particular order."""
    found = [shelf.find(word) for word in words]
    parts = 0
    for one in found:
        parts |= one.parts
    ranked: list[_Ranked] = []
    for number, worth in enumerate(map(sum, zip(*(one.worth for one in found), strict=True))):
        if worth and number not in gone:
            chapters, text = shelf.counted(number, parts), shelf.texts[number]
            ranked.append((-worth - min(chapters, MAX_CHAPTER_SCORE), text.filename, chapters, text))
    return ranked


def _match(text: SearchableDocument, wanted: dict[str, str], matching: int) -> DocumentMatch:
    parts: list[MatchingPart] = []
    rest = iter(text.parts)
    for part in rest:
        shown = _shown(part, wanted)
        if shown:
            parts.append(shown)
            if len(parts) == MAX_PARTS:
                break
    seen = {word for part in parts for word in part.keywords}
    unseen = [*text.fields, *(part.folded for part in rest)]
    keywords = tuple(w for w, folded in wanted.items() if w in seen or any(folded in one for one in unseen))
    return DocumentMatch(text, keywords, tuple(parts), matching)


def _shown(part: SearchablePart, wanted: dict[str, str]) -> MatchingPart | None:
    """What of a chapter is shown; None where none of the words stands in it."""
    text = part.folded
    places = [(word, folded, at) for word, folded in wanted.items() if (at := text.find(folded)) >= 0]
    if not places:
        return None
    most = MAX_EXCERPTS if len(places) <= KEYWORD_THRESHOLD else 1
    excerpts = {word: _excerpts(part, folded, at, most) for word, folded, at in places}
    return MatchingPart(part.title, tuple(excerpts), excerpts, part.summary)


def _excerpts(part: SearchablePart, folded: str, at: int, most: int) -> list[str]:
    """Pieces of the chapter round the first places of a keyword, the first of which is given, on one line each."""
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
