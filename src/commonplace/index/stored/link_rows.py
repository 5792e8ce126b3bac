"""Stored form of links in the catalogue: one text for each link, with the targets of its sides."""

from __future__ import annotations

from typing import NamedTuple

from commonplace.domain.documents import Document, Link, LinkKind, Span
from commonplace.domain.links import MARKDOWN_KINDS, NamedDocument, name_keys
from commonplace.domain.markdown.link_sides import in_order

_SIDES = "\x1e"
"""Separator of the sides in a stored link; the row's own side comes first."""
_LAST = 2
"""`links.side` of `b` in `[[a|b]]`."""
_SEPARATOR = "\x1f"
_SEPARATORS = 11
"""Number of separators in a stored link. The format takes a tenth of the time of JSON."""

LinkTarget = tuple[str, str, bool]
"""The values that determine a link's document: collection, target, and whether it is a Markdown link."""
LinkSides = tuple[tuple[LinkTarget, str, str], ...]
"""The targets of a link's sides in order, each with the fragment and the stored link."""


class LinkColumns(NamedTuple):
    """Names and links of a document that its bytes determine; plain values only."""

    keys: tuple[str, ...]
    """Every key by which links find the document."""
    rows: tuple[LinkSides, ...]


def links_of(document: Document, named: NamedDocument) -> LinkColumns:
    """The names and links of a parsed document."""
    return LinkColumns(tuple(sorted(name_keys(named))), tuple([_sides_of(link) for link in document.links]))


def _sides_of(link: Link) -> LinkSides:
    if link.other is None:
        return (((link.collection, link.target, link.kind in MARKDOWN_KINDS), link.fragment, _stored(link)),)
    both = in_order(link) or ()
    return tuple(
        ((one.collection, one.target, one.kind in MARKDOWN_KINDS), one.fragment, _stored_side(one)) for one in both
    )


def link_from(stored: str, side: int) -> Link:
    """Parse a stored link (`links.link`) with the side of its row (`links.side`)."""
    if not side:
        return _link_from(stored)
    own, _, other = stored.partition(_SIDES)
    last = side == _LAST
    return _link_from(own)._replace(page_last=last, other=_link_from(other)._replace(page_last=not last))


def _link_from(stored: str) -> Link:
    kind, target, raw, fragment, label, collection, relation, note, *spans = stored.split(_SEPARATOR)
    start, end, target_start, target_end = map(int, spans)
    return Link(
        LinkKind(kind), target, raw, fragment, label, collection, relation, note,
        Span(start, end), Span(target_start, target_end),
    )  # fmt: skip


def _stored_side(link: Link) -> str:
    """The stored form of one side of a link with two sides."""
    both = (link, link.other) if link.other else (link,)
    return _SIDES.join([_stored(one).replace(_SIDES, "\ufffd") for one in both])


def _stored(link: Link) -> str:
    kind, target, raw, fragment, label, collection, relation, note, (start, end), (target_start, target_end) = link[:10]
    spans = f"{start}\x1f{end}\x1f{target_start}\x1f{target_end}"
    stored = _SEPARATOR.join((kind, target, raw, fragment, label, collection, relation, note, spans))
    if stored.count(_SEPARATOR) != _SEPARATORS:
        texts = [text.replace(_SEPARATOR, "\ufffd") for text in link[1:8]]
        stored = _SEPARATOR.join((kind, *texts, spans))
    return stored
