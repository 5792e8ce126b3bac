"""The searchable texts and filter terms of a document, and recent documents, which are searched in memory."""

from __future__ import annotations

import json
import sqlite3
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, cast

from commonplace.domain.documents import Document, Section
from commonplace.domain.query import Record
from commonplace.domain.query_parser import Analyze
from commonplace.domain.records import STATED_KEYS, day_number, filter_terms, unix_seconds
from commonplace.domain.words.grams import grams, parted_names, tokens, without_grams
from commonplace.domain.words.scripts import accented_words, fold_text
from commonplace.domain.words.text_decoder import readable_text

# The searchable texts and filter terms of a document, as stored in the full text.


DAY_FIELD = "day"
FOLDER_TERM_PREFIX = "in:"
"""Prefix of the terms for the folders, at any depth, of a document."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document in searchable form; all texts are folded."""

    terms: tuple[str, ...]
    """Terms for filters."""
    numbers: Mapping[str, int]
    """Numbers for filters, if known: the document's `day` as `20240501`, and the `STATED_KEYS` in Unix seconds."""
    title: str
    """The title and the aliases."""
    body: str
    """Title, aliases, id, tags and description, the text as it is read, then what markup hides: link targets, tags."""
    sections: tuple[tuple[int, str], ...]
    """Ordinal, and headings with text, of every section that is not blank."""


def document_text(document: Document, record: Record) -> DocumentText:
    """The searchable texts of a document and of its sections."""
    said = any(section.heading == record.title for section in document.sections)
    names = (*record.aliases, record.id, *record.tags, record.description)
    about = fold_text("\n".join(names if said else (record.title, *names)))
    parts = _section_parts(document)
    text = "".join(f"{part.heading}{part.text}" for part in parts)
    folded = fold_text(text)
    # If folding the whole text only lower-cased it, lower-casing each part is enough. For ASCII texts, an equal length
    # shows this.
    lower = len(folded) == len(text) if text.isascii() else folded == text.lower()
    hidden = fold_text("\n".join(part.hidden for part in parts if part.hidden))
    return DocumentText(
        terms=(*sorted(filter_terms(record)), *_folder_terms(record.address.folder)),
        numbers=_numbers(record),
        title=fold_text("\n".join((record.title, *record.aliases))),
        body=f"{about}\n{folded}\n{hidden}" if hidden else f"{about}\n{folded}",
        sections=tuple(_section_texts(parts, str.lower if lower else fold_text)),
    )


def text_to_json(text: DocumentText) -> str:
    """The form stored in the catalogue."""
    return json.dumps((text.terms, text.numbers, text.title, text.body, text.sections))


def text_from_json(stored: str) -> DocumentText:
    """Parse the result of `text_to_json`."""
    terms, numbers, title, body, sections = json.loads(stored)
    parts = tuple((ordinal, words) for ordinal, words in sections)
    return DocumentText(tuple(terms), numbers, title, body, parts)


def _numbers(record: Record) -> dict[str, int]:
    stated = {key: unix_seconds(record.frontmatter[key]) for key in STATED_KEYS if key in record.frontmatter}
    numbers = {key: seconds for key, seconds in stated.items() if seconds is not None}
    day = day_number(record.date)
    return numbers | {DAY_FIELD: day} if day else numbers


def _folder_terms(folder: str) -> Iterator[str]:
    """One term for a folder and for each folder above it; none for the root."""
    while folder:
        yield f"{FOLDER_TERM_PREFIX}{folder}/"
        folder = folder.rpartition("/")[0]


class _SectionParts(NamedTuple):
    section: Section
    heading: str
    """The heading line, as it is read."""
    text: str
    """The text under the heading, as it is read."""
    hidden: str
    """The parts of both that are not read, and names with numbers, divided."""


def _section_parts(document: Document) -> list[_SectionParts]:
    source, base = document.source, document.body_start
    written = source[base:].decode()
    plain = written.isascii()
    parts: list[_SectionParts] = []
    for section in document.sections:
        start, content, end = section.start, section.content, section.end
        heading = written[start - base : content - base] if plain else source[start:content].decode()
        text = written[content - base : end - base] if plain else source[content:end].decode()
        shown, under = readable_text(heading), readable_text(text)
        hidden = "\n".join(filter(None, (shown.hidden, under.hidden, parted_names(f"{shown.text}{under.text}"))))
        parts.append(_SectionParts(section, shown.text, under.text, hidden))
    return parts


def _section_texts(parts: Iterable[_SectionParts], fold_part: Callable[[str], str]) -> Iterator[tuple[int, str]]:
    """Ordinal, and headings with text, of every section that is not blank."""
    for section, _, text, hidden in parts:
        if section.level or hidden or (text and not text.isspace()):
            # Targets of links come last, so that they divide no sentence.
            yield (
                section.ordinal,
                fold_part("\n".join((*section.path, text, hidden) if hidden else (*section.path, text))),
            )


# Recent documents: documents that are newer than the full text, and are searched in memory by the same rules.
#
# Committing a document to Tantivy takes ten milliseconds; storing its text in the catalogue takes less than one.
# Therefore the texts of a few changed documents are stored in the catalogue until they are flushed. They hide their
# old versions in the full text, and are scored with its statistics.


MAX_CODE_POINT = "\U0010ffff"


