"""The sections that answer a question, best first, for who has room for so much text and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import NotFoundError
from commonplace.domain.excerpts import excerpt, words_of
from commonplace.domain.meaning.chunks import TARGET
from commonplace.domain.nearness import Mode
from commonplace.domain.query import Record, SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.searching import FoundHit, search

CHARACTERS = 4
"""What a token is counted as: characters of compact JSON."""
DOCUMENTS = 12
"""How many documents are looked into."""
SECTIONS = 5
"""How many sections of each."""
SHARE = 0.4
"""The part of the room that one section may take."""
LEAST = 600
"""Characters that it may take in any case."""
USEFUL = 200
"""Characters of text below which a section is rather left out."""
DOCUMENT_WEIGHT = 0.3
"""What a document's own place counts beside its section's."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A section that answers."""

    collection: Collection
    record: Record
    path: tuple[str, ...]
    """Headings from the outermost to its own."""
    anchor: str
    text: str
    """Markdown: of the section, and of small ones behind it."""
    anchors: tuple[str, ...]
    """Of all these sections."""
    score: float


def gather(collections: Sequence[Collection], query: SearchQuery, mode: Mode) -> list[Evidence]:
    """The sections that answer, best first, each with its whole text.

    Args:
        collections: Where to search.
        query: What; its offset and limit do not count.
        mode: By words, meaning or both.

    Raises:
        InvalidInputError, UnavailableError: as `searching.search`.
    """
    asked = replace(query, offset=0, limit=DOCUMENTS, sections=SECTIONS, snippet=0)
    hits = search(collections, asked, mode).hits
    best = max((found.hit.score for found in hits), default=0.0) or 1.0
    found = [evidence for hit in hits for evidence in _sections(hit, hit.hit.score / best)]
    return sorted(found, key=lambda one: -one.score)


def fitted(
    found: Sequence[Evidence], question: str, room: int, show: Callable[[Evidence, str], tuple[Row, int]]
) -> list[Row]:
    """As many of the best sections as there is room for.

    Args:
        found: Best first.
        question: What is looked for: a long section is cut to where its words stand.
        room: Characters.
        show: How a section with a text is shown, and how many characters that takes.
    """
    words = words_of(question)
    most = max(LEAST, int(SHARE * room))
    rows: list[Row] = []
    for one in found:
        text = excerpt(one.text, words, most)
        row, size = show(one, text)
        while size > room and len(text) > USEFUL:
            # Escaped characters take more room than they have, so it is cut by what is shown.
            text = excerpt(text, words, max(len(text) - max(size - room, 16), USEFUL - 1))
            row, size = show(one, text)
        if size <= room and (text or not one.text):
            rows.append(row)
            room -= size
    return rows


def _sections(found: FoundHit, place: float) -> Iterator[Evidence]:
    """The sections of a document that answer."""
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
        yield Evidence(found.collection, hit.record, of.path, of.anchor, text, anchors, score)


def _text(document: Document, ordinal: int) -> tuple[str, set[int]]:
    """The text of a section with small ones below or beside it, and which sections it holds."""
    source = document.raw if document.decodable else document.text.encode()
    first = document.sections[ordinal]
    end, ordinals = first.end, {ordinal}
    for section in document.sections[ordinal + 1 :]:
        if section.end - first.content > TARGET or not _below(first, section):
            break
        end = section.end
        ordinals.add(section.ordinal)
    return source[first.content : end].decode("utf-8", "replace").strip(), ordinals


def _below(first: Section, other: Section) -> bool:
    parent = first.path[:-1] or first.path
    return other.path[: len(parent)] == parent
