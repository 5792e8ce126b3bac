"""An index whose searches a shared engine answers, and this server's own index whatever the engine cannot."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.domain.addresses import Address
from commonplace.domain.cluster.notices import note
from commonplace.domain.cluster.shared_index import SharedIndexReader
from commonplace.domain.errors import NotFoundError, UnavailableError
from commonplace.domain.ports import Index
from commonplace.domain.query import SearchQuery, SearchResult
from commonplace.services.cluster.tailer import Tailer

log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""How long a failing engine is not asked again, so that searches do not wait for it one by one."""
OWN_ANSWER = "The answer comes from this server's own index."
PARTIAL = "A part of the shared index could not be searched: there may be more pages than these."


class SharedSearch:
    """`domain.ports.Index`: searches by a shared engine, all else by this server's own index.

    Searches by meaning are answered by the own index, which has the vectors.

    Args:
        own: This server's own index.
        reader: The engine.
        tailer: What keeps the engine's index current.
    """

    def __init__(self, own: Index, reader: SharedIndexReader, tailer: Tailer) -> None:
        self._own = own
        self._reader = reader
        self._tailer = tailer
        self._lock = threading.Lock()
        self._resting_until = 0.0
        self._reason = ""

    if TYPE_CHECKING:  # every other question is passed on as it is

        def __getattr__(self, name: str) -> object: ...

    else:

        def __getattr__(self, name: str) -> object:
            return getattr(self._own, name)

    def preferring_last(self) -> SharedSearch:
        """The same with the own index for readers who prefer `b` of `[[a|b]]`."""
        return SharedSearch(self._own.preferring_last(), self._reader, self._tailer)

    def search(self, query: SearchQuery) -> SearchResult:
        """Ranked documents with their best sections, from the engine if it has what this server has."""
        if query.similarity is not None:
            return self._own.search(query)
        reason = self._tailer.problem or self._resting()
        if reason or not self._tailer.is_current:
            return self._by_itself(query, reason)
        generation = self._own.generation
        try:
            found = self._reader.search([self._tailer.base], query, self._labels)
        except (UnavailableError, NotFoundError) as error:
            if error.kind != "engine":
                raise
            self._rest(str(error))
            return self._by_itself(query, str(error))
        result = found.results[self._tailer.base]
        return _noted(replace(result, generation=generation), PARTIAL if found.partial else "")

    def _labels(self, address: Address) -> set[tuple[str, str]]:
        """Label and target of each link of a page, as this index's reader takes them."""
        return {(one.link.label, one.link.raw) for one in self._own.links_from(address) if one.link.label}

    def _by_itself(self, query: SearchQuery, reason: str) -> SearchResult:
        """The own index's answer. While the shared one takes a commit in, nothing is wrong and nothing is said."""
        return _noted(self._own.search(query), f"{reason} {OWN_ANSWER}" if reason else "")

    def _resting(self) -> str:
        with self._lock:
            return self._reason if time.monotonic() < self._resting_until else ""

    def _rest(self, reason: str) -> None:
        with self._lock:
            self._resting_until = time.monotonic() + PAUSE_SECONDS
            if reason != self._reason:
                log.warning("%s: %s", self._tailer.base.name, reason)
            self._reason = reason


def _noted(result: SearchResult, notice: str) -> SearchResult:
    """A result with a notice, which faces without room for it take from the call's context."""
    if notice:
        note(notice)
    return replace(result, notice=notice)
