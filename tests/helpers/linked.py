"""A collection in memory, as an index would answer the rules of links for it."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.addresses import Address
from commonplace.domain.links import NamedDocument, link_key, name_keys
from commonplace.domain.sites import SiteTree


class Collection:
    """Documents by their names, and other files by their paths."""

    def __init__(self, *named: NamedDocument, files: Sequence[str] = ()) -> None:
        self.paths = {document.address.path for document in named} | set(files)
        self.others = [Address(path) for path in files]
        self.keys: dict[str, list[NamedDocument]] = {}
        for document in named:
            for key in name_keys(document):
                self.keys.setdefault(key, []).append(document)

    sites: Sequence[SiteTree] = ()
    own_names: Sequence[str] = ("own",)
    has_names = True

    def at(self, path: str) -> Address | None:
        return Address(path) if path in self.paths else None

    def named(self, key: str) -> Sequence[NamedDocument]:
        return self.keys.get(key, [])

    def files(self, key: str) -> Sequence[Address]:
        return [address for address in self.others if link_key(address.path) == key]
