"""The interface of the cascade's layers, and the layer backed by a folder or a remote."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Protocol, TypeVar

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.documents import Link
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError, UnavailableError
from commonplace.domain.findings import finding_of
from commonplace.domain.json import Json
from commonplace.domain.query import Filter, SearchQuery
from commonplace.domain.records import Record, iso_timestamp
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document
from commonplace.services.statuses import current_first
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, TermIndex
from commonplace.toolsets.cascade.rules.concepts import (
    BROKEN,
    CAPTURES,
    ForeignGraph,
    body_links,
    concept_address,
    concept_id,
    concept_of,
    id_at,
    is_concept_link,
    masked_paths,
    read_concept,
)
from commonplace.toolsets.cascade.rules.values import (
    Concept,
    LayerHealth,
    LayerRank,
    LayerState,
    is_later,
    scalar_as_text,
)
from commonplace.toolsets.cascade.service.section_dates import SectionDates

log = logging.getLogger(__name__)

ConceptSummaries = Mapping[str, Mapping[str, Json]]
"""Frontmatter by concept id. The object is the same until something changes."""

_NOTHING: ConceptSummaries = {}

MAX_CACHED_CONCEPTS = 1000
MAX_CACHED_CONCEPT_BYTES = 32_000
"""Maximum number of cached concepts of a layer, and maximum bytes of a cached concept's file."""
SETTLED_NS = 100_000_000
"""Nanoseconds after a change of a file during which another change may leave its timestamps unchanged."""
MAX_CHANGED = 200
"""Maximum number of changed documents that are looked up individually; with more, all documents are listed."""


@dataclass(frozen=True, slots=True)
class LayerMatch:
    """A concept of one layer that matches a search."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link in a layer's stored text."""

    source: str
    """Id of the concept that contains the link."""
    link: Link
    written: Callable[[], str]
    """Returns the whole link as written."""


@dataclass(frozen=True, slots=True)
class _CatalogueState:
    """A layer's catalogue at one generation."""

    generation: int
    revisions: Mapping[str, Revision]
    """Revision of every document, by path."""
    summaries: ConceptSummaries
    others: frozenset[Address] = frozenset()
    """Documents that are not concepts."""

    @property
    def concepts(self) -> Filter:
        """The filter for the concepts, which lists either them or the others, whichever are fewer."""
        if len(self.others) <= len(self.summaries):
            return Filter(without=tuple(self.others))
        return Filter(among=tuple(map(concept_address, self.summaries)))


class Layer(Protocol):
    """One level of the cascade. A layer that is unavailable answers as if it were empty."""

    @property
    def rank(self) -> LayerRank:
        """Name and level of the layer."""
        ...

    def concept(self, identifier: str) -> Concept | None:
        """Return the layer's version of a concept; None if the layer does not contain the concept."""
        ...

    def summaries(self) -> ConceptSummaries:
        """The frontmatter of every concept."""
        ...

    def search(self, text: str, limit: int) -> Sequence[LayerMatch]:
        """The best matching concepts, best first."""
        ...

    def links(self, keys: Sequence[str]) -> Iterator[StoredLink]:
        """Links whose target ends in one of these names (as returned by `domain.links.link_key`), by source.

        Both sides of `[[a|b]]` match, because only all layers together decide which side is the concept.
        """
        ...

    def dated(self, concept: Concept) -> Concept:
        """The layer's concept, with the date of the last commit for each section that states none."""
        ...

    def health(self) -> LayerHealth:
        """Whether the layer's content counted in the answers so far. Makes no request to a server."""
        ...


