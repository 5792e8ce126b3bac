"""Searches of a cluster, and an open cluster: a reader and a writer that share one pool of connections."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import partial
from threading import Lock

from commonplace.domain.cluster import BranchPosition, LinkLabels, SharedBase, SharedResult, no_labels
from commonplace.domain.errors import ConfigError, InvalidInputError, NotFoundError
from commonplace.domain.query import SearchQuery
from commonplace.domain.similarity import QuestionVector
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.opensearch.answers import BaseSearch, Meaning
from commonplace.index.opensearch.connection import ClusterAddress, Connection, run
from commonplace.index.opensearch.indexes import BaseIndexes
from commonplace.index.opensearch.vectors import ClusterVectors, ClusterWork
from commonplace.index.opensearch.vocabulary import Vocabulary
from commonplace.index.opensearch.writer import ClusterWriter

# An open search cluster: a reader and a writer that share one pool of connections.


_PREFIX = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")


class SearchCluster:
    """An open cluster.

    Args:
        address: The cluster.
        prefix: Prefix of the names of all indexes.

    Raises:
        ConfigError: kind "engine": the address or the prefix is invalid, or the client is not installed.
    """

    def __init__(self, address: ClusterAddress, prefix: str) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError(
                "Invalid engine_prefix.",
                kind="engine",
                hint="Give 1 to 60 lower-case letters, digits and hyphens, such as commonplace.",
            )
        self._connection = Connection(address)
        self.reader = ClusterReader(self._connection, prefix)
        self.vectors = self.reader.vectors
        self.writer = ClusterWriter(self._connection, prefix)
        self.work = ClusterWork(self._connection, BaseIndexes(self._connection, prefix), prefix)

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()


# Searches of a cluster.


FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""First and maximum pause in seconds between two requests for a position; each pause is 1.5 times the last one."""


class ClusterReader:
    """`domain.cluster.SharedIndexReader`.

    Args:
        connection: The cluster.
        prefix: Prefix of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._indexes = BaseIndexes(connection, prefix)
        self.vectors = ClusterVectors(connection, self._indexes)
        self._analyze = words_analyzer().analyze
        self._vocabularies: dict[str, Vocabulary] = {}
        self._lock = Lock()

    def search(
        self,
        bases: Sequence[SharedBase],
        query: SearchQuery,
        labels: LinkLabels = no_labels,
        question: QuestionVector | None = None,
    ) -> SharedResult:
        """Ranked pages of each base with their best sections."""
        if not query.text.strip():
            raise InvalidInputError(
                "The search text is empty.", kind="query", hint="Give at least one word to search for."
            )
        searches = {base: self._search_of(base, labels, question) for base in bases}
        results = run(self._connection, [search.answer(query) for search in searches.values()])
        partial = frozenset(base for base, search in searches.items() if search.partial)
        return SharedResult(dict(zip(searches, results, strict=True)), partial)

    def through(self, base: SharedBase) -> BranchPosition | None:
        """The branch position that the published index has reached; None if there is none."""
        position = self._indexes.through(base)
        if position is not None:
            self._vocabulary(self._indexes.alias(base)).note(position)
        return position

    def wait_for(self, base: SharedBase, number: int, timeout: float) -> bool:
        """Wait until `through` is at least `number`, polling with growing pauses."""
        deadline = time.monotonic() + timeout
        pause = FIRST_PAUSE
        while True:
            position = self.through(base)
            if position is not None and position.number >= number:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def _published(self, base: SharedBase) -> str:
        try:
            return self._indexes.published(base)
        except NotFoundError as error:
            raise NotFoundError(
                f"The search cluster has no index of {base.name!r}.",
                kind="engine",
                hint="A server that follows the base makes it within seconds, or it was dropped.",
            ) from error

    def _search_of(self, base: SharedBase, labels: LinkLabels, question: QuestionVector | None) -> BaseSearch:
        index = self._published(base)
        vectors = self.vectors.field(base, question.model) if question is not None else None
        meaning = Meaning(question, vectors) if question is not None and vectors is not None else None
        return BaseSearch(index, self._vocabulary(index), self._analyze, partial(labels, base), meaning)

    def _vocabulary(self, index: str) -> Vocabulary:
        with self._lock:
            if index not in self._vocabularies:
                self._vocabularies[index] = Vocabulary(index, self._analyze)
            return self._vocabularies[index]
