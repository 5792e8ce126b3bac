"""Every link of a collection that leads nowhere, worked out once for a generation of the index but for other files."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, Address, parse_address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.links import MARKDOWN_KINDS, Named, resolve
from commonplace.domain.ports import Store
from commonplace.domain.query import ResolvedLink
from commonplace.index.catalogue.linking import MANY_LINKS, CatalogueLookup, unresolved_links
from commonplace.index.catalogue.others import OtherFiles


@dataclass(frozen=True, slots=True)
class Lost:
    """Links that lead to no document, and to nothing else unless one of their places is a file."""

    links: Sequence[tuple[ResolvedLink, frozenset[str]]]
    """By source, then order, each with the paths of other files that it can mean."""
    places: frozenset[str]
    """All these paths."""

    def without(self, files: frozenset[str]) -> list[ResolvedLink]:
        """Those that lead nowhere when these of the places are files."""
        return [link for link, places in self.links if not files or files.isdisjoint(places)]


def lost_links(connection: sqlite3.Connection, store: Store, others: OtherFiles) -> Lost:
    """The links of all documents that lead to no document."""
    found = unresolved_links(connection)
    lookup = _Documents(connection, CatalogueLookup(connection, store, others), many=len(found) > MANY_LINKS)
    leads: dict[tuple[str, str, str, bool], frozenset[str] | None] = {}
    links: list[tuple[ResolvedLink, frozenset[str]]] = []
    for one in found:
        link = one.link
        # All that `resolve` looks at: a link without a target is never broken.
        means = (link.collection, link.target, one.source.folder, link.kind in MARKDOWN_KINDS)
        if means not in leads:
            lookup.places.clear()
            target = resolve(link, one.source, lookup, collection=store.name)
            leads[means] = frozenset(lookup.places) if target is None else None
        places = leads[means]
        if places is not None:
            links.append((one, places))
    return Lost(links, frozenset[str]().union(*(places for _, places in links)))


class _Documents:
    """What the rules of links ask, answered as if there were no other files; the paths where one was asked for."""

    def __init__(self, connection: sqlite3.Connection, lookup: CatalogueLookup, *, many: bool) -> None:
        self._paths = {path for (path,) in connection.execute("SELECT path FROM files")}
        self._lookup = lookup
        if many:
            self._lookup.read_all_names()
        self.places: set[str] = set()

    def at(self, path: str) -> Address | None:
        if path in self._paths:
            return Address(path)
        if not path.lower().endswith(MARKDOWN_SUFFIXES) and _is_address(path):
            self.places.add(path)
        return None

    def named(self, key: str) -> Sequence[Named]:
        return self._lookup.named(key)

    def files(self, key: str) -> Sequence[Address]:
        return self._lookup.files(key)


def _is_address(path: str) -> bool:
    try:
        parse_address(path)
    except InvalidInputError:
        return False
    return True
