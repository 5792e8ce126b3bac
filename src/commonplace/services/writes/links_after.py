"""Targets of links after files are added, moved or removed, and the links that a new name would redirect."""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link, LinkKind
from commonplace.domain.links import (
    MARKDOWN_KINDS,
    LinkMeaning,
    NamedDocument,
    Resolution,
    link_key,
    meaning,
    name_keys,
    read_as,
    resolution,
    resolve_target,
)
from commonplace.domain.markdown.paths import INDEX_NAMES
from commonplace.domain.markdown.wikitext import with_fields
from commonplace.domain.query import ResolvedLink
from commonplace.domain.records import build_record, names_of_record
from commonplace.domain.sites import SiteTree
from commonplace.services.collections import Collection


@dataclass(frozen=True, slots=True)
class RedirectedLink:
    """A link whose target changes."""

    found: ResolvedLink
    """The link with its current target, which is None if the link is broken."""
    now: Address | None
    """Target after the change; None if the link is broken then."""


class LinksAfter:
    """`domain.links.LinkLookup` of a collection after a planned change of its files. Each answer is computed once.

    Args:
        collection: The collection, whose index is in the state before the change.
        came: Bytes of the files that are new at their address; none for the links as they are now.
        gone: Files that will no longer be at their address.
    """

    def __init__(
        self, collection: Collection, came: Mapping[Address, bytes], gone: AbstractCollection[Address] = ()
    ) -> None:
        self._collection = collection
        self._lookup = collection.index.lookup()
        self._gone = frozenset(gone) - came.keys()
        self._came = frozenset(came)
        self._at: dict[str, Address | None] = {}
        self._resolutions: dict[LinkMeaning, Resolution] = {}
        self._named: dict[str, list[NamedDocument]] = {}
        self._files: dict[str, list[Address]] = {}
        self._all_named: dict[str, Sequence[NamedDocument]] = {}
        for address in sorted(came):
            self._add(address, came[address])
        left = [key for address in sorted(self._gone | self._came) for key in self._keys_before(address)]
        self.keys = frozenset([*self._named, *self._files, *left])
        """Lookup keys of all added or removed names; links with other keys keep their targets."""

    @property
    def sites(self) -> Sequence[SiteTree]:
        """The docs trees of the collection."""
        return self._lookup.sites

    @property
    def own_names(self) -> AbstractCollection[str]:
        """The collection's names."""
        return self._lookup.own_names

    def at(self, path: str) -> Address | None:
        """The document or other file at exactly this path."""
        address = Address(path)
        if address in self._came:
            return address
        if path not in self._at:
            self._at[path] = None if address in self._gone else self._lookup.at(path)
        return self._at[path]

    @property
    def has_names(self) -> bool:
        """True: `named` knows all documents."""
        return True

    def named(self, key: str) -> Sequence[NamedDocument]:
        """Every document with this key."""
        if key not in self._all_named:
            moved = self._gone | self._came
            stay = (document for document in self._lookup.named(key) if document.address not in moved)
            self._all_named[key] = [*stay, *self._named.get(key, ())]
        return self._all_named[key]

    def files(self, key: str) -> Sequence[Address]:
        """Every other file with this key."""
        stay = [address for address in self._lookup.files(key) if address not in self._gone | self._came]
        return [*stay, *self._files.get(key, ())]

    def target(self, link: Link, source: Address) -> Address | None:
        """Target of a document's link after the change; None if it is broken, or leads into another collection."""
        return self.resolution(link, source).target

    def resolution(self, link: Link, source: Address) -> Resolution:
        """Target of a document's link after the change, and how it is found then; its link may be another equal one."""
        means = meaning(link, source, self.sites)
        if means not in self._resolutions:
            self._resolutions[means] = resolution(link, source, self)
        return self._resolutions[means]

    def read(self, document: Document) -> list[ResolvedLink]:
        """The links of a document with their targets after the change, each as its collection reads it then."""
        source, links = document.address, document.links
        if any(link.other for link in links):
            return self._collection.index.resolve(document, self)
        resolved: list[ResolvedLink] = []
        for link in links:
            way = self.resolution(link, source)
            resolved.append(ResolvedLink(source=source, link=read_as(link, way.link.target), target=way.target))
        return resolved

    def leads(self, path: str, kind: LinkKind, source: Address) -> Address | None:
        """Target of a path in a link of this kind after the change; None if there is none."""
        return resolve_target(path, source, self, markdown=kind in MARKDOWN_KINDS)

    def redirected(self) -> Iterator[RedirectedLink]:
        """The indexed links whose targets change, by source, then order."""
        for link in self._collection.index.links_named(sorted(self.keys)):
            now = self.target(link.link, link.source)
            if now != link.target:
                yield RedirectedLink(link, now)

    def sided(self) -> set[Address]:
        """The documents with a link `[[a|b]]` of which one side has the key of an added or removed name."""
        named = self._collection.index.links_named(sorted(self.keys), either_side=True)
        return {link.source for link in named if link.link.other}

    def _add(self, address: Address, content: bytes) -> None:
        if not address.is_document:
            self._files.setdefault(link_key(address.path), []).append(address)
            return
        named = _names_in(address, content)
        for key in name_keys(named, self.sites) | _folder_key(address):
            self._named.setdefault(key, []).append(named)

    def _keys_before(self, address: Address) -> frozenset[str]:
        record = self._collection.index.record(address) if address.is_document else None
        if record is None:
            return frozenset({link_key(address.path)})
        return name_keys(names_of_record(record), self.sites) | _folder_key(address)


def _folder_key(address: Address) -> frozenset[str]:
    """The lookup key of links such as `../`, which lead to the page of a folder."""
    return frozenset({""}) if address.name in INDEX_NAMES else frozenset()


def redirected_by(
    collection: Collection, address: Address, before: bytes | None, after: bytes | None
) -> list[RedirectedLink]:
    """The links whose targets change if the bytes of a document change; empty if its names stay the same.

    Args:
        collection: The collection, whose index is in the state before the change.
        address: The document.
        before: The old bytes; None if the document is new.
        after: The new bytes; None if the document is deleted.
    """
    if before is not None and after is not None and _names_in(address, before) == _names_in(address, after):
        return []
    came = {} if after is None else {address: with_fields(address, after, moment_of_write())}
    return list(LinksAfter(collection, came, {address}).redirected())


def _names_in(address: Address, content: bytes) -> NamedDocument:
    return names_of_record(build_record(read_document(address, content), ""))
