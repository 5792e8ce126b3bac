"""Additions to the pages of one layer's document: a card about the concept, and the omission of suppressed text."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError
from commonplace.faces.web.exchange import CardRow, PageRequest
from commonplace.services.collections import Collection, FoundDocument
from commonplace.toolsets.cascade.rules.concepts import id_at, section_spans
from commonplace.toolsets.cascade.service import CASCADE_KEY
from commonplace.toolsets.cascade.service.cascade import Cascade
from commonplace.toolsets.cascade.service.layers import FolderLayer
from commonplace.toolsets.cascade.web.links import concept_url

MAX_NAMED = 10
"""Maximum number of suppressed sections that a note names."""


def notes(request: PageRequest, found: FoundDocument) -> Sequence[CardRow]:
    """Links to the effective concept, and the sections of this document that a higher layer suppresses."""
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(found.record.address)
    layer = _layer_of(cascade, found.collection) if cascade else None
    if cascade is None or identifier is None or layer is None:
        return ()
    row = cascade.overview().rows.get(identifier)
    others = len(row.layers) - 1 if row else 0
    if not others:
        return ()
    about = f"is what {others + 1} layers together say; this is one layer's page."
    return (CardRow("The whole concept", concept_url(identifier), about), *_suppression(cascade, identifier, layer))


def _suppression(cascade: Cascade, identifier: str, layer: str) -> Sequence[CardRow]:
    keys = sorted(_suppressed(cascade, identifier, layer))
    if not keys:
        return ()
    named = ", ".join(f"\u201c{key}\u201d" if key else "the beginning" for key in keys[:MAX_NAMED])
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return (CardRow("", "", f"Suppressed: the whole concept leaves out what this layer says under {named}{more}."),)


def withheld(request: PageRequest, collection: Collection, document: Document) -> Sequence[tuple[int, int]]:
    """The byte ranges of a layer's document that the effective concept omits; all bytes if the document is excluded.

    All bytes of a past state are withheld, too, because it is unknown which sections were suppressed then.
    """
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(document.address)
    layer = _layer_of(cascade, collection) if cascade else None
    if cascade is None or identifier is None or layer is None:
        return ()
    source = document.encoded
    if collection.is_past:
        return ((0, len(source)),)
    keys = _suppressed(cascade, identifier, layer)
    if not keys:
        return ()
    if layer in cascade.resolve(identifier, dated=False).excluded:
        return ((0, len(source)),)
    return [(start, end) for key, start, end in section_spans(source, document.body_start) if key in keys]


def agent_url(request: PageRequest, found: FoundDocument) -> str:
    """The URL of the concept's page, which shows what an agent receives; "" if the document is not a concept."""
    cascade = request.services.of(CASCADE_KEY)
    identifier = id_at(found.record.address)
    known = cascade is not None and identifier is not None and _layer_of(cascade, found.collection) is not None
    return concept_url(identifier) if known and identifier else ""


def _suppressed(cascade: Cascade, identifier: str, layer: str) -> frozenset[str]:
    try:
        return cascade.suppressed_keys(identifier, layer)
    except KnowledgeError:  # the concept was deleted meanwhile
        return frozenset()


def _layer_of(cascade: Cascade, collection: Collection) -> str | None:
    """The name of the layer whose collection this is, now or in the past; None if there is no such layer."""
    folders = ((one.rank.name, one.collection) for one in cascade.layers if isinstance(one, FolderLayer))
    return next((rank for rank, folder in folders if folder and folder.name == collection.name), None)
