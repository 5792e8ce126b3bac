"""Divides the work of embedding among workers by claims in the cluster.

A worker claims a range of chunks by creating a document, which it renews while it works. Each change of the document is
a compare-and-swap on its sequence number. A worker that finds the claim of another one records its sequence number. If
the number is unchanged after EXPIRY_SECONDS by the finder's clock, the owner has stopped or is disconnected, and the
finder takes over. Clocks of different machines are not compared. Two workers that embed the same chunk write the same
vector.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.cluster.shared_vectors import Claim
from commonplace.domain.errors import NotFoundError, StorageError, UnavailableError
from commonplace.index.shared.opensearch.connection import BULK_SECONDS, CONFLICT, Answer, Connection
from commonplace.index.shared.opensearch.indexes import BaseIndexes
from commonplace.index.shared.opensearch.vectors.layout import (
    SUFFIX,
    base_of,
    check_chunks,
    vector_field,
    vector_mapping,
    vectors_of,
)
from commonplace.index.shared.opensearch.vectors.reader import lacks

EXPIRY_SECONDS = 10.0
"""Seconds after which a claim that is not renewed expires."""
BATCH = 256
"""Number of chunks that are fetched at a time."""
MAX_PARTS = 256

Clock = Callable[[], float]


class ClusterWork:
    """`domain.cluster.shared_vectors.EmbeddingWork`. For one worker.

    Args:
        connection: The cluster.
        indexes: The indexes of bases.
        prefix: Prefix of the names of all indexes.
        clock: Returns seconds of a monotonic clock.
    """

    def __init__(
        self, connection: Connection, indexes: BaseIndexes, prefix: str, clock: Clock = time.monotonic
    ) -> None:
        self._connection = connection
        self._indexes = indexes
        self._prefix = prefix
        self._clock = clock
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}
        """State of each claim of another worker, and the time at which it was first seen, by path of the claim."""

    def bases(self) -> Sequence[SharedBase]:
        """The bases whose chunks are in the cluster."""
        found = self._connection.ask("GET", f"/{self._prefix}-*{SUFFIX}/_mapping", ignore_unavailable="true")
        bases = [(name, base_of(of["mappings"])) for name, of in sorted(found.items())]
        return [base for name, base in bases if base is not None and vectors_of(self._indexes.alias(base)) == name]

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        """Add the field for a model's vectors to the index."""
        index = vectors_of(self._indexes.alias(base))
        (found,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        check_chunks(found["mappings"], base)
        known = found["mappings"]["properties"].get(vector_field(model))
        if known is None:
            added = {"properties": {vector_field(model): vector_mapping(dimension)}}
            self._connection.ask("PUT", f"/{index}/_mapping", added, seconds=BULK_SECONDS)
        elif known["dimension"] != dimension:
            raise StorageError(
                f"The model returns vectors of {dimension} dimensions, but the cluster has {known['dimension']}.",
                kind="model",
                hint="Restore the former model, or give the new one another name in embedding_model.",
            )

    def lacking(self, base: SharedBase, model: str) -> Sequence[str]:
        """The ranges with chunks that lack a vector of a model."""
        index = vectors_of(self._indexes.alias(base))
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        body = {
            "size": 0,
            "query": {"bool": {"filter": [{"exists": {"field": "number"}}, lacks(model)]}},
            "aggs": {"parts": {"terms": {"field": "part", "size": MAX_PARTS, "order": {"_key": "asc"}}}},
        }
        found = self._connection.ask("POST", f"/{index}/_search", body)
        return [str(bucket["key"]) for bucket in found["aggregations"]["parts"]["buckets"]]

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        """Claim a range, unless another worker has a claim that has not expired."""
        path = self._path(base, model, part)
        try:
            found = self._connection.ask("GET", path, routing=_routing(model, part))
        except NotFoundError:
            return self._create(path, Claim(base, model, part, owner, 0, (0, 0)))
        state = int(found["_seq_no"]), int(found["_primary_term"])
        seen, since = self._seen.get(path, (None, 0.0))
        if seen != state:
            self._seen[path] = state, self._clock()
            return None
        if self._clock() - since < EXPIRY_SECONDS:
            return None
        beat = int(found["_source"]["beat"]) + 1
        return self._swapped(path, Claim(base, model, part, owner, beat, state))

    def renew(self, claim: Claim) -> Claim | None:
        """Renew a claim; None if another worker has taken it over."""
        kept = Claim(claim.base, claim.model, claim.part, claim.owner, claim.beat + 1, claim.state)
        return self._swapped(self._path(claim.base, claim.model, claim.part), kept)

    def release(self, claim: Claim) -> None:
        """Release a claim. A claim that another worker has taken over is not changed."""
        self._connection.ask("POST", f"/{vectors_of(self._indexes.alias(claim.base))}/_refresh", seconds=BULK_SECONDS)
        path = self._path(claim.base, claim.model, claim.part)
        try:
            number, term = map(str, claim.state)
            routing = _routing(claim.model, claim.part)
            self._connection.ask("DELETE", path, routing=routing, if_seq_no=number, if_primary_term=term)
        except NotFoundError:
            return
        except UnavailableError as error:
            if error.context.get("status") != CONFLICT:
                raise

    def texts(self, claim: Claim) -> Iterator[Sequence[tuple[str, str]]]:
        """Ids and texts of the chunks of a range that lack a vector, in batches."""
        index = vectors_of(self._indexes.alias(claim.base))
        query = {"bool": {"filter": [{"term": {"part": claim.part}}, {"exists": {"field": "number"}}]}}
        query["bool"]["filter"].append(lacks(claim.model))
        body: dict[str, Any] = {
            "size": BATCH,
            "query": query,
            "sort": [{"page": "asc"}, {"number": "asc"}],
            "_source": ["text"],
        }
        while True:
            hits = self._connection.ask("POST", f"/{index}/_search", body)["hits"]["hits"]
            if hits:
                yield [(str(hit["_id"]), str(hit["_source"]["text"])) for hit in hits]
            if len(hits) < BATCH:
                return
            body["search_after"] = hits[-1]["sort"]

    def store(self, claim: Claim, vectors: Mapping[str, Sequence[int] | None]) -> None:
        """Write vectors by chunk."""
        lines: list[Mapping[str, Any]] = []
        for identifier, vector in vectors.items():
            routing = identifier.partition("-")[0]
            lines.append({"update": {"_id": identifier, "routing": routing, "retry_on_conflict": 5}})
            added = {"void": claim.model} if vector is None else {vector_field(claim.model): list(vector)}
            lines.append({"doc": added})
        if lines:
            self._connection.bulk(vectors_of(self._indexes.alias(claim.base)), lines)

    def _create(self, path: str, claim: Claim) -> Claim | None:
        """Create the document of a claim; None if another worker was faster."""
        document = {"owner": claim.owner, "beat": claim.beat}
        routing = _routing(claim.model, claim.part)
        return self._taken(
            claim, lambda: self._connection.ask("PUT", path, document, routing=routing, op_type="create")
        )

    def _swapped(self, path: str, claim: Claim) -> Claim | None:
        """Replace the document of a claim by compare-and-swap; None if the document has changed."""
        document = {"owner": claim.owner, "beat": claim.beat}
        number, term = map(str, claim.state)
        routing = _routing(claim.model, claim.part)
        return self._taken(
            claim,
            lambda: self._connection.ask(
                "PUT", path, document, routing=routing, if_seq_no=number, if_primary_term=term
            ),
        )

    @staticmethod
    def _taken(claim: Claim, write: Callable[[], Answer]) -> Claim | None:
        try:
            answer = write()
        except UnavailableError as error:
            if error.context.get("status") == CONFLICT:
                return None
            raise
        state = int(answer["_seq_no"]), int(answer["_primary_term"])
        return replace(claim, state=state)

    def _path(self, base: SharedBase, model: str, part: str) -> str:
        return f"/{vectors_of(self._indexes.alias(base))}/_doc/claim-{model}-{part}"


def _routing(model: str, part: str) -> str:
    return f"claim-{model}-{part}"
