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
    """Path without a trailing slash; "" for the root."""
    folders: list[str] = field(default_factory=list[str])
    """Paths of the subfolders, sorted."""
    documents: list[Address] = field(default_factory=list[Address])
    """Documents directly in the folder, sorted."""
    total: int = 0
    """Number of documents in the folder and below it."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


def folders_of(collection: Collection) -> Mapping[str, SiteFolder]:
    """The folders by path, computed anew; `FOLDERS` caches the result."""
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
    """The folder at a path; it and missing parents are created."""
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
"""Every folder with documents, by path."""


def records(collection: Collection, addresses: list[Address]) -> list[Record]:
    """The records of these documents by path."""
    if not addresses:
        return []
    query = ListQuery(filter=Filter(among=tuple(addresses)), limit=len(addresses))
    return list(collection.index.list(query).records)
