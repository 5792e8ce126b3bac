"""Text of documents that pages leave out, except on the document's own page: what a toolset says is suppressed."""

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
    """Whether some toolset of the caller leaves text out."""
    return any(one.withheld is not None for one in request.toolsets)


def withheld_spans(request: PageRequest, collection: Collection, document: Document) -> list[tuple[int, int]]:
    """Runs `[start, end)` of a document's bytes, in order, that pages do not show unasked."""
    asked = (one.withheld for one in request.toolsets if one.withheld is not None)
    return sorted(span for withheld in asked for span in withheld(request, collection, document))


def spans_of(request: PageRequest, found: FoundDocument) -> list[tuple[int, int]]:
    """Like `withheld_spans`, but reads the file; empty if the document was deleted."""
    if not withholds(request):
        return []
    try:
        document = parsed_document(found.collection, found.record.address)
    except KnowledgeError:
        return []
    return withheld_spans(request, found.collection, document)


def gives_file(request: PageRequest, found: FoundDocument) -> bool:
    """Whether a request gets a document's file as it is: nothing of it is withheld, or it is asked for.

    It is asked for where the parameter `layer` names its collection.
    """
    return request.query.get("layer") == found.collection.name or not spans_of(request, found)


def visible(request: PageRequest, collection: Collection, document: Document) -> Document:
    """A document in which what is withheld is blank; all offsets stay as they are."""
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
    """Whether one of the runs has a byte in `[start, end)`."""
    return any(first < end and start < last for first, last in spans)
