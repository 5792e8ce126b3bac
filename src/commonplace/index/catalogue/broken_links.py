"""The broken links of a collection, computed once per generation of the index, except for links to other files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from commonplace.domain.addresses import Address, is_document_path, parse_address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.links import MARKDOWN_KINDS, NamedDocument, is_text, meaning_scope, resolve
from commonplace.domain.markdown.link_sides import PageSide
from commonplace.domain.ports import Store
from commonplace.domain.query import ResolvedLink
from commonplace.domain.sites.tree import SiteTree
from commonplace.index.catalogue.database import stored_sites
from commonplace.index.catalogue.links import LINK_THRESHOLD, CatalogueLookup
from commonplace.index.catalogue.other_files import OtherFiles
from commonplace.index.stored.link_rows import link_from


@dataclass(frozen=True, slots=True)
class BrokenLinks:
    """Links that resolve to no document. Each is broken unless one of its candidate paths is a file."""

    links: Sequence[tuple[ResolvedLink, frozenset[str]]]
    """Unresolved links by source, then order; each with the candidate paths of its target among other files."""
    candidate_paths: frozenset[str]
    """All candidate paths."""

    def without(self, files: frozenset[str]) -> list[ResolvedLink]:
        """The links that are broken if these candidate paths are files."""
        return [link for link, places in self.links if not files or files.isdisjoint(places)]


class LinkDecisionCache:
    """Cached decisions on unresolved links, valid while names and other files are unchanged.

    A decision costs a hundred times as much as reading a link, and most writes change no name.
    """

    def __init__(self) -> None:
        self._places: dict[_Means, frozenset[str] | None] = {}
        self._sites: Sequence[SiteTree] = ()
        self._decisions: dict[_Stored, tuple[ResolvedLink, frozenset[str]] | None] = {}

    def decision(
        self,
        stored: _Stored,
        sites: Sequence[SiteTree],
        decide: Callable[[ResolvedLink], frozenset[str] | None],
    ) -> tuple[ResolvedLink, frozenset[str]] | None:
        """The link of a stored row with its candidate paths among other files; None if it is never broken.

        Args:
            stored: The row.
            sites: The docs trees.
            decide: Computes the candidate paths; None if the link resolves to a document.
        """
        if sites != self._sites:
            self._sites, self._decisions = sites, {}
        if stored not in self._decisions:
            source, text, side = stored
            link = ResolvedLink(source=Address(source), link=link_from(text, side), target=None)
            places = self._places_of(link, sites, decide)
            is_broken = places is not None and not is_text(link.link, link.source, sites)
            self._decisions[stored] = (link, places) if places is not None and is_broken else None
        return self._decisions[stored]

    def _places_of(
        self, one: ResolvedLink, sites: Sequence[SiteTree], decide: Callable[[ResolvedLink], frozenset[str] | None]
    ) -> frozenset[str] | None:
        # The key contains everything that `resolve` depends on. A link without a target is never broken.
        means = (
            one.link.collection,
            one.link.target,
            meaning_scope(one.link, one.source, sites),
            one.link.kind in MARKDOWN_KINDS,
        )
        if means not in self._places:
            self._places[means] = decide(one)
        return self._places[means]


_Means = tuple[str, str, str, bool]
_Stored = tuple[str, str, int]
"""A stored link: path of its source, stored text, and side."""


def find_broken_links(
    connection: sqlite3.Connection, store: Store, others: OtherFiles, decided: LinkDecisionCache, side: PageSide
) -> BrokenLinks:
    """The links of all documents that resolve to no document.

    Args:
        connection: The catalogue, inside a transaction.
        store: The files.
        others: The files that are not documents.
        decided: Decisions of earlier calls with the same names and other files.
        side: The side of `[[a|b]]` that is the page.
    """
    rows = _unresolved(connection, side)
    lookups: list[_Documents] = []

    def decide(one: ResolvedLink) -> frozenset[str] | None:
        if not lookups:
            many = len(rows) > LINK_THRESHOLD
            lookups.append(_Documents(connection, CatalogueLookup(connection, store, others), many=many))
        lookups[0].places.clear()
        target = resolve(one.link, one.source, lookups[0])
        return frozenset(lookups[0].places) if target is None else None

    sites = stored_sites(connection)
    decisions = (decided.decision(stored, sites, decide) for stored in rows)
    links = [one for one in decisions if one is not None]
    return BrokenLinks(links, frozenset[str]().union(*(places for _, places in links)))


def _unresolved(connection: sqlite3.Connection, side: PageSide) -> list[_Stored]:
    """Links that led to no document at the last resolution, by source, then order.

    Those that led to another file are among them: the index is not notified when it is deleted.
    """
    rows = connection.execute(
        "SELECT s.path, l.link, l.side FROM links l JOIN files s ON s.id = l.source"
        " WHERE l.target IS NULL AND l.readers & ? ORDER BY s.path, l.ordinal",
        (int(side),),
    )
    return cast("list[_Stored]", rows.fetchall())


class _Documents:
    """A lookup that finds only documents, and records the paths of other files that were looked up."""

    def __init__(self, connection: sqlite3.Connection, lookup: CatalogueLookup, *, many: bool) -> None:
        self._paths = {path for (path,) in connection.execute("SELECT path FROM files")}
        self._lookup = lookup
        if many:
            self._lookup.read_all_names()
        self.places: set[str] = set()
        self.sites = lookup.sites
        self.own_names = lookup.own_names

    def at(self, path: str) -> Address | None:
        if path in self._paths:
            return Address(path)
        if not is_document_path(path) and _is_address(path):
            self.places.add(path)
        return None

    def named(self, key: str) -> Sequence[NamedDocument]:
        return self._lookup.named(key)

    def files(self, key: str) -> Sequence[Address]:
        return self._lookup.files(key)


def _is_address(path: str) -> bool:
    try:
        parse_address(path)
    except InvalidInputError:
        return False
    return True
