"""Withheld text: parts of a document that a toolset suppresses on all pages but the document's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.query import Record
from commonplace.faces.web.exchange import PageRequest
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.site.documents import parsed_document

_NOT_LINE_END = re.compile(rb"[^\r\n]")


def withholds(request: PageRequest) -> bool:
    """Whether a toolset of the caller may withhold text."""
    return any(one.withheld is not None for one in request.toolsets)


def withheld_spans(request: PageRequest, collection: Collection, document: Document) -> list[tuple[int, int]]:
    """Sorted byte ranges `[start, end)` of a document that other pages must not show."""
    asked = (one.withheld for one in request.toolsets if one.withheld is not None)
    return sorted(span for withheld in asked for span in withheld(request, collection, document))


def spans_of(request: PageRequest, found: FoundDocument) -> list[tuple[int, int]]:
    """Like `withheld_spans`, but for a record: reads the document. Empty if the document was deleted."""
    if not withholds(request):
        return []
    try:
        document = parsed_document(found.collection, found.record.address)
    except KnowledgeError:
        return []
    return withheld_spans(request, found.collection, document)


def gives_file(request: PageRequest, found: FoundDocument) -> bool:
    """Whether a request may get a document's unmodified file.

    It may if no text is withheld, or if the parameter `layer` names the document's collection.
    """
    return request.query.get("layer") == found.collection.name or not spans_of(request, found)


def visible(request: PageRequest, collection: Collection, document: Document) -> Document:
    """The document with withheld text replaced by blanks; offsets are unchanged."""
    spans = withheld_spans(request, collection, document) if withholds(request) else []
    if not spans:
        return document
    source = document.encoded
    raw = bytearray(source)
    for start, end in spans:
        raw[start:end] = _NOT_LINE_END.sub(b" ", source[start:end])
    return replace(document, raw=bytes(raw), text=raw.decode("utf-8", "replace"))


def visible_description(request: PageRequest, collection: Collection, record: Record) -> str:
    """A document's description; "" if its frontmatter is withheld."""
    if not record.description or not withholds(request):
        return record.description
    spans = spans_of(request, FoundDocument(collection, record))
    return "" if overlaps(spans, 0, 1) else record.description


def overlaps(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a range has a byte in `[start, end)`."""
    return any(first < end and start < last for first, last in spans)
