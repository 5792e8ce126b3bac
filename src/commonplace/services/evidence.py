"""The sections that answer a question, best first, within a budget of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.documents import OutlinedText
from commonplace.domain.query import Record, SearchMode, SearchQuery, SectionHit
from commonplace.domain.ranking import Span, around, chosen_text, paragraph_worths, paragraphs, query_words
from commonplace.domain.semantic import TARGET_CHARS
from commonplace.domain.status import TextStatus
from commonplace.domain.tokens import fitting, size_of
from commonplace.domain.words.grams import WORD
from commonplace.services.collections import Collection
from commonplace.services.searches import FoundHit, search
from commonplace.services.statuses import CollectionStatuses

MAX_EVIDENCE_DOCUMENTS = 12
"""Maximum number of documents that are opened."""
MAX_EVIDENCE_SECTIONS = 5
"""Number of sections per document, unless more are asked for."""
MAX_DOCUMENT_SHARE = 0.4
"""Maximum fraction of the budget for one section."""
MIN_SIZE = 600
"""Quarters of a token that one section may always use, whatever its share of the budget is."""
MIN_USEFUL_CHARACTERS = 200
"""Minimum number of characters of a cut section; shorter ones are omitted."""
DOCUMENT_WEIGHT = 0.3
"""Weight of a document's score relative to the score of its section."""
LONG_SECTION = 2_000
"""Number of characters above which a section is ranked by its best paragraph."""
PLACE_WEIGHT = 0.5
"""Weight of a long section's score relative to the words of its paragraph, 0 to 1."""

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
    """The score of its best paragraph."""
    words: frozenset[str] = frozenset()
    """The words of the question that a part of the text should contain, casefolded."""
    spans: Sequence[Span] = ()
    """The paragraphs of `text`."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores by paragraph."""
    status: TextStatus | None = None
    """Whether the section holds; None if neither it nor its page declares anything."""

    @property
    def is_lapsed(self) -> bool:
        """Whether the section is superseded, retired or expired."""
        return self.status is not None and self.status.is_lapsed


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sections that answer a question."""

    sections: list[EvidenceSection]
    """Sections, best first, each with its whole text."""
    total: int = 0
    """Number of documents that match."""
    notice: str = ""
    """A sentence about parts of the question that could not be answered; see `searches.FoundHits`."""
    incomplete: tuple[FoundHit, ...] = ()
    """The documents with further matching sections."""


def gather(
    collections: Sequence[Collection],
    query: SearchQuery,
    mode: SearchMode,
    *,
    offset: int = 0,
    sections: int = MAX_EVIDENCE_SECTIONS,
) -> list[EvidenceSection]:
    """The sections of `evidence`, without its notice. Takes the same arguments and raises the same errors."""
    return evidence(collections, query, mode, offset=offset, sections=sections).sections


def evidence(
    collections: Sequence[Collection],
    query: SearchQuery,
    mode: SearchMode,
    *,
    offset: int = 0,
    sections: int = MAX_EVIDENCE_SECTIONS,
) -> Evidence:
    """The sections that answer, best first, each with its whole text.

    Args:
        collections: The collections to search.
        query: The query; its offset and limit are ignored.
        mode: By words, similarity or both.
        offset: Number of the best documents to skip.
        sections: Maximum number of sections per document.

    Raises:
        InvalidInputError, UnavailableError: from `searches.search`.
    """
    # One section more shows whether there are further ones.
    search_query = replace(query, offset=offset, limit=MAX_EVIDENCE_DOCUMENTS, sections=sections + 1, snippet=0)
    answer = search(collections, search_query, mode)
    best = max((hit.hit.score for hit in answer.hits), default=0.0) or 1.0
    texts = _texts(answer.hits)
    evidence_sections = [
        section
        for hit in answer.hits
        if (text := texts.get((hit.collection.name, hit.hit.record.address)))
        for section in _sections(hit, text, hit.hit.score / best, sections)
    ]
    incomplete = tuple(hit for hit in answer.hits if len(hit.hit.sections) > sections)
    return Evidence(by_paragraphs(evidence_sections, query.text), answer.total, answer.notice, incomplete)


def fit(
    sections: Sequence[EvidenceSection], room: int, show: Callable[[EvidenceSection, str], tuple[Row, int]]
) -> list[Row]:
    """The best paragraphs that fit into the budget, each with its neighbours, in the sections that they belong to.

    The first paragraph that does not fit ends the answer, so that its sections are the first ones of `sections`.

    Args:
        sections: Sections, best first.
        room: The budget in quarters of a token.
        show: Returns the form of a section with a text, and its size in quarters of a token.
    """
    most = max(MIN_SIZE, int(MAX_DOCUMENT_SHARE * room))
    spans = [section.spans for section in sections]
    rows: list[tuple[Row, int]] = []
    chosen: list[frozenset[int]] = []
    for at, place in _ranked(sections, spans):
        section, is_open = sections[at], at < len(rows)
        taken, used = (chosen[at], rows[at][1]) if is_open else (frozenset[int](), 0)
        if is_open and place in taken:
            continue
        for near in (1, 0):
            wanted_numbers = taken.union(range(max(place - near, 0), min(place + near + 1, len(spans[at]))))
            text = chosen_text(section.text, spans[at], wanted_numbers)
            row, size = show(section, text)
            if size - used <= room and (is_open or size_of(text) <= most):
                break
        else:
            cut = None if is_open else _cut_to(section, text, most, room, show)
            if cut is None:
                break
            row, size = cut
        room -= size - used
        rows[at : at + 1] = [(row, size)]
        chosen[at : at + 1] = [wanted_numbers]
    return [row for row, _ in rows]


def _ranked(sections: Sequence[EvidenceSection], spans: Sequence[Sequence[Span]]) -> list[tuple[int, int]]:
    """Section and place of each paragraph, best first; the best one of a section before those of later sections."""
    scores = [
        [section.scores.get(section.text[start:end], 0.0) for start, end in within] or [0.0]
        for section, within in zip(sections, spans, strict=True)
    ]
    highest = 0.0
    for of in reversed(scores):
        best = max(of)
        highest = max(highest, best)
        of[of.index(best)] = highest
    places = [(-score, at, place) for at, of in enumerate(scores) for place, score in enumerate(of)]
    return [(at, place) for _, at, place in sorted(places)]


def _cut_to(
    section: EvidenceSection, text: str, most: int, room: int, show: Callable[[EvidenceSection, str], tuple[Row, int]]
) -> tuple[Row, int] | None:
    """The form of a section with the part of a text that has most of the question's words, and its size.

    None if too little of it fits.
    """
    whole, text = text, fitting(lambda limit: around(text, section.words, limit), text, most)
    row, size = show(section, text)
    while size > room and len(text) > MIN_USEFUL_CHARACTERS:
        # Escaped characters take more space, so the text is cut by the size of its final form.
        over = max((size - room) * len(text) // size_of(text), 16)
        text = around(whole, section.words, max(len(text) - over, MIN_USEFUL_CHARACTERS - 1))
        row, size = show(section, text)
    return None if size > room or (section.text and not text) else (row, size)


def by_paragraphs(sections: Sequence[EvidenceSection], question: str) -> list[EvidenceSection]:
    """The sections by their best paragraph, best first; the paragraphs of all are compared with the question.

    A long section, such as a chat, is as good as its best paragraph; another one keeps its score.
    """
    sections = [replace(section, spans=paragraphs(section.text)) for section in sections]
    texts = [[section.text[start:end] for start, end in section.spans] for section in sections]
    words = query_words(question) or frozenset(WORD.findall(question.casefold()))
    ranked: list[EvidenceSection] = []
    for section, parts, shares in zip(sections, texts, paragraph_worths(texts, question), strict=True):
        floor, best = (PLACE_WEIGHT if len(section.text) > LONG_SECTION else 0.0), max(shares, default=0.0)
        factors = [floor + (1 - floor) * share if floor or share < best else 1.0 for share in shares]
        scores = {part: section.score * factor for part, factor in zip(parts, factors, strict=True)}
        ranked.append(replace(section, score=max(scores.values(), default=section.score), scores=scores, words=words))
    return sorted(ranked, key=lambda section: (section.is_lapsed, -section.score))


def _texts(hits: Sequence[FoundHit]) -> dict[tuple[str, Address], OutlinedText]:
    """The texts of the documents of hits, by collection and address; deleted ones are omitted."""
    addresses: dict[str, list[Address]] = {}
    for hit in hits:
        addresses.setdefault(hit.collection.name, []).append(hit.hit.record.address)
    collections = {hit.collection.name: hit.collection for hit in hits}
    return {
        (name, address): text
        for name, within in addresses.items()
        for address, text in collections[name].index.outlined(within).items()
    }


def _sections(found_hit: FoundHit, document: OutlinedText, place: float, count: int) -> Iterator[EvidenceSection]:
    """The `count` best matching sections of a document."""
    hit, outline = found_hit.hit, document.outline
    taken: set[int] = set()
    highest = max((section.score for section in hit.sections), default=0.0) or 1.0
    for section in hit.sections[:count]:
        if section.ordinal > outline.last or section.ordinal in taken:
            continue
        text, ordinals = _text(document, section.ordinal, _others(found_hit, section))
        taken |= ordinals
        anchors = tuple(outline.anchor(at) for at in sorted(ordinals))
        path, anchor = outline.path(section.ordinal), outline.anchor(section.ordinal)
        score = DOCUMENT_WEIGHT * place + (1 - DOCUMENT_WEIGHT) * place * section.score / highest
        yield EvidenceSection(
            found_hit.collection, hit.record, path, anchor, text, anchors, score, status=section.status
        )


def _others(hit: FoundHit, section: SectionHit) -> Callable[[int], bool]:
    """Whether a section of a hit's document lapsed and this one has not, or the other way round."""
    if section.status is None:
        return lambda _: False
    statuses, is_lapsed = CollectionStatuses(hit.collection), section.status.is_lapsed
    return lambda ordinal: statuses.at(hit.hit.record.address, ordinal).is_lapsed != is_lapsed


def _text(document: OutlinedText, ordinal: int, is_other: Callable[[int], bool]) -> tuple[str, set[int]]:
    """The text of a section with small sections below or after it, and the ordinals of these sections.

    The first section that `is_other` names, by its ordinal, ends the text.
    """
    outline = document.outline
    first, path = outline.text(ordinal), outline.path(ordinal)
    parent = path[:-1] or path
    end, ordinals = first.stop, {ordinal}
    for other in range(ordinal + 1, outline.last + 1):
        last = outline.text(other).stop
        is_other_topic = last - first.start > TARGET_CHARS or outline.path(other)[: len(parent)] != parent
        if is_other_topic or is_other(other):
            break
        end = last
        ordinals.add(other)
    return document.source[first.start : end].decode("utf-8", "replace").strip(), ordinals
