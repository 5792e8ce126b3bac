"""An index whose searches a shared engine answers, and this server's own index whatever the engine cannot."""

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
"""How long a failing engine is not asked again, so that searches do not wait for it one by one."""
OWN_ANSWER = "The answer comes from this server's own index."
PARTIAL = "A part of the shared index could not be searched: there may be more pages than these."


class SharedSearch:
    """`domain.ports.Index`: searches by a shared engine, all else by this server's own index.

    Searches by meaning are answered by the engine if it has the vectors, else by the own index.

    Args:
        own: This server's own index.
        reader: The engine.
        tailer: What keeps the engine's index current.
    """

    def __init__(self, own: Index, reader: SharedIndexReader, tailer: Tailer) -> None:
        self.own = own
        self.reader = reader
        self._tailer = tailer
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._reason = ""

    if TYPE_CHECKING:  # every other question is passed on as it is

        def __getattr__(self, name: str) -> object: ...

    else:

        def __getattr__(self, name: str) -> object:
            return getattr(self.own, name)

    def preferring_last(self) -> SharedSearch:
        """The same with the own index for readers who prefer `b` of `[[a|b]]`."""
        return SharedSearch(self.own.preferring_last(), self.reader, self._tailer)

    @property
    def base(self) -> SharedBase:
        """The base in the engine."""
        return self._tailer.base

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections, from the engine if it has what this server has."""
        return search_together([(cast("Index", self), query)])[0]

    def is_shared(self, query: SearchQuery) -> bool:
        """Whether the engine is asked: it has what this server has, and answered the last time."""
        if _has_own_vectors(query):
            return False
        return self._tailer.is_current and not (self._tailer.problem or self._resting())

    def labels(self, address: Address) -> set[tuple[str, str]]:
        """Label and target of each link of a page, as this index's reader takes them."""
        return {(one.link.label, one.link.raw) for one in self.own.links_from(address) if one.link.label}

    def search_alone(self, query: SearchQuery) -> SearchResult:
        """The own index's answer. While the engine takes a commit in, nothing is wrong and nothing is said.

        Raises:
            UnavailableError: kind "engine": a search by meaning alone, whose vectors the engine has.
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
        """Do not ask the engine for a while, because it has just failed."""
        with self._lock:
            self._resting_until = time.monotonic() + PAUSE_SECONDS
            if reason != self._reason:
                log.warning("%s: %s", self.base.name, reason)
            self._reason = reason

    def _resting(self) -> str:
        with self._lock:
            return self._reason if time.monotonic() < self._resting_until else ""


def search_together(asked: Sequence[tuple[Index, SearchQuery]]) -> list[SearchResult]:
    """The results of several indexes. Those that one engine has are asked in one go, as far as their queries are equal.

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
    """The engine's results, or those of the own indexes if it fails."""
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
        if isinstance(error, NotFoundError) and len(indexes) > 1:  # one of them was dropped; the others are there
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
    """Hits of the engine with what only an index of all pages can tell: whether other pages have the same id."""
    known = [own.record(hit.record.address) for hit in hits]
    return tuple(
        [
            replace(hit, record=replace(hit.record, shares_id=True)) if record and record.shares_id else hit
            for hit, record in zip(hits, known, strict=True)
        ]
    )


def _has_own_vectors(query: SearchQuery) -> bool:
    """Whether a query comes with similarities of this server's own vectors."""
    return query.similarity is not None and not isinstance(query.similarity, EngineSimilarity)


def _noted(result: SearchResult, notice: str) -> SearchResult:
    """A result with a notice, which faces without room for it take from the call's context."""
    if notice:
        note(notice)
    return replace(result, notice=notice)
