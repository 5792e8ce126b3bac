"""Links: stored with their documents, and resolved when their possible targets change.

A link is stored with the lookup key of its target. Adding, removing or renaming a document marks its keys as unsettled,
and links with these keys are resolved again; all other links are unchanged.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, cast

from commonplace.domain.addresses import Address, is_document_path, parse_address
from commonplace.domain.documents import Document, Link, LinkKind, Span
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.links import (
    INDEX_NAMES,
    MARKDOWN_KINDS,
    LinkMeaning,
    NamedDocument,
    Resolution,
    cut_text,
    graph_keys,
    link_key,
    meaning,
    name_keys,
    read_as,
    readings,
    resolution,
    target_scope,
)
from commonplace.domain.markdown.link_sides import EVERY_SIDE, in_order, presence, readers
from commonplace.domain.markdown.wikitext import to_tiddler
from commonplace.domain.ports import Store
from commonplace.domain.query import Record
from commonplace.domain.records import names_of_record
from commonplace.domain.sites import has_fields_beside
from commonplace.index.catalogue.database import DECLARED_NAME, grow, read_meta, sql, stored_sites
from commonplace.index.catalogue.document_rows import (
    DocumentColumns,
    aliases_from,
    document_key,
    encode,
    fragments_of,
)
from commonplace.index.catalogue.other_files import OtherFiles, is_file

ALL_LINKS = "*"
"""The key that marks all unresolved links; after a first sync this costs less than marking all keys one by one.

