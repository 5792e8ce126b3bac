"""The searchable texts and filter terms of a document, as stored in the full text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from commonplace.domain.documents import Document
from commonplace.domain.query import Record
from commonplace.domain.records import STATED_KEYS, day_number, filter_terms, unix_seconds
from commonplace.domain.words.folded_text import fold_text

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
    """Title, aliases, id, tags and description, then the text."""
    sections: tuple[tuple[int, str], ...]
    """Ordinal, and headings with text, of every section that is not blank."""


def document_text(document: Document, record: Record) -> DocumentText:
    """The searchable texts of a document and of its sections."""
    said = any(section.heading == record.title for section in document.sections)
    names = (*record.aliases, record.id, *record.tags, record.description)
    about = fold_text("\n".join(names if said else (record.title, *names)))
    source = document.source
    written = source[document.body_start :].decode()
    text = fold_text(written)
    return DocumentText(
        terms=(*sorted(filter_terms(record)), *_folder_terms(record.address.folder)),
        numbers=_numbers(record),
        title=fold_text("\n".join((record.title, *record.aliases))),
        body=f"{about}\n{text}",
        sections=tuple(_section_texts(document, source, written, text)),
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


def _section_texts(document: Document, source: bytes, written: str, folded: str) -> Iterator[tuple[int, str]]:
    """Ordinal, and headings with text, of every section that is not blank.

    Args:
        document: The document.
        source: The bytes that the document's offsets refer to.
        written: The body of the document.
        folded: The folded body.
    """
    plain, base = written.isascii(), document.body_start
    # If folding the whole text only lower-cased it, lower-casing each part is enough. For ASCII texts, an equal length
    # shows this.
    lower = len(folded) == len(written) if plain else folded == written.lower()
    fold_part = str.lower if lower else fold_text
    for section in document.sections:
        start, end = section.content, section.end
        text = written[start - base : end - base] if plain else source[start:end].decode()
        if section.level or (text and not text.isspace()):
            yield section.ordinal, fold_part("\n".join((*section.path, text)))
