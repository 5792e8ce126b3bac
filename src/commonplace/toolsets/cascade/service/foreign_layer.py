"""A layer backed by a foreign graph: read on demand, cached for a minute, skipped for a while after a failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from commonplace.domain.errors import InvalidInputError, UnavailableError
from commonplace.toolsets.cascade.rules.concept_terms import ConceptQuery, TermIndex
from commonplace.toolsets.cascade.rules.concepts import concept_id
from commonplace.toolsets.cascade.rules.foreign import BROKEN, ForeignGraph, concept_of
from commonplace.toolsets.cascade.rules.health import LayerHealth, LayerState
from commonplace.toolsets.cascade.rules.link_targets import body_links
from commonplace.toolsets.cascade.rules.values import Concept, LayerRank
from commonplace.toolsets.cascade.service.layers import ConceptSummaries, LayerMatch, StateLog, StoredLink

log = logging.getLogger(__name__)

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
            kept = self._nodes.get(identifier)
            if kept is not None and kept.until > self._clock():
                return kept.concept
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
        if any(one.concept and one.until > self._clock() for one in self._nodes.values()):
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
        kept = {id_: one.concept for id_, one in self._nodes.items() if one.concept and one.until > now}
        return _snapshot(kept, min([self._left_out_until, *(self._nodes[id_].until for id_ in kept)]))

    def _node(self, identifier: str) -> Concept | None:
        kept = self._nodes.get(identifier)
        if kept is not None and kept.until > self._clock():
            return kept.concept
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
