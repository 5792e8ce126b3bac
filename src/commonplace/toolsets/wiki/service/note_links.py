"""The links of notes as paths of notes."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.domain.addresses import Address
from commonplace.domain.documents import LinkKind
from commonplace.domain.query import ResolvedLink
from commonplace.services.collections import Collection


def outgoing(source: Address, links: Iterable[ResolvedLink]) -> tuple[str, ...]:
    """Paths of the notes that a note links to, in order of first occurrence, itself left out.

    A `[[wikilink]]` to a note that is not there yet counts as it is written: such links are how wikis grow.
    """
    paths: dict[str, None] = {}
    for one in links:
        if one.target is None and one.link.kind is LinkKind.WIKI and not one.link.collection and one.link.target:
            paths[one.link.target] = None
        elif one.target is not None and one.target.is_document and one.target != source:
            paths[one.target.id] = None
    return tuple(paths)


def incoming(collection: Collection, address: Address) -> tuple[str, ...]:
    """Paths of the notes that link to a note, sorted, itself left out."""
    sources = {one.source for one in collection.index.links_to(address, sentences=False)} - {address}
    return tuple(sorted(source.id for source in sources))
