"""The searchable texts and filter terms of a document, as stored in the full text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.domain.documents import Document, Section
from commonplace.domain.query import Record
from commonplace.domain.records import STATED_KEYS, day_number, filter_terms, unix_seconds
from commonplace.domain.words.folded_text import fold_text
from commonplace.domain.words.grams import parted_names
from commonplace.domain.words.readable_text import readable_text

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
