"""Searches of a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock

from commonplace.domain.cluster.shared_index import (
    BranchPosition,
    Facets,
    LinkLabels,
    SharedBase,
    SharedResult,
    no_labels,
)
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.query import Filter, SearchQuery, SearchResult
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.shared.opensearch.answers import BaseSearch
from commonplace.index.shared.opensearch.connection import Connection
from commonplace.index.shared.opensearch.indexes import BaseIndexes
from commonplace.index.shared.opensearch.query_dsl import filter_clauses
from commonplace.index.shared.opensearch.vocabulary import Vocabulary

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks for a position; each pause is half as long again as the one before."""


class ClusterReader:
    """`domain.cluster.shared_index.SharedIndexReader`.

    Args:
        connection: The cluster.
        prefix: Beginning of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._indexes = BaseIndexes(connection, prefix)
        self._analyze = words_analyzer().analyze
        self._vocabularies: dict[str, Vocabulary] = {}
        self._lock = Lock()

    def search(self, bases: Sequence[SharedBase], query: SearchQuery, labels: LinkLabels = no_labels) -> SharedResult:
        """Ranked pages of each base with their best sections."""
        if not query.text.strip():
            raise InvalidInputError(
                "The search text is empty.", kind="query", hint="Give at least one word to search for."
            )
        results: dict[SharedBase, SearchResult] = {}
        partial: set[SharedBase] = set()
        for base in bases:
            index = self._published(base)
            search = BaseSearch(self._connection, index, self._vocabulary(index), self._analyze, labels)
            results[base] = search.answer(query)
            if search.partial:
                partial.add(base)
        return SharedResult(results, frozenset(partial))

    def facets(self, base: SharedBase, filter_: Filter, limit: int = 1000) -> Facets:
        """Tags and types of the pages that match a filter."""
        order = [{"_count": "desc"}, {"_key": "asc"}]
        body = {
            "size": 0,
            "query": {"bool": {"filter": [{"exists": {"field": "path"}}, *filter_clauses(filter_)]}},
            "aggs": {
                name: {"terms": {"field": name, "size": limit, "order": order, "exclude": ""}}
                for name in ("tags", "kind")
            },
        }
        found = self._connection.ask("POST", f"/{self._published(base)}/_search", body)["aggregations"]
        tags, types = (
            tuple((str(one["key"]), int(one["doc_count"])) for one in found[name]["buckets"])
            for name in ("tags", "kind")
        )
        return Facets(tags, types)

    def through(self, base: SharedBase) -> BranchPosition | None:
        """Up to where the published index contains the branch."""
        return self._indexes.through(base)

    def wait_for(self, base: SharedBase, number: int, timeout: float) -> bool:
        """Wait until `through` is at least `number`, with pauses that grow."""
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

    def _vocabulary(self, index: str) -> Vocabulary:
        with self._lock:
            if index not in self._vocabularies:
                self._vocabularies[index] = Vocabulary(self._connection, index, self._analyze)
            return self._vocabularies[index]