class FieldTexts(Protocol):
    """Statistics of one field of some texts, for BM25."""

    @property
    def lengths(self) -> Sequence[int]:
        """Number of words of each text."""
        ...

    @property
    def vocabulary(self) -> Iterable[str]:
        """Every distinct word."""
        ...

    def holding(self, word: str) -> int:
        """Number of texts that contain a word."""
        ...


@dataclass(frozen=True)
class TextTerms:
    """The words of one text."""

    order: Sequence[str]

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of occurrences of each word."""
        return Counter(self.order)

    @property
    def lengths(self) -> Sequence[int]:
        """The length of the text, as a sequence of one."""
        return (len(self.order),)

    @property
    def vocabulary(self) -> Iterable[str]:
        """Every distinct word."""
        return self.counts

    def holding(self, word: str) -> int:
        """1 if the text contains the word, else 0."""
        return int(word in self.counts)


class Postings:
    """One field of a document's sections as an inverted index.

    Args:
        texts: The words of each section.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self.lengths: list[int] = []
        """Number of words of each section."""
        self._places: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(texts):
            self.lengths.append(len(words))
            for word, count in Counter(words).items():
                self._places.setdefault(word, []).append((number, count))

    @property
    def vocabulary(self) -> Iterable[str]:
        """Every distinct word."""
        return self._places

    def places(self, word: str) -> Sequence[tuple[int, int]]:
        """Positions of the sections that contain a word, with the number of occurrences."""
        return self._places.get(word, ())

    def holding(self, word: str) -> int:
        """Number of sections that contain a word."""
        return len(self.places(word))


@dataclass(frozen=True, slots=True)
class DocumentSections:
    """The sections of a document."""

    ordinals: Sequence[int]
    """Ordinals by position in the postings."""
    fields: Mapping[str, Postings]
    """Words under `body`, grams under `grams`."""


@dataclass(frozen=True)
class RecentDocument:
    """A recent document, tokenized on first use."""

    text: DocumentText
    analyze: Analyze = field(repr=False)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms for filters."""
        return frozenset(self.text.terms)

    @cached_property
    def fields(self) -> Mapping[str, TextTerms]:
        """Words by field; under `grams` the grams, with the words between them."""
        texts = {"body": self.text.body, "title": self.text.title}
        words = {name: TextTerms(self.analyze(without_grams(text))) for name, text in texts.items()}
        return {
            **words,
            "grams": TextTerms(tokens(self.text.body, self.analyze)),
            "accented": TextTerms(accented_words(self.text.body)),
        }

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every distinct word and gram of all fields."""
        return frozenset[str]().union(*(text.counts for text in self.fields.values()))

    @cached_property
    def sections(self) -> DocumentSections:
        """Words and grams of every section."""
        texts = [text for _, text in self.text.sections]
        words = (self.analyze(without_grams(text)) for text in texts)
        fields = {"body": Postings(words), "grams": Postings(map(grams, texts))}
        fields["accented"] = Postings(map(accented_words, texts))
        return DocumentSections([ordinal for ordinal, _ in self.text.sections], fields)


class RecentDocuments:
    """The recent documents of one generation.

    Args:
        documents: Documents by number.
        hidden: Numbers of these documents and of deleted ones.
    """

    def __init__(self, documents: Mapping[int, RecentDocument], hidden: Iterable[int]) -> None:
        self.documents = documents
        self.hidden = tuple(hidden)

    def holders(self, field_name: str, word: str) -> int:
        """Number of documents that contain a word in a field."""
        return sum(word in document.fields[field_name].counts for document in self.documents.values())

    def words_beginning(self, prefix: str) -> list[str]:
        """The words of the documents with a prefix."""
        return _beginning(self._vocabulary, prefix)

    def grams_beginning(self, prefix: str) -> list[str]:
        """The grams of the documents with a prefix."""
        return _beginning(self._grams, prefix)

    @cached_property
    def _vocabulary(self) -> list[str]:
        return sorted({word for document in self.documents.values() for word in document.fields["body"].counts})

    @cached_property
    def _grams(self) -> list[str]:
        return sorted({gram for document in self.documents.values() for gram in document.fields["grams"].counts})


class RecentCache:
    """A cache of the tokenized recent documents.

    Args:
        analyze: The full text's tokenizer.
    """

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze
        self._lock = threading.Lock()
        self._known: dict[int, tuple[int, RecentDocument | None]] = {}
        self._latest = (-1, RecentDocuments({}, ()))

    def at(self, connection: sqlite3.Connection, generation: int) -> RecentDocuments:
        """The recent documents of the catalogue at this generation."""
        with self._lock:
            seen, latest = self._latest
            if seen == generation:
                return latest
            values = self._known
        rows = cast("list[tuple[int, int]]", connection.execute("SELECT id, seq FROM recent").fetchall())
        fresh = {key: values[key] if key in values and values[key][0] == seq else self._read(connection, key, seq)
                 for key, seq in rows}  # fmt: skip
        recent = RecentDocuments({key: document for key, (_, document) in fresh.items() if document}, fresh)
        with self._lock:
            self._known, self._latest = fresh, (generation, recent)
        return recent

    def _read(self, connection: sqlite3.Connection, key: int, seq: int) -> tuple[int, RecentDocument | None]:
        stored = connection.execute("SELECT text FROM recent WHERE id = ?", (key,)).fetchone()[0]
        return seq, RecentDocument(text_from_json(stored), self._analyze) if stored else None


def _beginning(ordered: list[str], prefix: str) -> list[str]:
    return ordered[bisect_left(ordered, prefix) : bisect_left(ordered, prefix + MAX_CODE_POINT)]
