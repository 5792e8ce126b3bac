"""Converts pages to documents of the cluster, and parses stored fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.domain.addresses import Address, fold
from commonplace.domain.cluster.shared_index import SharedPage
from commonplace.domain.query import Record
from commonplace.domain.query_parser import Analyze
from commonplace.domain.record_json import fields_from_json, record_to_json
from commonplace.domain.records import day_number
from commonplace.domain.words.folded_text import accented_words, fold_text
from commonplace.domain.words.grams import grams, tokens, without_grams
from commonplace.index.catalogue.outlines import Outline
from commonplace.index.fulltext.document_text import DocumentText, document_text
from commonplace.index.fulltext.name_coverage import name_tokens, searchable_names
from commonplace.index.shared.opensearch.layout import page_key, token

MAX_SORTED_CHARS = 1000
"""Number of characters of a title, type or date that pages are sorted by. Longer tags are not counted."""


@dataclass(frozen=True, slots=True)
class HitSection:
    """The part of a section that a hit shows."""

    path: tuple[str, ...]
    anchor: str
    text: str


def page_document(page: SharedPage, text: DocumentText, analyze: Analyze) -> dict[str, Any]:
    """The document of a page."""
    record = page.record
    body, pairs = analyze(without_grams(text.body)), grams(text.body)
    return {
        "page": page_key(record.address.path),
        "path": storable(record.address.path),
        "shown": stored_record(record),
        "revision": record.revision,
        "first": Outline.of(page.document.sections).first_with_text(),
        "ordinals": [ordinal for ordinal, _ in text.sections],
        "filter_terms": [storable(term) for term in text.terms],
        "tags": [storable(tag) for tag in record.tags if len(tag) <= MAX_SORTED_CHARS],
        "kind": storable(record.type)[:MAX_SORTED_CHARS],
        **dict(text.numbers),
        "created_day": day_number(record.created),
        "updated_day": day_number(record.updated),
        "sort_title": storable(record.title.casefold())[:MAX_SORTED_CHARS],
        "sort_type": storable(fold(record.type))[:MAX_SORTED_CHARS],
        "sort_date": storable(record.date)[:MAX_SORTED_CHARS],
        "sort_created": record.created,
        "sort_updated": record.updated,
        "title": _tokens(analyze(without_grams(text.title))),
        "names": _tokens(_name_tokens(record, analyze)),
        "body": _tokens(body),
        "grams": _tokens(tokens(text.body, analyze)),
        "accented": _tokens(accented_words(text.body)),
        "body_terms": list(dict.fromkeys(map(token, body))),
        "grams_terms": list(dict.fromkeys(pairs)),
    }


def section_documents(page: SharedPage, text: DocumentText, analyze: Analyze) -> Iterator[tuple[int, dict[str, Any]]]:
    """Ordinal and document of each section."""
    document = page.document
    outline = Outline.of(document.sections)
    names = _name_tokens(page.record, analyze)
    for ordinal, words in text.sections:
        headings = fold_text("\n".join(outline.path(ordinal)))
        written = document.source[outline.text(ordinal)].decode("utf-8", "replace")
        shown = (outline.path(ordinal), outline.anchor(ordinal), written, document.address.path)
        yield (
            ordinal,
            {
                "page": page_key(document.address.path),
                "shown": json.dumps(shown),
                "ordinal": ordinal,
                "section_names": _tokens([*names, *name_tokens(headings, analyze)]),
                "section_body": _tokens(analyze(without_grams(words))),
                "section_grams": _tokens(grams(words)),
                "section_accented": _tokens(accented_words(words)),
            },
        )


def _name_tokens(record: Record, analyze: Analyze) -> list[str]:
    return name_tokens(searchable_names(record.address, record.title, record.aliases), analyze)


def text_of(page: SharedPage) -> DocumentText:
    """The searchable texts of a page."""
    return document_text(page.document, page.record)


def shown_section(stored: str) -> HitSection:
    """Parse the stored field `shown` of a section's document."""
    path, anchor, text, _ = json.loads(stored)
    return HitSection(tuple(path), anchor, text)


def address_of_section(stored: str) -> Address:
    """The page of a section, from the stored field `shown` of the section's document."""
    return Address(json.loads(stored)[3])


def stored_record(record: Record) -> str:
    """The fields of a record that a hit shows, as JSON."""
    return json.dumps({"path": record.address.path, **record_to_json(record)})


def shown_record(stored: str) -> Record:
    """Parse the result of `stored_record`."""
    values: dict[str, Any] = json.loads(stored)
    return Record(address=Address(values.pop("path")), **fields_from_json(values))


def _tokens(words: Sequence[str]) -> str:
    return " ".join(map(token, words))


def storable(text: str) -> str:
    """The text as valid Unicode. A file's name may be invalid; stored fields contain it as escaped JSON."""
    return text.encode("utf-8", "replace").decode()
