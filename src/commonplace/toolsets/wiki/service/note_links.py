"""The links of notes as paths of notes."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import LinkKind
from commonplace.domain.links import link_key
from commonplace.domain.query import ResolvedLink
from commonplace.services.collections import Collection
from commonplace.toolsets.wiki.rules.wiki import NoteLinks


def outgoing(source: Address, links: Iterable[ResolvedLink]) -> tuple[str, ...]:
    """Paths of the notes to which a note links, in order of first occurrence, without the note itself.

    A `[[wikilink]]` to a missing note counts as written, because wikis grow through such links.
    """
    paths: dict[str, None] = {}
    for one in links:
        if is_wanted(one):
            paths[one.link.target] = None
        elif one.target is not None and one.target.is_document and one.target != source:
            paths[one.target.id] = None
    return tuple(paths)


def incoming(collection: Collection, address: Address) -> tuple[str, ...]:
    """Sorted paths of the notes that link to a note, without the note itself."""
    sources = {one.source for one in collection.index.links_to(address, sentences=False)} - {address}
    return tuple(sorted(source.id for source in sources))


def is_wanted(one: ResolvedLink) -> bool:
    """Whether a link is a wikilink to a note that does not exist."""
    return one.target is None and one.link.kind is LinkKind.WIKI and not one.link.collection and bool(one.link.target)


def wanted(collection: Collection, path: str) -> NoteLinks | None:
    """The links to a missing note, whose name is compared case-insensitively; None if there are no links."""
    named = collection.index.links_named([link_key(path)])
    found = [one for one in named if is_wanted(one) and fold(one.link.target) == fold(path)]
    sources = sorted({one.source.id for one in found})
    return NoteLinks(found[0].link.target, (), tuple(sources)) if found else None
