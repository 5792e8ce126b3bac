"""Queries of stored links: with one reader's interpretation, with their sentences, and those that are broken."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from typing import NamedTuple, cast

from commonplace.domain.addresses import Address, is_document_path, parse_address
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.links import (
    LinkLookup,
    LinkMeaning,
    NamedDocument,
    is_stub,
    is_text,
    link_key,
    meaning,
    read_as,
    resolution,
    resolve,
)
from commonplace.domain.markdown.link_sides import EVERY_SIDE, PageSide, chosen
from commonplace.domain.markdown.mdx import readable_source
from commonplace.domain.markdown.wikitext import to_tiddler
from commonplace.domain.ports import Store
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.sites import SiteTree, has_fields_beside
from commonplace.domain.snippets import sentence_round
from commonplace.domain.words.text_decoder import as_utf8
from commonplace.index.catalogue.database import sql
from commonplace.index.catalogue.document_rows import document_key, encode, paths_by_key
from commonplace.index.catalogue.links import LINK_THRESHOLD, CatalogueLookup, link_from

# Queries of stored links, with one reader's interpretation of links with two sides (`[[a|b]]`).


_EDGES = "SELECT DISTINCT source, target FROM links WHERE readers & ?1 AND target IS NOT NULL"
_EDGES_AROUND = (
    "SELECT source, target FROM links WHERE readers & ?1 AND target IS NOT NULL"
    " AND source IN (SELECT value FROM json_each(?2))"
    " UNION SELECT source, target FROM links WHERE readers & ?1 AND target IN (SELECT value FROM json_each(?2))"
)


@dataclass(frozen=True, slots=True)
class LinkQueries:
    """Queries of the links, as interpreted by one reader.

    Args:
        connection: The catalogue, inside a transaction.
        side: The side of `[[a|b]]` that is the page for the reader.
    """

    connection: sqlite3.Connection
    side: PageSide

    def of(
        self,
        source: Address | None,
        containing: Sequence[str] = (),
        lookup: CatalogueLookup | None = None,
        limit: int | None = None,
    ) -> list[ResolvedLink]:
        """The links of a document, in order.

        Args:
            source: The document; None for all documents, by path.
            containing: Only links whose target, fragment, label or relation contains one of these texts; () for all.
            lookup: Resolves the links again that lead to no document; None for their targets at the last resolution.
            limit: Maximum number of links, of the first ones; None for all.
        """
        conditions = ["l.source = ?"] if source else ["1"]
        conditions += [f"({' OR '.join(['instr(l.link, ?)'] * len(containing))})"] if containing else []
        keys = (document_key(source.path),) if source else ()
        links = self._resolved(" AND ".join(conditions), (*keys, *containing), limit)
        if lookup is None:
            return links
        lookup.prepare([link.link for link in links if link.target is None])
        return [_current(link, lookup) for link in links]

    def to(
        self, target: Address, lookup: CatalogueLookup, sources: Sequence[Address] | None = None
    ) -> list[ResolvedLink]:
        """The links of other documents (None: of all other documents) to a document or file, by source, then order.

        The index is not notified of other files, so links to one are resolved once more.
        """
        keys = () if sources is None else (encode([document_key(address.path) for address in sources]),)
        among = " AND l.source IN (SELECT value FROM json_each(?))" if keys else ""
        if not target.is_document:
            named = f"(l.attachment = ? OR (l.target IS NULL AND l.key = ?)){among}"
            links = self._resolved(named, (target.path, link_key(target.path), *keys))
            return [link for resolved_link in links if (link := _current(resolved_link, lookup)).target == target]
        key = document_key(target.path)
        return self._resolved(f"l.target = ? AND l.source <> ?{among}", (key, key, *keys))

    def into(self, names: Sequence[str]) -> list[ResolvedLink]:
        """The unresolved links that name another collection by one of these names, by source, then order."""
        named = "l.collection IN (SELECT value FROM json_each(?)) AND l.collection <> '' AND l.target IS NULL"
        return self._resolved(named, (encode(list(names)),))

    def named(self, keys: Sequence[str], *, either_side: bool = False) -> list[ResolvedLink]:
        """The links whose targets have one of these keys, resolved or not, by source, then order.

        Args:
            keys: The keys.
            either_side: Whether to include the sides that are not the page.
        """
        if either_side:
            return LinkQueries(self.connection, EVERY_SIDE).named(keys)
        return self._resolved("l.key IN (SELECT value FROM json_each(?))", (encode(list(keys)),))

    def unresolved(self, source: Address) -> list[ResolvedLink]:
        """Links of a document that led to no document at the last resolution, in order."""
        return self._resolved("l.target IS NULL AND l.source = ?", (document_key(source.path),))

    def broken(self, lookup: CatalogueLookup, source: Address) -> list[ResolvedLink]:
        """Broken links of a document, in order.

        The index is not notified of other files, so links that lead to no document are resolved once more.
        """
        unresolved = [link for link in self.unresolved(source) if not is_text(link.link, source, lookup.sites)]
        lookup.prepare([link.link for link in unresolved])
        return [
            link
            for link in unresolved
            if resolve(link.link, source, lookup) is None and not is_stub(link.link, source, lookup)
        ]

    def dead(self) -> list[ResolvedLink]:
        """Links whose fragments name no part of their targets, by source, then order."""
        return self._resolved(
            "l.fragment <> '' AND (l.target, l.fragment) IN (SELECT target, fragment FROM dead_fragments)", ()
        )

    def edges(self, around: Collection[Address] | None = None) -> list[tuple[Address, Address]]:
        """Every pair of linked documents once, by source, then target; links within a document are omitted.

        Args:
            around: Documents, of which one is in each pair; None for all pairs.
        """
        keys = None if around is None else encode([document_key(address.path) for address in around])
        ends = _EDGES if keys is None else _EDGES_AROUND
        rows = self.connection.execute(
            sql(
                "SELECT s.path, t.path FROM (", ends, ") l JOIN files s ON s.id = l.source",
                "JOIN files t ON t.id = l.target WHERE l.source <> l.target ORDER BY s.path, t.path",
            ),
            [int(self.side)] if keys is None else [int(self.side), keys],
        )  # fmt: skip
        address = cache(Address)  # equal ones are compared the faster if they are the same
        return [(address(source), address(target)) for source, target in rows]

    def hubs(self, limit: int) -> list[tuple[Address, int]]:
        """The documents to which most others link, each with their number; most first, then by path."""
        rows = self.connection.execute(
            "SELECT target, COUNT(DISTINCT source) FROM links WHERE target IS NOT NULL AND target <> source"
            " AND readers & ? GROUP BY target",
            (int(self.side),),
        )
        counts = dict(cast("Iterable[tuple[int, int]]", rows))
        fewest = min(nlargest(limit, counts.values()), default=0)
        paths = paths_by_key(self.connection, [key for key, count in counts.items() if count >= fewest])
        ordered = sorted(((-counts[key], path) for key, path in paths.items()))[:limit]
        return [(Address(path), -count) for count, path in ordered]

    def orphans(self) -> frozenset[str]:
        """Paths of the documents that no other document links to."""
        linked = "SELECT 1 FROM links l WHERE l.target = f.id AND l.source <> f.id AND l.readers & ?"
        rows = self.connection.execute(
            sql("SELECT f.path FROM files f WHERE NOT EXISTS (", linked, ")"), (int(self.side),)
        )
        return frozenset(path for (path,) in cast("Iterable[tuple[str]]", rows))

    def _resolved(self, where: str, values: Sequence[str | int], limit: int | None = None) -> list[ResolvedLink]:
        rows = self.connection.execute(
            sql(
                "SELECT s.path, l.link, l.side, t.path, l.attachment FROM links l JOIN files s ON s.id = l.source",
                "LEFT JOIN files t ON t.id = l.target WHERE",
                where,
                "AND l.readers & ? ORDER BY s.path, l.ordinal LIMIT ?",
            ),
            (*values, int(self.side), -1 if limit is None else limit),
        )
        resolved: list[ResolvedLink] = []
        for source, stored, side, target, attachment in cast("Iterable[_Found]", rows):
            path = target or attachment
            link = link_from(stored, side)
            resolved.append(ResolvedLink(source=Address(source), link=link, target=Address(path) if path else None))
        return resolved


def _current(link: ResolvedLink, lookup: CatalogueLookup) -> ResolvedLink:
    """A link with its target as of now, if it is no document."""
    if link.target is not None and link.target.is_document:
        return link
    now = resolution(link.link, link.source, lookup)
    return replace(link, target=now.target, link=now.link)


def labels_written_first(connection: sqlite3.Connection, side: PageSide, source: Address) -> set[tuple[str, str]]:
    """`a` and `b` of those links `[[a|b]]` of a document whose page is `b` for the reader."""
    rows = connection.execute(
        "SELECT link FROM links WHERE source = ? AND side = 2 AND readers & ?", (document_key(source.path), int(side))
    )
    links = (link_from(stored, 2) for (stored,) in cast("Iterable[tuple[str]]", rows))
    return {(link.label, link.raw) for link in links if link.label}


_Found = tuple[str, str, int, str | None, str | None]


def resolve_all(lookup: LinkLookup, document: Document, side: PageSide) -> list[ResolvedLink]:
    """The links of a parsed document with their targets, in order, as interpreted by a reader."""
    source, sites = document.address, lookup.sites
    targets: dict[LinkMeaning, tuple[str, Address | None]] = {}

    def follow(link: Link) -> tuple[Link, Address | None]:
        means = meaning(link, source, sites)
        if means not in targets:
            found_resolution = resolution(link, source, lookup)
            targets[means] = found_resolution.link.target, found_resolution.target
        path, target = targets[means]
        return read_as(link, path), target

    links = map(to_tiddler, document.links) if has_fields_beside(sites, source) else document.links
    taken = [chosen(link, side, follow, lookup.own_names) for link in links]
    return [ResolvedLink(source=source, link=link, target=target) for link, target in taken]


# Reads the sentences around links from the files; the index does not store them.


def with_sentences(store: Store, links: Sequence[ResolvedLink]) -> list[ResolvedLink]:
    """The same links, each with its sentence; "" if the file has changed since it was indexed."""
    texts: dict[Address, bytes] = {}
    resolved_links: list[ResolvedLink] = []
    for link in links:
        if link.source not in texts:
            try:
                texts[link.source] = readable_source(link.source, as_utf8(store.read(link.source))).text
            except (NotFoundError, StorageError):
                texts[link.source] = b""
        resolved_links.append(replace(link, sentence=_sentence(texts[link.source], link.link)))
    return resolved_links


def _sentence(raw: bytes, link: Link) -> str:
    start, end = link.span.start, link.span.end
    if start == end:
        return link.note
    if link.raw.encode() not in raw[start:end]:
        return ""
    return sentence_round(raw, start, end, shown=link.label if link.page_last else None)


# The broken links of a collection, computed once per generation of the index, except for links to other files.


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
        self._places: dict[LinkMeaning, frozenset[str] | None] = {}
        self._sites: Sequence[SiteTree] = ()
        self._decisions: dict[_Stored, tuple[ResolvedLink, frozenset[str]] | None] = {}
        self.last: _Broken | None = None

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
        self, link: ResolvedLink, sites: Sequence[SiteTree], decide: Callable[[ResolvedLink], frozenset[str] | None]
    ) -> frozenset[str] | None:
        means = meaning(link.link, link.source, sites)  # a link without a target is never broken
        if means not in self._places:
            self._places[means] = decide(link)
        return self._places[means]


_Stored = tuple[str, str, int]
"""A stored link: path of its source, stored text, and side."""
_Decision = tuple[ResolvedLink, frozenset[str]]


class _Broken(NamedTuple):
    """The last result, and what it was made of."""

    state: object
    """The docs trees and the names of the collection."""
    sources: Mapping[str, tuple[Record, Sequence[_Decision]]]
    """The record of each document, and its links, by path."""
    links: BrokenLinks


MAX_SINGLE_SOURCES = 200
"""Maximum number of changed documents whose links are queried by their numbers; of more, all links are read."""


def find_broken_links(
    connection: sqlite3.Connection,
    records: Sequence[Record],
    lookup: CatalogueLookup,
    decided: LinkDecisionCache,
    side: PageSide,
) -> BrokenLinks:
    """The links of all documents that resolve to no document. Only those of changed documents are read again.

    Args:
        connection: The catalogue, inside a transaction.
        records: All records by path; those of unchanged documents are the objects of earlier calls.
        lookup: The names and files.
        decided: Decisions of earlier calls with the same names and other files.
        side: The side of `[[a|b]]` that is the page.
    """
    state = lookup.sites, lookup.own_names
    before = decided.last
    if before is None or before.state != state:
        before = _Broken(state, {}, BrokenLinks((), frozenset()))
    changed = [
        record
        for record in records
        if (last := before.sources.get(record.address.path)) is None or last[0] is not record
    ]
    if not changed and len(before.sources) == len(records):
        return before.links
    rows = _unresolved(connection, side, None if len(changed) > MAX_SINGLE_SOURCES else changed)
    lookups: list[_Documents] = []

    def decide(link: ResolvedLink) -> frozenset[str] | None:
        if not lookups:
            lookups.append(_Documents(connection, lookup, many=len(rows) > LINK_THRESHOLD))
        lookups[0].places.clear()
        is_right = resolve(link.link, link.source, lookups[0]) or is_stub(link.link, link.source, lookups[0])
        return None if is_right else frozenset(lookups[0].places)

    fresh: dict[str, list[_Decision]] = {record.address.path: [] for record in changed}
    for stored in rows:
        decision = decided.decision(stored, lookup.sites, decide) if stored[0] in fresh else None
        if decision is not None:
            fresh[stored[0]].append(decision)
    sources: dict[str, tuple[Record, Sequence[_Decision]]] = {}
    for record in records:
        path = record.address.path
        sources[path] = (record, fresh[path]) if path in fresh else before.sources[path]
    decided.last = _Broken(state, sources, _all_of(sources, before))
    return decided.last.links


def _all_of(sources: Mapping[str, tuple[Record, Sequence[_Decision]]], before: _Broken) -> BrokenLinks:
    """The links of all sources; the last result if none of them differs."""
    links = [decision for _, every in sources.values() for decision in every]
    if links == before.links.links:
        return before.links
    return BrokenLinks(links, frozenset[str]().union(*(places for _, places in links)))


def _unresolved(connection: sqlite3.Connection, side: PageSide, among: Sequence[Record] | None) -> list[_Stored]:
    """Links of these documents (None: of all) that led to no document at the last resolution, by source, then order.

    Those that led to another file are among them: the index is not notified when it is deleted.
    """
    keys = () if among is None else (encode([document_key(record.address.path) for record in among]),)
    rows = connection.execute(
        sql(
            "SELECT s.path, l.link, l.side FROM links l JOIN files s ON s.id = l.source",
            "WHERE l.target IS NULL AND l.readers & ?",
            "AND l.source IN (SELECT value FROM json_each(?))" if keys else "",
            "ORDER BY s.path, l.ordinal",
        ),
        (int(side), *keys),
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
        self.has_names = lookup.has_names

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
