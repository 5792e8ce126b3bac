"""An index whose searches are answered by a shared engine, or by this server's own index if the engine cannot."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from commonplace.domain.addresses import Address
from commonplace.domain.cluster.engine_similarity import EngineSimilarity
from commonplace.domain.cluster.notices import note
from commonplace.domain.cluster.shared_index import SharedBase, SharedIndexReader
from commonplace.domain.errors import NotFoundError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import Hit, SearchQuery, SearchResult
from commonplace.services.cluster.tailer import Tailer

log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""Seconds after a failure in which the engine gets no searches, so that these do not wait for a failing engine."""
OWN_ANSWER = "The answer comes from this server's own index."
PARTIAL = "A part of the shared index could not be searched: there may be more pages than these."


class SharedSearch:
    """`domain.ports.Index` that sends searches to a shared engine, and all other calls to this server's own index.

    A semantic search is answered by the engine if it has the vectors, otherwise by the own index.

    Args:
        own: This server's own index.
        reader: The engine.
        tailer: The tailer that updates the engine's index.
    """

    def __init__(self, own: Index, reader: SharedIndexReader, tailer: Tailer) -> None:
        self.own = own
        self.reader = reader
        self._tailer = tailer
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._reason = ""

    if TYPE_CHECKING:  # `__getattr__` forwards every other call

        def __getattr__(self, name: str) -> object: ...

    else:

        def __getattr__(self, name: str) -> object:
            return getattr(self.own, name)

    def preferring_last(self) -> SharedSearch:
        """The same index, with the own index for readers who prefer `b` in `[[a|b]]`."""
        return SharedSearch(self.own.preferring_last(), self.reader, self._tailer)

    @property
    def base(self) -> SharedBase:
        """The base in the engine."""
        return self._tailer.base

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections; from the engine if it contains this server's commit."""
        return search_together([(cast("Index", self), query)])[0]

    def is_shared(self, query: SearchQuery) -> bool:
        """Whether the engine is used: it contains this server's commit, and its last answer was no error."""
        if _has_own_vectors(query):
            return False
        return self._tailer.is_current and not (self._tailer.problem or self._resting())

    def labels(self, address: Address) -> set[tuple[str, str]]:
        """Label and target of each link of a page, as interpreted by the reader of this index."""
        return {(one.link.label, one.link.raw) for one in self.own.links_from(address) if one.link.label}

    def search_alone(self, query: SearchQuery) -> SearchResult:
        """The answer of the own index. It has no notice while the engine is being updated to a commit.

        Raises:
            UnavailableError: kind "engine": a purely semantic search, whose vectors are in the engine.
        """
        if _has_own_vectors(query):
            return self.own.search(query)
        reason = self._tailer.problem or self._resting()
        if reason and query.similarity is not None:
            if not query.words:
                raise UnavailableError(
                    f"{reason} It has the vectors of the pages.",
                    kind="engine",
                    hint="Try again later, or search with mode=keyword.",
                )
            query = replace(query, similarity=None)
        self._tailer.searches.add("own index, engine failing" if reason else "own index")
        return _noted(self.own.search(query), f"{reason} {OWN_ANSWER}" if reason else "")

    def count(self, *, in_part: bool) -> None:
        """Count a search that the engine answered."""
        self._tailer.searches.add("engine, in part" if in_part else "engine")

    def rest(self, reason: str) -> None:
        """Send no searches to the engine for `PAUSE_SECONDS`, because it has just failed."""
        with self._lock:
            self._resting_until = time.monotonic() + PAUSE_SECONDS
            if reason != self._reason:
                log.warning("%s: %s", self.base.name, reason)
            self._reason = reason

    def _resting(self) -> str:
        with self._lock:
            return self._reason if time.monotonic() < self._resting_until else ""


def search_together(asked: Sequence[tuple[Index, SearchQuery]]) -> list[SearchResult]:
    """The results of several indexes. Equal queries to one engine are sent together.

    Raises:
        InvalidInputError: a text is blank.
        UnavailableError: kind "engine": see `SharedSearch.search_alone`.
    """
    groups: dict[tuple[int, SearchQuery], list[int]] = {}
    for at, (index, query) in enumerate(asked):
        if isinstance(index, SharedSearch) and index.is_shared(query):
            groups.setdefault((id(index.reader), replace(query, similarity=None)), []).append(at)
    found: dict[int, SearchResult] = {}
    for places in groups.values():
        shared = {at: one for at in places if isinstance(one := asked[at][0], SharedSearch)}
        found |= dict(zip(shared, _from_engine(list(shared.values()), asked[places[0]][1]), strict=True))
    return [found[at] if at in found else _alone(*one) for at, one in enumerate(asked)]


def _alone(index: Index, query: SearchQuery) -> SearchResult:
    return index.search_alone(query) if isinstance(index, SharedSearch) else index.search(query)


def _from_engine(indexes: Sequence[SharedSearch], query: SearchQuery) -> list[SearchResult]:
    """The engine's results; those of the own indexes if the engine fails."""
    of_base = {index.base: index for index in indexes}
    generations = [index.own.generation for index in indexes]
    question = query.similarity.question if isinstance(query.similarity, EngineSimilarity) else None
    try:
        found = indexes[0].reader.search(
            list(of_base),
            replace(query, similarity=None),
            lambda base, address: of_base[base].labels(address),
            question,
        )
    except (UnavailableError, NotFoundError) as error:
        if error.kind != "engine":
            raise
        if isinstance(error, NotFoundError) and len(indexes) > 1:  # one base was dropped; the others may exist
            return [result for index in indexes for result in _from_engine([index], query)]
        for index in indexes:
            index.rest(str(error))
        return [index.search_alone(query) for index in indexes]
    for index in indexes:
        index.count(in_part=index.base in found.partial)
    return [
        _noted(
            replace(
                found.results[index.base],
                hits=_with_known_ids(index.own, found.results[index.base].hits),
                generation=generation,
            ),
            PARTIAL if index.base in found.partial else "",
        )
        for index, generation in zip(indexes, generations, strict=True)
    ]


def _with_known_ids(own: Index, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits of the engine, with a mark on ids that several pages have, which only the own index can tell."""
    known = [own.record(hit.record.address) for hit in hits]
    return tuple(
        [
            replace(hit, record=replace(hit.record, shares_id=True)) if record and record.shares_id else hit
            for hit, record in zip(hits, known, strict=True)
        ]
    )


def _has_own_vectors(query: SearchQuery) -> bool:
    """Whether a query has similarities from this server's own vectors."""
    return query.similarity is not None and not isinstance(query.similarity, EngineSimilarity)


def _noted(result: SearchResult, notice: str) -> SearchResult:
    """A result with a notice. The notice is also recorded in the call's context, for faces that cannot show it here."""
    if notice:
        note(notice)
    return replace(result, notice=notice)
