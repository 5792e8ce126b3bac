"""The sections that answer a question, best first, within a budget of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import NotFoundError
from commonplace.domain.excerpts import excerpt, query_words
from commonplace.domain.query import Record, SearchQuery
from commonplace.domain.semantic.chunks import TARGET_CHARS
from commonplace.domain.similarity import SearchMode
from commonplace.services.collections import Collection
from commonplace.services.searches import FoundHit, search

CHARACTERS_PER_TOKEN = 4
"""Number of characters of compact JSON that count as one token."""
MAX_EVIDENCE_DOCUMENTS = 12
"""Maximum number of documents that are opened."""
MAX_EVIDENCE_SECTIONS = 5
"""Maximum number of sections per document."""
MAX_DOCUMENT_SHARE = 0.4
"""Maximum fraction of the budget for one section."""
MIN_CHARACTERS = 600
"""Number of characters that one section may always use, whatever its share of the budget is."""
MIN_USEFUL_CHARACTERS = 200
"""Minimum number of characters of a cut section; shorter ones are omitted."""
DOCUMENT_WEIGHT = 0.3
"""Weight of a document's score relative to the score of its section."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class EvidenceSection:
    """A section that answers a question."""

    collection: Collection
    record: Record
    path: tuple[str, ...]
    """Headings from the outermost to the section's own."""
    anchor: str
    text: str
    """Markdown of the section, and of the small sections after it."""
    anchors: tuple[str, ...]
    """Anchors of all these sections."""
    score: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sections that answer a question."""

    sections: list[EvidenceSection]
    """Sections, best first, each with its whole text."""
    total: int = 0
    """Number of documents that match."""
    notice: str = ""
    """A sentence about parts of the question that could not be answered; see `searches.FoundHits`."""


def gather(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode, *, offset: int = 0
) -> list[EvidenceSection]:
    """The sections of `evidence`, without its notice. Takes the same arguments and raises the same errors."""
    return evidence(collections, query, mode, offset=offset).sections


def evidence(collections: Sequence[Collection], query: SearchQuery, mode: SearchMode, *, offset: int = 0) -> Evidence:
    """The sections that answer, best first, each with its whole text.

    Args:
        collections: The collections to search.
        query: The query; its offset and limit are ignored.
        mode: By words, similarity or both.
        offset: Number of the best documents to skip.

    Raises:
        InvalidInputError, UnavailableError: from `searches.search`.
    """
    asked = replace(query, offset=offset, limit=MAX_EVIDENCE_DOCUMENTS, sections=MAX_EVIDENCE_SECTIONS, snippet=0)
    answer = search(collections, asked, mode)
    best = max((found.hit.score for found in answer.hits), default=0.0) or 1.0
    found = [section for hit in answer.hits for section in _sections(hit, hit.hit.score / best)]
    return Evidence(sorted(found, key=lambda one: -one.score), answer.total, answer.notice)


def fit(
    found: Sequence[EvidenceSection], question: str, room: int, show: Callable[[EvidenceSection, str], tuple[Row, int]]
) -> list[Row]:
    """The best sections that fit into the budget. The first one that does not fit ends the list.

    Args:
        found: Sections, best first.
        question: The question; a long section is cut to the part with the question's words.
        room: The budget in characters.
        show: Returns the form of a section with a text, and its size in characters.
    """
    words = query_words(question)
    most = max(MIN_CHARACTERS, int(MAX_DOCUMENT_SHARE * room))
    rows: list[Row] = []
    for one in found:
        text = excerpt(one.text, words, most)
        row, size = show(one, text)
        while size > room and len(text) > MIN_USEFUL_CHARACTERS:
            # Escaped characters take more space, so the text is cut by the size of its final form.
            text = excerpt(text, words, max(len(text) - max(size - room, 16), MIN_USEFUL_CHARACTERS - 1))
            row, size = show(one, text)
        if size > room or (one.text and not text):
            break
        rows.append(row)
        room -= size
    return rows


def _sections(found: FoundHit, place: float) -> Iterator[EvidenceSection]:
    """The matching sections of a document."""
    hit = found.hit
    try:
        document = found.collection.index.document(hit.record.address)
    except NotFoundError:
        return
    taken: set[int] = set()
    highest = max((section.score for section in hit.sections), default=0.0) or 1.0
    for section in hit.sections:
        if section.ordinal >= len(document.sections) or section.ordinal in taken:
            continue
        text, ordinals = _text(document, section.ordinal)
        taken |= ordinals
        anchors = tuple(document.sections[at].anchor for at in sorted(ordinals))
        of = document.sections[section.ordinal]
        score = DOCUMENT_WEIGHT * place + (1 - DOCUMENT_WEIGHT) * place * section.score / highest
        yield EvidenceSection(found.collection, hit.record, of.path, of.anchor, text, anchors, score)


def _text(document: Document, ordinal: int) -> tuple[str, set[int]]:
    """The text of a section with small sections below or after it, and the ordinals of these sections."""
    source = document.source
    first = document.sections[ordinal]
    end, ordinals = first.end, {ordinal}
    for section in document.sections[ordinal + 1 :]:
        if section.end - first.content > TARGET_CHARS or not _below(first, section):
            break
        end = section.end
        ordinals.add(section.ordinal)
    return source[first.content : end].decode("utf-8", "replace").strip(), ordinals


def _below(first: Section, other: Section) -> bool:
    parent = first.path[:-1] or first.path
    return other.path[: len(parent)] == parent
