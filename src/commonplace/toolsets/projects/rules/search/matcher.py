"""Substring search, which finds `C++`, `$x`, `中文` and single letters exactly as typed.

A document matches if any word of the query occurs anywhere in it. It is ranked by the number of words that occur whole,
the number that occur at all, and the fields in which they occur.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import fold
from commonplace.toolsets.projects.rules.search.searchable import (
    MAX_CHAPTER_SCORE,
    SearchableDocument,
    SearchableDocuments,
    SearchablePart,
    Segment,
)

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
    wanted = {word.lower(): fold(word) for word in words}
    ranked = [one for segment, obsolete in texts.segments for one in _ranked(segment, obsolete, list(wanted.values()))]
    matches = tuple(_match(text, wanted, chapters) for _, _, chapters, text in heapq.nsmallest(limit, ranked))
    return Matches(matches, len(ranked), sum(chapters for _, _, chapters, _ in ranked))


_Ranked = tuple[int, str, int, SearchableDocument]
"""A match: its sort key (the best is the least), file name, number of matching chapters, and document.

File names are unique, so the later items are never compared. It is a plain tuple for speed, because a common word
matches every document.
"""


def _ranked(segment: Segment, obsolete: frozenset[int], words: Sequence[str]) -> list[_Ranked]:
    """The documents of a segment that contain any of the words, in no particular order."""
    found = [segment.find(word) for word in words]
    parts = 0
    for one in found:
        parts |= one.parts
    ranked: list[_Ranked] = []
    for number, worth in enumerate(map(sum, zip(*(one.worth for one in found), strict=True))):
        if worth and number not in obsolete:
            chapters, text = segment.counted(number, parts), segment.texts[number]
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
    """The matching part of a chapter; None if none of the words occurs in the chapter."""
    text = part.folded
    places = [(word, folded, at) for word, folded in wanted.items() if (at := text.find(folded)) >= 0]
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
