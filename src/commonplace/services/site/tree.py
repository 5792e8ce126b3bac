"""The folders of a collection and the documents in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.services.collections import Collection
from commonplace.services.site.derived import PerState


@dataclass(slots=True)
class SiteFolder:
    """A folder."""

    path: str
    """Without a slash at its end; "" for the root."""
    folders: list[str] = field(default_factory=list[str])
    """Paths of its folders, sorted."""
    documents: list[Address] = field(default_factory=list[Address])
    """Documents directly in it, sorted."""
    total: int = 0
    """Documents in it and in everything below it."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


def folders_of(collection: Collection) -> Mapping[str, SiteFolder]:
    """The folders by path, computed now; `FOLDERS` has those of the present."""
    folders = {"": SiteFolder("")}
    for address in sorted(collection.index.revisions()):
        _folder(folders, address.folder).documents.append(address)
        path = address.folder
        while True:
            folders[path].total += 1
            if not path:
                break
            path = path.rpartition("/")[0]
    for folder in folders.values():
        folder.folders.sort(key=str.casefold)
    return folders


def _folder(folders: dict[str, SiteFolder], path: str) -> SiteFolder:
    """The folder, made with those above it where they are missing."""
    missing: list[str] = []
    while path not in folders:
        missing.append(path)
        path = path.rpartition("/")[0]
    for one in reversed(missing):
        folders[one] = SiteFolder(one)
        folders[path].folders.append(one)
        path = one
    return folders[path]


FOLDERS = PerState(folders_of)
"""Every folder that holds documents, by path."""


def records(collection: Collection, addresses: list[Address]) -> list[Record]:
    """The records of these documents by path."""
    if not addresses:
        return []
    query = ListQuery(filter=Filter(among=tuple(addresses)), limit=len(addresses))
    return list(collection.index.list(query).records)