class FolderLayer:
    """A layer backed by a collection. Concepts are found through the index and read from the files.

    Args:
        rank: Name and level of the layer.
        folder: The folder; None for a layer that follows a remote.
        opened: Returns the collection; None while the folder does not exist.
        masks: Masks of the paths that are concepts, as for `masked_paths`; () for all.
        retention_days: Days for which captures are listed and searched; None for ever.
    """

    def __init__(
        self,
        rank: LayerRank,
        folder: Path | None,
        opened: Callable[[], Collection | None],
        masks: Sequence[str] = (),
        retention_days: int | None = None,
    ) -> None:
        self._rank = rank
        self._mask = masked_paths(masks) if masks else None
        self._retention_days = retention_days
        self._listed = (_NOTHING, 0, _NOTHING)
        """All summaries, the hour of the latest look for old captures, and the summaries without them."""
        self._folder = folder
        self._opened = opened
        self._states = StateLog(rank)
        self._dates = SectionDates()
        self._had_concepts = False
        self._lock = Lock()
        self._catalogued = _CatalogueState(-1, {}, _NOTHING)
        self._kept: dict[str, tuple[FileStat, Concept]] = {}

    def over(self, collection: Collection) -> FolderLayer:
        """The layer over another state of its collection. Documents that are the same are not read again."""
        layer = FolderLayer(self._rank, self._folder, lambda: collection, (), self._retention_days)
        layer._mask = self._mask
        layer._catalogued = replace(self._catalogued, generation=-1)
        return layer

    @property
    def rank(self) -> LayerRank:
        """Name and level of the layer."""
        return self._rank

    @property
    def collection(self) -> Collection | None:
        """The collection; None while the folder does not exist."""
        return self._opened()

    def concept(self, identifier: str) -> Concept | None:
        """The concept in the current file. A file that cannot be read gives an empty concept with a finding."""
        collection = self._opened()
        if collection is None or self._id_at(concept_address(identifier)) is None:
            return None
        address = concept_address(identifier)
        try:
            stat = collection.store.stat(address)
            kept_pair = self._kept.get(identifier)
            if kept_pair is not None and kept_pair[0] == stat:
                return kept_pair[1]
            concept = read_concept(identifier, collection.store.read(address))
        except NotFoundError:
            return None
        except StorageError as error:
            return Concept(identifier, {}, (), (finding_of("unreadable", str(error)),))
        if stat is not None and stat.size <= MAX_CACHED_CONCEPT_BYTES and is_settled(stat):
            self._keep(identifier, stat, concept)
        return concept

    def _id_at(self, address: Address) -> str | None:
        """The id of the concept at an address; None if the layer has no concept there."""
        return id_at(address) if self._mask is None or self._mask.fullmatch(address.path) else None

    def _keep(self, identifier: str, stat: FileStat, concept: Concept) -> None:
        with self._lock:
            self._kept[identifier] = (stat, concept)
            if len(self._kept) > MAX_CACHED_CONCEPTS:
                del self._kept[next(iter(self._kept))]

    def summaries(self) -> ConceptSummaries:
        """The frontmatter of every concept, from the catalogue. Only changed documents are read again."""
        collection = self._opened()
        if collection is None:
            return _NOTHING
        generation = collection.index.generation
        with self._lock:
            if generation != self._catalogued.generation:
                self._catalogued = _catalogued(collection, generation, self._catalogued, self._id_at)
                self._had_concepts |= bool(self._catalogued.summaries)
            return self._without_old_captures(self._catalogued.summaries)

    def _without_old_captures(self, summaries: ConceptSummaries) -> ConceptSummaries:
        """The summaries without captures that are older than the layer retains them; they can still be read by id."""
        if self._retention_days is None:
            return summaries
        hour = int(time.time() // 3600)
        if summaries is not self._listed[0] or hour != self._listed[1]:
            oldest = iso_timestamp(time.time() - self._retention_days * 86_400)
            old = {
                identifier
                for identifier, values in summaries.items()
                if identifier.startswith(CAPTURES) and is_later(oldest, scalar_as_text(values.get("captured")))
            }
            listed = {identifier: values for identifier, values in summaries.items() if identifier not in old}
            self._listed = (summaries, hour, listed)
        return self._listed[2]

    def search(self, text: str, limit: int) -> Sequence[LayerMatch]:
        """The best matching concepts by the full text, best first."""
        collection = self._opened()
        if collection is None or not self.summaries():
            return ()
        query = SearchQuery(text=text, filter=self._catalogued.concepts, limit=limit, sections=0)
        ask = collection.index.search
        result = current_first(collection, query, ask(query), ask)
        if not result.total:
            result = current_first(collection, query, ask(replace(query, demand=False)), ask)
        found_pairs = [(self._id_at(hit.record.address), hit.score) for hit in result.hits]
        return [LayerMatch(identifier, score) for identifier, score in found_pairs if identifier is not None]

    def links(self, keys: Sequence[str]) -> Iterator[StoredLink]:
        """Links with one of these names, from the catalogue."""
        collection = self._opened()
        if collection is None:
            return
        for link in collection.index.links_named(keys, either_side=True):
            source = self._id_at(link.source)
            if source is not None and is_concept_link(link.link):
                yield StoredLink(source, link.link, _LinkBytes(collection, source, link.link))

    def dated(self, concept: Concept) -> Concept:
        """The concept with dates from the collection's history; unchanged without a history."""
        collection = self._opened()
        return concept if collection is None else self._dates.completed(collection, concept)

    def health(self) -> LayerHealth:
        """The current state of the folder, or the state of the remote as of its last fetch."""
        return self._states.now(*(self._remote_state() if self._folder is None else self._folder_state(self._folder)))

    def _remote_state(self) -> tuple[LayerState, str]:
        collection = self._opened()
        if collection is None or collection.replica is None:
            return "missing", "the clone of its remote is gone"
        status = collection.replica.status()
        reason = status.problem.removesuffix(".")
        # The clone of an earlier run is indexed, and counts, shortly before its commit is known.
        if not status.ready and not collection.index.revisions():
            return "missing", reason or "its remote has not been read yet"
        if reason:
            return "stale", reason
        if self._had_concepts and not self.summaries():
            return "missing", "its remote has lost everything that it held"
        return "ok", ""

    def _folder_state(self, folder: Path) -> tuple[LayerState, str]:
        name = folder.name
        try:
            with os.scandir(folder) as entries:
                is_empty = next(entries, None) is None
        except FileNotFoundError:
            return "missing", f"there is no folder {name!r}"
        except NotADirectoryError:
            return "broken", f"{name!r} is not a folder"
        except OSError as error:
            return "broken", f"the folder {name!r} cannot be read: {error.strerror}"
        if is_empty and self._had_concepts:
            return "missing", f"the folder {name!r} has lost everything that it held"
        return "ok", ""


def _catalogued(
    collection: Collection, generation: int, before: _CatalogueState, id_at: Callable[[Address], str | None]
) -> _CatalogueState:
    """The current state of the catalogue. The next call checks documents that change during this one."""
    revisions = {address.path: revision for address, revision in collection.index.revisions().items()}
    differing = [path for path, revision in revisions.items() if before.revisions.get(path) != revision]
    records = _records_at(collection, differing)
    for path in differing:  # a document that is gone by now has no record
        del revisions[path]
    revisions |= {path: record.revision for path, record in records.items()}
    gone = [Address(path) for path in before.revisions.keys() - revisions.keys()]
    summaries, others = dict(before.summaries), set(before.others).difference(gone)
    for identifier in filter(None, map(id_at, gone)):
        summaries.pop(identifier, None)
    for record in records.values():
        identifier = id_at(record.address)
        if identifier is None:
            others.add(record.address)
        else:
            summaries[identifier] = record.frontmatter
    return _CatalogueState(generation, revisions, summaries, frozenset(others))


def _records_at(collection: Collection, paths: Sequence[str]) -> dict[str, Record]:
    """The records of documents that changed, by path; those of all documents if these are many."""
    if len(paths) > MAX_CHANGED:
        records: Iterable[Record | None] = every_document(collection)
    else:
        records = (collection.index.record(Address(path)) for path in paths)
    return {record.address.path: record for record in records if record is not None}


class StateLog:
    """Records when a layer entered its current state.

    Args:
        rank: Name and level of the layer.
    """

    def __init__(self, rank: LayerRank) -> None:
        self._lock = Lock()
        self._last = LayerHealth(rank)

    def now(self, state: LayerState, reason: str) -> LayerHealth:
        """The current state, with the time at which it was first seen."""
        with self._lock:
            if (state, reason) != (self._last.state, self._last.reason):
                since = "" if state == "ok" else iso_timestamp(time.time())
                self._last = LayerHealth(self._last.rank, state, reason, since)
            return self._last


def is_settled(stat: FileStat) -> bool:
    """Whether another change is certain to alter the file's timestamps."""
    return time.time_ns() - max(stat.mtime_ns, stat.ctime_ns) > SETTLED_NS


@dataclass(frozen=True, slots=True)
class _LinkBytes:
    """A link's bytes, read from the file on demand."""

    collection: Collection
    source: str
    link: Link

    def __call__(self) -> str:
        try:
            raw = self.collection.store.read(concept_address(self.source))
        except (NotFoundError, StorageError):
            raw = b""
        piece = raw[self.link.span.start : self.link.span.end].decode("utf-8", "replace")
        # The file may have changed since it was indexed; then only the target is known.
        return piece if self.link.raw in piece else self.link.raw


# A layer backed by a foreign graph: read on demand, cached for a minute, skipped for a while after a failure.


T = TypeVar("T")

CACHE_SECONDS = 60.0
"""Seconds for which a cached node is valid."""
BACK_OFF_SECONDS = 30.0
"""Seconds for which a graph is not queried after a failure."""
DEADLINE_SECONDS = 20.0
"""Timeout in seconds for reading all nodes; each request has a shorter timeout of its own."""


@dataclass(frozen=True, slots=True)
class _CachedNode:
    """A node in the cache. `concept` is None if the node does not exist."""

    concept: Concept | None
    until: float


@dataclass(frozen=True, slots=True)
class _GraphSnapshot:
    """All nodes of the graph at one time, valid until `until`."""

    concepts: Mapping[str, Concept]
    summaries: ConceptSummaries
    words: TermIndex
    until: float


class ForeignLayer:
    """A layer backed by a foreign graph.

    Args:
        rank: Name and level of the layer.
        graph: The graph.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, rank: LayerRank, graph: ForeignGraph, clock: Callable[[], float] = time.monotonic) -> None:
        self._rank = rank
        self._graph = graph
        self._clock = clock
        self._lock = Lock()
        self._left_out_until = float("-inf")
        self._nodes: dict[str, _CachedNode] = {}
        self._snapshot = _snapshot({}, float("-inf"))
        self._states = StateLog(rank)
        self._failure: UnavailableError | None = None
        self._closed = False

    @property
    def rank(self) -> LayerRank:
        """Name and level of the layer."""
        return self._rank

    def concept(self, identifier: str) -> Concept | None:
        """The node with an id; None if there is no such node or the graph does not answer."""
        with self._lock:
            node = self._nodes.get(identifier)
            if node is not None and node.until > self._clock():
                return node.concept
            return self._attempt(lambda: self._node(identifier), None)

    def summaries(self) -> ConceptSummaries:
        """The frontmatter of every node."""
        return self._all().summaries

    def search(self, text: str, limit: int) -> Sequence[LayerMatch]:
        """The best matching nodes, ranked locally, because a graph has no search."""
        snapshot = self._all()
        return [
            LayerMatch(identifier, score) for identifier, score in snapshot.words.search(ConceptQuery.of(text), limit)
        ]

    def links(self, keys: Sequence[str]) -> Iterator[StoredLink]:
        """The links of all nodes, unfiltered: there are few texts, and the caller checks the targets."""
        del keys
        for identifier, concept in sorted(self._all().concepts.items()):
            for raw, link in body_links("\n\n".join(section.text for section in concept.sections)):
                yield StoredLink(identifier, link, _NodeText(raw))

    def dated(self, concept: Concept) -> Concept:
        """The concept itself: a graph has no history."""
        return concept

    def health(self) -> LayerHealth:
        """The state as of the last attempt to query the graph."""
        with self._lock:
            return self._states.now(*self._state())

    def close(self) -> None:
        """Terminate the graph's server."""
        with self._lock:
            self._closed = True
            self._graph.close()

    def _state(self) -> tuple[LayerState, str]:
        failure = self._failure
        if failure is None:
            return "ok", ""
        if any(node.concept and node.until > self._clock() for node in self._nodes.values()):
            return "stale", f"{failure}; what it answered less than {CACHE_SECONDS:g} s before counts"
        return ("broken" if failure.kind == BROKEN else "left_out"), str(failure)

    def _all(self) -> _GraphSnapshot:
        with self._lock:
            if self._clock() >= self._snapshot.until:
                self._snapshot = self._attempt(self._read_all, None) or self._cached()
            return self._snapshot

    def _read_all(self) -> _GraphSnapshot:
        deadline = self._clock() + DEADLINE_SECONDS
        concepts: dict[str, Concept] = {}
        for identifier in self._graph.node_ids():
            if self._clock() > deadline:
                raise UnavailableError(f"its nodes were not read within {DEADLINE_SECONDS:g} s")
            concept = self._node(identifier) if _is_id(identifier) else None
            if concept is not None:
                concepts[identifier] = concept
        return _snapshot(concepts, self._clock() + CACHE_SECONDS)

    def _cached(self) -> _GraphSnapshot:
        """The unexpired nodes of the cache, used while the graph does not answer."""
        now = self._clock()
        concepts = {id_: node.concept for id_, node in self._nodes.items() if node.concept and node.until > now}
        return _snapshot(concepts, min([self._left_out_until, *(self._nodes[id_].until for id_ in concepts)]))

    def _node(self, identifier: str) -> Concept | None:
        cached_node = self._nodes.get(identifier)
        if cached_node is not None and cached_node.until > self._clock():
            return cached_node.concept
        self._nodes.pop(identifier, None)
        node = self._graph.node(identifier)
        concept = concept_of(identifier, node) if node else None
        self._nodes[identifier] = _CachedNode(concept, self._clock() + CACHE_SECONDS)
        return concept

    def _attempt(self, ask: Callable[[], T], otherwise: T) -> T:
        """Query the graph unless it failed within `BACK_OFF_SECONDS`. A failure is logged once."""
        if self._closed or self._clock() < self._left_out_until:
            return otherwise
        try:
            answer = ask()
        except UnavailableError as error:
            self._failure = error
            self._left_out_until = self._clock() + BACK_OFF_SECONDS
            log.warning("layer %r is left out for %g s: %s", self._rank.name, BACK_OFF_SECONDS, error)
            return otherwise
        self._failure = None
        return answer


def _snapshot(concepts: Mapping[str, Concept], until: float) -> _GraphSnapshot:
    summaries = {identifier: concept.frontmatter for identifier, concept in concepts.items()}
    return _GraphSnapshot(concepts, summaries, TermIndex(concepts.values()), until)


def _is_id(identifier: str) -> bool:
    """Whether the id of a node is a valid concept id."""
    try:
        return concept_id(identifier) == identifier
    except InvalidInputError:
        return False


@dataclass(frozen=True, slots=True)
class _NodeText:
    text: str

    def __call__(self) -> str:
        return self.text
