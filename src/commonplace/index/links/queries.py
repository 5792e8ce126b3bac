"""Queries of stored links, with one reader's interpretation of links with two sides (`[[a|b]]`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Link
from commonplace.domain.links import is_text, link_key, resolve
from commonplace.domain.markdown.link_sides import EVERY_SIDE, PageSide, chosen
from commonplace.domain.query import ResolvedLink
from commonplace.index.catalogue.database import sql
from commonplace.index.catalogue.document_rows import document_key, encode
from commonplace.index.catalogue.links import CatalogueLookup
from commonplace.index.stored.link_rows import link_from


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
        self, source: Address | None, containing: Sequence[str] = (), lookup: CatalogueLookup | None = None
    ) -> list[ResolvedLink]:
        """The links of a document, in order.

        Args:
            source: The document; None for all documents, by path.
            containing: Only links whose target, fragment, label or relation contains one of these texts; () for all.
            lookup: Resolves the links again that lead to no document; None for their targets at the last resolution.
        """
        conditions = ["l.source = ?"] if source else ["1"]
        conditions += [f"({' OR '.join(['instr(l.link, ?)'] * len(containing))})"] if containing else []
        keys = (document_key(source.path),) if source else ()
        links = self._resolved(" AND ".join(conditions), (*keys, *containing))
        return links if lookup is None else [_current(link, lookup) for link in links]

    def to(
        self, target: Address, lookup: CatalogueLookup, sources: Sequence[Address] | None = None
    ) -> list[ResolvedLink]:
        """The links of other documents (None: of all other documents) to a document or file, by source, then order.

        The index is not notified of other files, so links to one are resolved once more.
        """
        keys = () if sources is None else (encode([document_key(one.path) for one in sources]),)
        among = " AND l.source IN (SELECT value FROM json_each(?))" if keys else ""
        if not target.is_document:
            named = f"(l.attachment = ? OR (l.target IS NULL AND l.key = ?)){among}"
            links = self._resolved(named, (target.path, link_key(target.path), *keys))
            return [link for one in links if (link := _current(one, lookup)).target == target]
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
        unresolved = (one for one in self.unresolved(source) if not is_text(one.link, source, lookup.sites))
        return [one for one in unresolved if resolve(one.link, source, lookup) is None]

    def dead(self) -> list[ResolvedLink]:
        """Links whose fragments name no part of their targets, by source, then order."""
        return self._resolved(
            "l.fragment <> '' AND (l.target, l.fragment) IN (SELECT target, fragment FROM dead_fragments)", ()
        )

    def edges(self) -> list[tuple[Address, Address]]:
        """Every pair of linked documents once, by source, then target; links within a document are omitted."""
        rows = self.connection.execute(
            "SELECT DISTINCT s.path, t.path FROM links l JOIN files s ON s.id = l.source JOIN files t"
            " ON t.id = l.target WHERE l.source <> l.target AND l.readers & ? ORDER BY s.path, t.path",
            (int(self.side),),
        )
        return [(Address(source), Address(target)) for source, target in rows]

    def hubs(self, limit: int) -> list[tuple[Address, int]]:
        """The documents to which most others link, each with their number; most first, then by path."""
        rows = self.connection.execute(
            "SELECT t.path, l.sources FROM (SELECT target, COUNT(DISTINCT source) sources FROM links"
            " WHERE target IS NOT NULL AND target <> source AND readers & ? GROUP BY target) l"
            " JOIN files t ON t.id = l.target ORDER BY l.sources DESC, t.path LIMIT ?",
            (int(self.side), limit),
        )
        return [(Address(path), count) for path, count in cast("Iterable[tuple[str, int]]", rows)]

    def orphans(self) -> frozenset[str]:
        """Paths of the documents that no other document links to."""
        linked = "SELECT 1 FROM links l WHERE l.target = f.id AND l.source <> f.id AND l.readers & ?"
        rows = self.connection.execute(
            sql("SELECT f.path FROM files f WHERE NOT EXISTS (", linked, ")"), (int(self.side),)
        )
        return frozenset(path for (path,) in cast("Iterable[tuple[str]]", rows))

    def _resolved(self, where: str, values: Sequence[str | int]) -> list[ResolvedLink]:
        rows = self.connection.execute(
            sql(
                "SELECT s.path, l.link, l.side, t.path, l.attachment FROM links l JOIN files s ON s.id = l.source",
                "LEFT JOIN files t ON t.id = l.target WHERE",
                where,
                "AND l.readers & ? ORDER BY s.path, l.ordinal",
            ),
            (*values, int(self.side)),
        )
        resolved: list[ResolvedLink] = []
        for source, stored, side, target, attachment in cast("Iterable[_Found]", rows):
            path = target or attachment
            link = link_from(stored, side)
            resolved.append(ResolvedLink(source=Address(source), link=link, target=Address(path) if path else None))
        return resolved


def _current(one: ResolvedLink, lookup: CatalogueLookup) -> ResolvedLink:
    """A link with its target as of now, if it is no document."""
    if one.target is not None and one.target.is_document:
        return one
    return replace(one, target=resolve(one.link, one.source, lookup))


def labels_written_first(connection: sqlite3.Connection, side: PageSide, source: Address) -> set[tuple[str, str]]:
    """`a` and `b` of those links `[[a|b]]` of a document whose page is `b` for the reader."""
    rows = connection.execute(
        "SELECT link FROM links WHERE source = ? AND side = 2 AND readers & ?", (document_key(source.path), int(side))
    )
    links = (link_from(stored, 2) for (stored,) in cast("Iterable[tuple[str]]", rows))
    return {(link.label, link.raw) for link in links if link.label}


_Found = tuple[str, str, int, str | None, str | None]


def resolve_all(lookup: CatalogueLookup, document: Document, side: PageSide) -> list[ResolvedLink]:
    """The links of a parsed document with their targets, in order, as interpreted by a reader."""
    source = document.address

    def follow(link: Link) -> Address | None:
        return resolve(link, source, lookup)

    taken = [chosen(link, side, follow, lookup.own_names) for link in document.links]
    return [ResolvedLink(source=source, link=link, target=target) for link, target in taken]