A target named `*` has the same key, and is then resolved together with the others.
"""
NAMED = "named"
"""Key in `meta` of the number that grows whenever names of documents change."""
_MARKS = frozenset("#?")
"""Characters in a name at which the path of a link ends, unless the index knows the name."""
LINKS_AT_ONCE = 20_000
"""Maximum number of links that are resolved together."""
LINK_THRESHOLD = 1000
"""Number of links or paths above which all are read into memory at once."""


class CatalogueLookup:
    """`LinkLookup` on the catalogue and, for other files, on the store.

    Args:
        connection: The catalogue, inside a transaction.
        store: The files.
        others: The files that are not documents; None to ignore links to them.
        paths: Paths of all documents during a first sync, before all are indexed; names are not looked up then. None
            otherwise.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        store: Store,
        others: OtherFiles | None,
        paths: Collection[str] | None = None,
    ) -> None:
        self._connection = connection
        self._store = store
        self.own_names = _own_names(connection, store)
        self._others = others
        self._paths = paths
        self._folders = None if paths is None else {path.rpartition("/")[0] for path in paths}
        self._listings: dict[str, frozenset[str]] = {}
        self._checked: Counter[str] = Counter()
        self._files: dict[str, Address | None] = {}
        self._names: dict[str, list[NamedDocument]] = {}
        self._all_names = False
        self._stored_paths: set[str] | None = None
        self._looked_up = 0
        self.sites = stored_sites(connection)

    def at(self, path: str) -> Address | None:
        """The document or other file at this path; None if there is none."""
        if is_document_path(path):
            # The path needs no validation, because it equals a validated path.
            return Address(path) if self._has_document(path) else None
        if path not in self._files:
            self._files[path] = self._find_file(path)
        return self._files[path]

    @property
    def has_names(self) -> bool:
        """Whether the names of all documents are in the catalogue."""
        return self._paths is None

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Documents with this key."""
        if self._paths is not None:
            return ()
        if not self._all_names and key not in self._names:
            self._names[key] = self._read_names("WHERE n.key = ?", (key,)).get(key, [])
        return self._names.get(key, [])

    def files(self, key: str) -> Sequence[Address]:
        """Other files with this key; empty during a first sync, because a document may still take precedence."""
        return self._others.named(key) if self._others and self._paths is None else ()

    def read_all_names(self) -> None:
        """Read the names of all documents into memory, for later calls of `named`."""
        self._names = self._read_names("", ())
        self._all_names = True

    def prepare(self, links: Collection[Link]) -> None:
        """Read the names that many links can mean at once: a query for each costs more than all else."""
        if len(links) > LINK_THRESHOLD:
            self.read_names({link_key(reading.target) for link in links for reading in readings(link)})

    def read_names(self, keys: Collection[str]) -> None:
        """Read the names with these keys into memory, for later calls of `named`; replaces those of earlier calls."""
        if self._all_names or self._paths is not None:
            return
        names = self._read_names("WHERE n.key IN (SELECT value FROM json_each(?))", (encode(list(keys)),))
        self._names = {key: names.get(key, []) for key in keys}

    def _read_names(self, where: str, values: Sequence[str]) -> dict[str, list[NamedDocument]]:
        columns = "SELECT n.key, f.path, f.ident, f.title, f.aliases,"
        states = "TRUE"
        if any(site.graph for site in self.sites):
            states = "(SELECT json_type(d.record, '$.frontmatter.title') FROM details d WHERE d.id = f.id) IS NOT NULL"
        tables = "FROM names n JOIN files f ON f.id = n.file"
        rows = self._connection.execute(sql(columns, states, tables, where, "ORDER BY f.path"), values)
        names: dict[str, list[NamedDocument]] = {}
        for key, path, ident, title, aliases, stated in cast("Iterable[tuple[str, str, str, str, str, int]]", rows):
            named = NamedDocument(Address(path), ident, title, aliases_from(aliases), states_title=bool(stated))
            names.setdefault(key, []).append(named)
        return names

    def _find_file(self, path: str) -> Address | None:
        if path not in self._listings.get(path.rpartition("/")[0], (path,)):
            return None  # its folder's listing lacks it; this test is cheaper than validating the path
        try:
            address = parse_address(path)
        except InvalidInputError:
            return None
        return address if self._may_hold(address) and is_file(self._store, address) else None

    def _may_hold(self, address: Address) -> bool:
        """Whether the file may exist, by a cheap test, because many links lead into missing folders of other sites."""
        folder = address.folder
        self._checked[folder] += 1
        if self._checked[folder] <= LINK_THRESHOLD and (self._folders is None or folder in self._folders):
            return True
        if folder not in self._listings:
            with suppress(StorageError):  # otherwise the file itself is checked
                listed = self._store.files(folder)
                self._listings[folder] = frozenset(found_address.path for found_address, _ in listed)
        return address.path in self._listings.get(folder, (address.path,))

    def _has_document(self, path: str) -> bool:
        if self._paths is not None:
            return path in self._paths
        if self._stored_paths is not None:
            return path in self._stored_paths
        self._looked_up += 1
        if self._looked_up > LINK_THRESHOLD:
            rows = cast("Iterable[tuple[str]]", self._connection.execute("SELECT path FROM files"))
            self._stored_paths = {stored for (stored,) in rows}
        return self._connection.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone() is not None


class LinkWriter:
    """Writes the links of one transaction's documents; `finish` ends it.

    Rows are deleted and written at once in the order of their tables, which halves the cost. A target is resolved once
    per folder. If a document of the transaction changes a target's meaning, the target is marked as unsettled.

    Args:
        connection: The catalogue, inside a write transaction.
        store: The files.
        others: The files that are not documents; None to ignore links to them.
        paths: See `CatalogueLookup`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        store: Store,
        others: OtherFiles | None,
        paths: Collection[str] | None = None,
    ) -> None:
        self._connection = connection
        self._lookup = CatalogueLookup(connection, store, others, paths)
        self._first = paths is not None
        self._rows: list[_LinkRow] = []
        self._replaced: list[int] = []
        self._names: list[tuple[str, int]] = []
        self._renamed = False
        self._targets: dict[LinkMeaning, tuple[_Columns, Resolution]] = {}
        if self._first:
            mark_unresolved(connection, {ALL_LINKS})

    def change(self, old: Record | None, new: DocumentColumns | None, links: LinkColumns | None = None) -> None:
        """Record that a document was added (`old` None), removed (`new` None) or changed.

        Args:
            old: The document's old record.
            new: The document's new columns.
            links: The document's new names and links; None if it was removed.
        """
        before, after = names_of_record(old) if old else None, new.names if new else None
        if before != after:
            self._rename(before, after, links.keys if links else ())
        if old:
            self._replaced.append(document_key(old.address.path))
        if after and links and links.rows:
            self._add_links(links.rows, after.address)

    def finish(self) -> None:
        """Write the recorded changes; called once, before links are resolved."""
        if self._renamed:
            grow(self._connection, NAMED)
        self._connection.executemany("INSERT OR IGNORE INTO names VALUES (?, ?)", sorted(self._names))
        removed = [(source,) for source in sorted(self._replaced)]
        self._connection.executemany("DELETE FROM links WHERE source = ?", removed)
        # Each document's rows are already adjacent and in order.
        rows = sorted(self._rows, key=itemgetter(0))
        self._connection.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        mark_unchecked(self._connection, {*self._replaced, *(row[5] for row in rows if row[8] and row[5])})

    def _rename(self, before: NamedDocument | None, after: NamedDocument | None, added: Collection[str]) -> None:
        self._renamed = True
        changed: set[str] = set(added)
        if before:
            key, keys = document_key(before.address.path), name_keys(before, self._lookup.sites)
            changed |= keys
            rows = [(name, key) for name in keys]
            self._connection.executemany("DELETE FROM names WHERE key = ? AND file = ?", rows)
        if after:
            key = document_key(after.address.path)
            further = graph_keys(after.address, self._lookup.sites)
            changed |= further
            self._names += [(name, key) for name in {*added, *further}]
        document = before or after
        # A link to a parent folder has no key.
        changed |= {""} if document and document.address.name in INDEX_NAMES else set()
        if not self._first or (after and _MARKS & set(f"{after.address.path}{after.id}{after.title}{after.aliases}")):
            mark_unresolved(self._connection, changed)

    def _add_links(self, links: Sequence[LinkSides], address: Address) -> None:
        source, every = document_key(address.path), int(EVERY_SIDE)
        is_tiddler = has_fields_beside(self._lookup.sites, address)
        for ordinal, sides in enumerate(map(_of_tiddler, links) if is_tiddler else links):
            if len(sides) == 1:
                ((target, fragment, stored),) = sides
                columns, found_resolution = self._target_columns(target, address)
                shown = _read_as(found_resolution.link.target, target, fragment, (stored, 0))
                self._rows.append((source, ordinal, 0, every, *columns, target[0], *shown))
            else:
                self._rows += self._sides(sides, source, ordinal, address)

    def _sides(self, sides: LinkSides, source: int, ordinal: int, address: Address) -> Iterator[_LinkRow]:
        """The rows of a link with two sides."""
        target_columns = [self._target_columns(target, address) for target, *_ in sides]
        there = [
            presence(to.target, elsewhere=bool(target[0]) and target[0] not in self._lookup.own_names)
            for (target, *_), (_, to) in zip(sides, target_columns, strict=True)
        ]
        both = zip(sides, target_columns, readers(*there), strict=True)
        for side, ((target, fragment, stored), (columns, to), of) in enumerate(both, start=1):
            shown = _read_as(to.link.target, target, fragment, (stored, side))
            yield source, ordinal, side, int(of), *columns, target[0], *shown

    def _target_columns(self, named: LinkTarget, source: Address) -> tuple[_Columns, Resolution]:
        """The columns `key`, `target` and `attachment`, and the target."""
        collection, target, text, markdown = named
        scope = target_scope(target, collection, source, self._lookup.sites, markdown=markdown)
        means = collection, target, text, scope, markdown
        columns = self._targets.get(means)
        if columns is None:
            whole = f"{collection}:{target}" if collection and collection not in self._lookup.own_names else target
            kind = LinkKind.MARKDOWN if markdown else LinkKind.WIKI
            candidate = resolution(Link(kind, target, text or target, collection=collection), source, self._lookup)
            key = link_key(whole) if whole else None
            columns = self._targets[means] = ((key, *_columns(candidate.target)), candidate)
        return columns


