"""What the cascade needs of a layer, and a layer that is a folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.documents import Finding, Link, Severity
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.json import Json
from commonplace.domain.query import SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.toolsets.cascade.rules.concepts import concept_address, id_at, read_concept
from commonplace.toolsets.cascade.rules.link_targets import is_concept_link
from commonplace.toolsets.cascade.rules.values import Concept, LayerRank

log = logging.getLogger(__name__)

ConceptSummaries = Mapping[str, Mapping[str, Json]]
"""Frontmatter by concept id; the same object as long as nothing changes."""

_NOTHING: ConceptSummaries = {}

MAX_CACHED_CONCEPTS = 1000
MAX_CACHED_CONCEPT_BYTES = 32_000
"""How many read concepts a layer keeps, and how large a file of one may be."""
SETTLED_NS = 100_000_000
"""A file changed less than this ago may change again without its times showing it."""
MAX_CHANGED = 200
"""Changed documents that are looked up one by one; of more, all are listed."""
CACHE_SLACK = 200
"""How many documents that are no concepts a search makes room for."""


@dataclass(frozen=True, slots=True)
class LayerMatch:
    """A concept of one layer that answers a search."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link in a layer's stored text."""

    source: str
    """The concept that holds it."""
    link: Link
    written: Callable[[], str]
    """Gives the whole link as written."""


@dataclass(frozen=True, slots=True)
class _CatalogueState:
    """What the catalogue of a layer said at one generation."""

    generation: int
    revisions: Mapping[str, Revision]
    """Of every document, by path."""
    summaries: ConceptSummaries

    @property
    def others(self) -> int:
        """Documents that are no concepts."""
        return len(self.revisions) - len(self.summaries)


class Layer(Protocol):
    """One level of the cascade. A layer that cannot answer now answers as if it were empty."""

    @property
    def rank(self) -> LayerRank:
        """Its name and place."""
        ...

    def concept(self, identifier: str) -> Concept | None:
        """What it says of a concept, None when nothing."""
        ...

    def summaries(self) -> ConceptSummaries:
        """The frontmatter of every concept."""
        ...

    def search(self, text: str, limit: int) -> Sequence[LayerMatch]:
        """The concepts that answer best, best first."""
        ...

    def links(self, keys: Sequence[str]) -> Iterator[StoredLink]:
        """Links whose target ends in one of these names (as `domain.links.link_key` gives them), by source."""
        ...


class FolderLayer:
    """A layer that is a collection: found by its index, read from its files.

    Args:
        rank: Its name and place.
        opened: Gives the collection; None while there is no folder.
    """

    def __init__(self, rank: LayerRank, opened: Callable[[], Collection | None]) -> None:
        self._rank = rank
        self._opened = opened
        self._lock = Lock()
        self._catalogued = _CatalogueState(-1, {}, _NOTHING)
        self._kept: dict[str, tuple[FileStat, Concept]] = {}

    @property
    def rank(self) -> LayerRank:
        """Its name and place."""
        return self._rank

    def concept(self, identifier: str) -> Concept | None:
        """Read from the file as it is now; one that cannot be read is empty and says so."""
        collection = self._opened()
        if collection is None or id_at(concept_address(identifier)) is None:
            return None
        address = concept_address(identifier)
        try:
            stat = collection.store.stat(address)
            kept = self._kept.get(identifier)
            if kept is not None and kept[0] == stat:
                return kept[1]
            concept = read_concept(identifier, collection.store.read(address))
        except NotFoundError:
            return None
        except StorageError as error:
            return Concept(identifier, {}, (), (Finding("unreadable", Severity.ERROR, str(error)),))
        if stat is not None and stat.size <= MAX_CACHED_CONCEPT_BYTES and is_settled(stat):
            self._keep(identifier, stat, concept)
        return concept

    def _keep(self, identifier: str, stat: FileStat, concept: Concept) -> None:
        with self._lock:
            self._kept[identifier] = (stat, concept)
            if len(self._kept) > MAX_CACHED_CONCEPTS:
                del self._kept[next(iter(self._kept))]

    def summaries(self) -> ConceptSummaries:
        """From the catalogue; what has changed there is read anew."""
        collection = self._opened()
        if collection is None:
            return _NOTHING
        generation = collection.index.generation
        with self._lock:
            if generation != self._catalogued.generation:
                self._catalogued = _catalogued(collection, generation, self._catalogued)
            return self._catalogued.summaries

    def search(self, text: str, limit: int) -> Sequence[LayerMatch]:
        """From the full text."""
        collection = self._opened()
        if collection is None or not self.summaries():
            return ()
        query = SearchQuery(text=text, limit=limit + min(self._catalogued.others, CACHE_SLACK), sections=0)
        found = [(id_at(hit.record.address), hit.score) for hit in collection.index.search(query).hits]
        return [LayerMatch(identifier, score) for identifier, score in found if identifier is not None][:limit]

    def links(self, keys: Sequence[str]) -> Iterator[StoredLink]:
        """From the catalogue."""
        collection = self._opened()
        if collection is None:
            return
        for found in collection.index.links_named(keys):
            source = id_at(found.source)
            if source is not None and is_concept_link(found.link):
                yield StoredLink(source, found.link, _LinkBytes(collection, source, found.link))


def _catalogued(collection: Collection, generation: int, before: _CatalogueState) -> _CatalogueState:
    """What the catalogue says now; a document that has changed meanwhile is looked at again the next time."""
    revisions = {address.path: revision for address, revision in collection.index.revisions().items()}
    known = before.revisions
    differing = [path for path, revision in revisions.items() if known.get(path) != revision]
    if len(differing) > MAX_CHANGED:
        records = {record.address.path: record for record in every_document(collection)}
    else:
        asked = ((path, collection.index.record(Address(path))) for path in differing)
        records = {path: record for path, record in asked if record is not None}
    for path in differing:
        del revisions[path]
    revisions |= {path: record.revision for path, record in records.items()}
    summaries = dict(before.summaries)
    for path in known.keys() - revisions.keys():
        summaries.pop(id_at(Address(path)) or "", None)
    said = ((id_at(record.address), record.frontmatter) for record in records.values())
    summaries.update((identifier, values) for identifier, values in said if identifier is not None)
    return _CatalogueState(generation, revisions, summaries)


def is_settled(stat: FileStat) -> bool:
    """Whether a file's times would tell a further change."""
    return time.time_ns() - max(stat.mtime_ns, stat.ctime_ns) > SETTLED_NS


@dataclass(frozen=True, slots=True)
class _LinkBytes:
    """A link's bytes, cut out of the file when they are asked for."""

    collection: Collection
    source: str
    link: Link

    def __call__(self) -> str:
        try:
            raw = self.collection.store.read(concept_address(self.source))
        except (NotFoundError, StorageError):
            raw = b""
        piece = raw[self.link.span.start : self.link.span.end].decode("utf-8", "replace")
        # The file may have changed since it was indexed; the target is then all that is known.
        return piece if self.link.raw in piece else self.link.raw