_Columns = tuple[str | None, int | None, str | None]
_LinkRow = tuple[int, int, int, int, str | None, int | None, str | None, str, str, str]

_TO_RESOLVE = (
    "SELECT l.source, l.ordinal, l.side, f.path, l.link, l.target, l.attachment"
    " FROM links l JOIN files f ON f.id = l.source WHERE"
)
_StoredLink = tuple[int, int, int, str, str, int | None, str | None]
_NEXT_GROUP = "AND (l.source, l.ordinal, l.side) > (?, ?, ?) ORDER BY l.source, l.ordinal, l.side LIMIT ?"
_UNRESOLVED = (
    "(l.target IS NULL AND l.attachment IS NULL AND (l.key IN (SELECT key FROM names)"
    " OR l.key IN (SELECT value FROM json_each(?))))"
    " OR l.target NOT IN (SELECT id FROM files) OR l.key IN (SELECT key FROM unsettled)"
)


_PRESENCE = (
    "CASE WHEN {0}.target IS NOT NULL OR {0}.collection NOT IN (SELECT value FROM json_each(?1)) THEN 2"
    " WHEN {0}.attachment IS NOT NULL THEN 1 ELSE 0 END"
)
"""SQL of `domain.markdown.link_sides.presence` for a row."""
_SET_READERS = sql(
    "UPDATE links AS l SET readers = (SELECT CASE WHEN mine > theirs THEN l.side | 12 WHEN mine < theirs THEN l.side",
    "ELSE l.side | (l.side * 4) END FROM (SELECT",
    _PRESENCE.format("m"),
    "AS mine,",
    _PRESENCE.format("o"),
    "AS theirs FROM links m, links o WHERE m.source = ?2 AND m.ordinal = ?3 AND m.side = l.side",
    "AND o.source = ?2 AND o.ordinal = ?3 AND o.side = 3 - l.side)) WHERE l.source = ?2 AND l.ordinal = ?3",
)
"""SQL of `domain.markdown.link_sides.readers` for both rows of a link."""


def _own_names(connection: sqlite3.Connection, store: Store) -> frozenset[str]:
    """The names of the collection: its folder's, and the one that `kb.yaml` declared at the last sync."""
    return frozenset({store.name, str(read_meta(connection, DECLARED_NAME) or store.name)})


def mark_unresolved(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Mark links with these keys as unsettled."""
    connection.executemany("INSERT OR IGNORE INTO unsettled VALUES (?)", [(key,) for key in sorted(keys)])


def mark_unchecked(connection: sqlite3.Connection, targets: Iterable[int]) -> None:
    """Mark documents to whose parts links may lead as unchecked."""
    connection.executemany("INSERT OR IGNORE INTO unchecked VALUES (?)", [(target,) for target in sorted(targets)])


def _check_fragments(connection: sqlite3.Connection) -> None:
    """Decide anew which fragments of the links to unchecked documents name no part of them."""
    connection.execute("DELETE FROM dead_fragments WHERE target IN (SELECT target FROM unchecked)")
    rows = connection.execute(
        "SELECT DISTINCT l.target, l.fragment FROM unchecked u CROSS JOIN links l"
        " WHERE l.target = u.target AND l.fragment <> '' ORDER BY l.target"
    )
    for target, pairs in groupby(cast("Iterable[tuple[int, str]]", rows), key=itemgetter(0)):
        for _, names in fragments_of(connection, [target]):
            dead = [pair for pair in pairs if pair[1] not in names]
            connection.executemany("INSERT INTO dead_fragments VALUES (?, ?)", dead)
    connection.execute("DELETE FROM unchecked")


def has_links(connection: sqlite3.Connection, keys: Iterable[str]) -> bool:
    """Whether any link has one of these keys."""
    query = "SELECT 1 FROM links WHERE key IN (SELECT value FROM json_each(?)) LIMIT 1"
    return connection.execute(query, (encode(list(keys)),)).fetchone() is not None


def resolve_links(
    connection: sqlite3.Connection, store: Store, others: OtherFiles | None, *, anew: bool = False
) -> None:
    """Resolve all unsettled links again, or all links if `anew`; then check the fragments of the changed links."""
    everything = connection.execute("SELECT 1 FROM unsettled WHERE key = ?", (ALL_LINKS,)).fetchone()
    which = "TRUE" if anew else _UNRESOLVED if everything else "l.key IN (SELECT key FROM unsettled)"
    values = (encode(others.keys() if others else ()),) if everything and not anew else ()
    resolver = _Resolver(connection, CatalogueLookup(connection, store, others), anew=anew)
    if anew or everything:
        resolver.resolve_in_groups(which, values)
    else:  # few keys: SQLite finds their links by index
        resolver.resolve(connection.execute(sql(_TO_RESOLVE, which)).fetchall())
    connection.execute("DELETE FROM unsettled")
    _check_fragments(connection)


class _Resolver:
    """Resolves stored links.

    Args:
        connection: The catalogue, inside a write transaction.
        lookup: The names of all documents.
        anew: Whether the rules have changed, so that the page side of `[[a|b]]` is decided again, too.
    """

    def __init__(self, connection: sqlite3.Connection, lookup: CatalogueLookup, *, anew: bool) -> None:
        self._connection = connection
        self._anew = anew
        self._lookup = lookup
        self._here = encode(["", *lookup.own_names])
        self._found: dict[LinkMeaning, tuple[int | None, str | None, str]] = {}

    def resolve_in_groups(self, which: str, values: Sequence[str]) -> None:
        """Resolve the links that match a condition, in groups of bounded size."""
        query = sql(_TO_RESOLVE, "(", which, ")", _NEXT_GROUP)
        last = (-1, -1, -1)
        while rows := self._connection.execute(query, (*values, *last, LINKS_AT_ONCE)).fetchall():
            last = rows[-1][:3]
            self.resolve(rows)

    def resolve(self, rows: Sequence[_StoredLink]) -> None:
        """Resolve some links."""
        links = [(link_from(stored, side), Address(path)) for _, _, side, path, stored, *_ in rows]
        self._lookup.prepare([link for link, _ in links])
        if len(self._found) > LINKS_AT_ONCE:
            self._found.clear()
        sided = {(source, ordinal) for source, ordinal, side, *_ in rows if side and self._anew}
        changes: list[tuple[int | None, str | None, str, str, int, int, int]] = []
        for (link, address), (source, ordinal, side, *_, target, attachment) in zip(links, rows, strict=True):
            now = self._target(link, address)
            if now != (target, attachment, link.target):
                changes.append((*now[:2], *_shown(read_as(link, now[2]), side), source, ordinal, side))
        self._connection.executemany(
            "UPDATE links SET target = ?, attachment = ?, fragment = ?, link = ?"
            " WHERE source = ? AND ordinal = ? AND side = ?",
            changes,
        )
        mark_unchecked(self._connection, {target for target, *_ in changes if target is not None})
        sided |= {(source, ordinal) for *_, source, ordinal, side in changes if side}
        self._connection.executemany(_SET_READERS, [(self._here, *link) for link in sorted(sided)])

    def _target(self, link: Link, address: Address) -> tuple[int | None, str | None, str]:
        """The columns `target` and `attachment`, and the path of the link's reading."""
        means = meaning(link, address, self._lookup.sites)
        if means not in self._found:
            found_resolution = resolution(link, address, self._lookup)
            self._found[means] = (*_columns(found_resolution.target), found_resolution.link.target)
        return self._found[means]


def _columns(target: Address | None) -> tuple[int | None, str | None]:
    """The columns `target` and `attachment`."""
    if target is None:
        return None, None
    return (document_key(target.path), None) if target.is_document else (None, target.path)


# Stored form of links in the catalogue: one text for each link, with the targets of its sides.


_SIDES = "\x1e"
"""Separator of the sides in a stored link; the row's own side comes first."""
_LAST = 2
"""`links.side` of `b` in `[[a|b]]`."""
_SEPARATOR = "\x1f"
_SEPARATORS = 11
"""Number of separators in a stored link. The format takes a tenth of the time of JSON."""

LinkTarget = tuple[str, str, str, bool]
"""The values that determine a link's document: collection, target, `cut_text`, whether it is a Markdown link."""
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


def _of_tiddler(sides: LinkSides) -> LinkSides:
    """A link of a page whose fields are in a file of their own, where `[label](#Title)` leads to a tiddler."""
    (((_, target, *_), fragment, stored), *other_sides) = sides
    return _sides_of(to_tiddler(link_from(stored, 0))) if fragment and not (target or other_sides) else sides


def _sides_of(link: Link) -> LinkSides:
    if link.other is None:
        return ((_target_of(link), link.fragment, _stored(link)),)
    return tuple((_target_of(element), element.fragment, _stored_side(element)) for element in in_order(link) or ())


def _target_of(link: Link) -> LinkTarget:
    return link.collection, link.target, cut_text(link), link.kind in MARKDOWN_KINDS


def _read_as(path: str, target: LinkTarget, fragment: str, row: tuple[str, int]) -> tuple[str, str]:
    """The columns `fragment` and `link` of a link that is read with this path; `row` is its stored text and side."""
    return (fragment, row[0]) if path == target[1] else _shown(read_as(link_from(*row), path), row[1])


def _shown(link: Link, side: int) -> tuple[str, str]:
    """The columns `fragment` and `link`."""
    return link.fragment, _stored_side(link) if side else _stored(link)


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
    return _SIDES.join([_stored(link).replace(_SIDES, "\ufffd") for link in both])


def _stored(link: Link) -> str:
    kind, target, raw, fragment, label, collection, relation, note, (start, end), (target_start, target_end) = link[:10]
    spans = f"{start}\x1f{end}\x1f{target_start}\x1f{target_end}"
    stored = _SEPARATOR.join((kind, target, raw, fragment, label, collection, relation, note, spans))
    if stored.count(_SEPARATOR) != _SEPARATORS:
        texts = [text.replace(_SEPARATOR, "\ufffd") for text in link[1:8]]
        stored = _SEPARATOR.join((kind, *texts, spans))
    return stored
