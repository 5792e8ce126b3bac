"""The vectors of bases in a cluster: the layout of their chunks, searching them, and dividing the work of embedding."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from commonplace.domain.cluster import Claim, NearestPages, SharedBase, VectorCounts
from commonplace.domain.errors import NotFoundError, StorageError, UnavailableError
from commonplace.domain.query import ChunkHit, Filter, NearDocument, QuestionVector
from commonplace.index.opensearch.answers import Meaning, VectorField
from commonplace.index.opensearch.connection import BULK_SECONDS, CONFLICT, Answer, Connection, Search, Steps, run
from commonplace.index.opensearch.indexes import PROPERTIES, BaseIndexes, page_key

# Names, settings and mapping of the indexes of chunks.
#
# A base whose vectors are in the cluster has one such index in addition to its generations. The index outlives the
# generations, because vectors are far more expensive than all other data. It has a document for each chunk (its text,
# the page's fields for filters, and a vector for each model), one for each page (the list of its chunks), and one for
# each claim.


SCHEMA = 1
"""Version of the documents and their fields."""
SUFFIX = ".vectors"
VECTOR_PREFIX = "vector_"
NUMBERS = ("day", "created_day", "updated_day", "created_at", "updated_at")
PART_DIGITS = 2
"""Number of digits of a page's key that name its range."""

_VALUE = {"type": "keyword"}
_STORED = {"type": "keyword", "index": False, "doc_values": False}

CHUNK_PROPERTIES: dict[str, Any] = {
    # Fields of chunks.
    **{name: PROPERTIES[name] for name in ("page", "path", "filter_terms", *NUMBERS)},
    "part": _VALUE,
    "ordinal": {"type": "integer"},
    "number": {"type": "integer"},
    "of": {"type": "integer", "index": False},
    "text": _STORED,
    "void": _VALUE,
    # Fields of pages.
    "revision": _STORED,
    "state": _STORED,
    "keys": _STORED,
    "chunks": {"type": "integer"},
    # Fields of claims.
    "owner": _STORED,
    "beat": {"type": "long", "index": False},
}


def vectors_of(alias: str) -> str:
    """The index of chunks of a base."""
    return f"{alias}{SUFFIX}"


def vector_field(model: str) -> str:
    """The field with the vectors of a model, by the model's digest."""
    return f"{VECTOR_PREFIX}{model}"


def chunk_creation(base: SharedBase) -> dict[str, Any]:
    """Body of the request that creates an index of chunks."""
    meta = {"product": "commonplace", "chunks": SCHEMA, "source": base.source, "base": base.name}
    return {
        "settings": {
            "index": {
                "knn": True,
                "number_of_shards": 1,
                "auto_expand_replicas": "0-1",
                "refresh_interval": "5s",
                "max_result_window": 1_000_000,
                "allocation.max_retries": 60,
            }
        },
        "mappings": {
            "dynamic": "strict",
            "_routing": {"required": True},
            "_meta": meta,
            "properties": CHUNK_PROPERTIES,
        },
    }


def vector_mapping(dimension: int) -> dict[str, Any]:
    """The mapping of vectors. It names the engine, because the default needs native libraries, or crashes the node."""
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    return {"type": "knn_vector", "dimension": dimension, "data_type": "byte", "method": method}


def base_of(mappings: dict[str, Any]) -> SharedBase | None:
    """The base of an index of chunks; None if the index does not belong to this program."""
    meta = mappings.get("_meta", {})
    if meta.get("product") != "commonplace" or meta.get("chunks") != SCHEMA:
        return None
    return SharedBase(str(meta.get("base", "")), str(meta.get("source", "")), meaning=True)


def check_chunks(mappings: dict[str, Any], base: SharedBase) -> None:
    """Check that an index of chunks belongs to this base and this version.

    Raises:
        UnavailableError: kind "engine": it does not.
    """
    meta = mappings.get("_meta", {})
    properties: dict[str, Any] = mappings.get("properties", {})
    plain = {name: of for name, of in properties.items() if not name.startswith(VECTOR_PREFIX)}
    if meta.get("product") != "commonplace" or meta.get("source") != base.source:
        what, hint = "belongs to another base of this name", "Give each cluster of servers an engine_prefix of its own."
    elif meta.get("chunks") != SCHEMA:
        what = "were made by another version"
        hint = "Upgrade all servers, and delete the index if they are of one version: it is made again."
    elif plain != CHUNK_PROPERTIES:
        what, hint = "were changed by hand: their mapping differs", "Delete the index; it is made again."
    else:
        return
    said = f"The vectors in the search cluster {what.replace('belongs', 'belong')}."
    raise UnavailableError(said, kind="engine", hint=hint, retryable=0)


def owner_digest(text: str) -> str:
    """A short digest."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# Searches of the vectors of bases in a cluster.


COUNTED_SECONDS = 30.0
"""Validity in seconds of the cached number of vectors, which determines the method of comparison."""


class ClusterVectors:
    """`domain.cluster.SharedVectors`.

    Args:
        connection: The cluster.
        indexes: The indexes of bases.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._fields: dict[tuple[str, str], tuple[float, VectorField | None]] = {}
        self._lock = Lock()

    def has(self, base: SharedBase, model: str) -> bool:
        """Whether a base has vectors of a model."""
        return self.field(base, model) is not None

    def field(self, base: SharedBase, model: str) -> VectorField | None:
        """The vectors of a model; None if there are none."""
        index = vectors_of(self._indexes.alias(base))
        with self._lock:
            seen, field = self._fields.get((index, model), (0.0, None))
        if seen and time.monotonic() - seen <= COUNTED_SECONDS:
            return field
        vector = self._counted(base, index, model)
        with self._lock:
            self._fields[index, model] = time.monotonic(), vector
        return vector

    def nearest(self, base: SharedBase, question: QuestionVector, filter_: Filter, limit: int) -> NearestPages:
        """The pages within a filter that are most similar to a query."""
        meaning = self._meaning(base, question)
        pages = meaning.nearest(self._msearch(meaning.searches(filter_, limit)))
        return NearestPages(tuple(pages.pages.values()), pages.ordinary)

    def of(self, base: SharedBase, question: QuestionVector, paths: Sequence[str]) -> Mapping[str, NearDocument]:
        """The similarities of these pages."""
        if not paths:
            return {}
        meaning = self._meaning(base, question)
        by_key = {page_key(path): path for path in paths}
        (answer,) = self._msearch([meaning.of(list(by_key))])
        return {by_key[key]: near for key, near in meaning.similarities(answer).items()}

    def nearest_chunks(self, base: SharedBase, question: QuestionVector, count: int, each: int) -> Sequence[ChunkHit]:
        """The most similar chunks, at most `each` of a page."""
        meaning = self._meaning(base, question)
        (answer,) = self._msearch([meaning.chunks(count * each)])
        seen: dict[str, int] = {}
        chosen: list[ChunkHit] = []
        for near, number, of in meaning.near_chunks(answer):
            seen[near.path] = seen.get(near.path, 0) + 1
            if seen[near.path] <= each:
                chosen.append(
                    ChunkHit(path=near.path, ordinal=near.ordinal, number=number, of=of, similarity=near.similarity)
                )
        return chosen[:count]

    def counts(self, base: SharedBase, model: str) -> VectorCounts:
        """Number of chunks and of embedded chunks."""
        index = vectors_of(self._indexes.alias(base))
        lacking = {"bool": {"filter": [{"exists": {"field": "number"}}, lacks(model)]}}
        pages = {"pages": {"cardinality": {"field": "page", "precision_threshold": 40_000}}}
        every, done, left = self._msearch([
            Search(index, {"size": 0, "track_total_hits": True, "query": {"exists": {"field": "chunks"}}}),
            Search(index, {"size": 0, "track_total_hits": True, "query": {"exists": {"field": vector_field(model)}}}),
            Search(index, {"size": 0, "query": lacking, "aggs": pages}),
        ])  # fmt: skip
        pending = int(left["aggregations"]["pages"]["value"])
        return VectorCounts(max(_total(every) - pending, 0), _total(done), pending)

    def _counted(self, base: SharedBase, index: str, model: str) -> VectorField | None:
        try:
            (indexes,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        except NotFoundError:
            return None
        check_chunks(indexes["mappings"], base)
        if vector_field(model) not in indexes["mappings"]["properties"]:
            return None
        pages = {"pages": {"cardinality": {"field": "page"}}}
        body = {"size": 0, "track_total_hits": True, "query": {"exists": {"field": vector_field(model)}}, "aggs": pages}
        (answer,) = self._msearch([Search(index, body)])
        chunks = _total(answer)
        if not chunks:
            return None
        return VectorField(index, vector_field(model), int(answer["aggregations"]["pages"]["value"]), chunks)

    def _meaning(self, base: SharedBase, question: QuestionVector) -> Meaning:
        vectors = self.field(base, question.model)
        if vectors is None:
            raise NotFoundError(
                f"The search cluster has no vectors of {base.name!r}.",
                kind="engine",
                hint="Run: commonplace embed-worker",
            )
        return Meaning(question, vectors)

    def _msearch(self, searches: Sequence[Search]) -> Sequence[Answer]:
        (answers,) = run(self._connection, [_one_step(searches)])
        return answers


def lacks(model: str) -> dict[str, Any]:
    """The query for chunks that still lack a vector of a model, except chunks without embeddable text."""
    has = [{"exists": {"field": vector_field(model)}}, {"term": {"void": model}}]
    return {"bool": {"must_not": has}}


def _one_step(searches: Sequence[Search]) -> Steps[Sequence[Answer]]:
    return (yield searches)


def _total(answer: Answer) -> int:
    return int(answer["hits"]["total"]["value"])


# Divides the work of embedding among workers by claims in the cluster.
#
# A worker claims a range of chunks by creating a document, which it renews while it works. Each change of the document
# is a compare-and-swap on its sequence number. A worker that finds the claim of another one records its sequence
# number. If the number is unchanged after EXPIRY_SECONDS by the finder's clock, the owner has stopped or is
# disconnected, and the finder takes over. Clocks of different machines are not compared. Two workers that embed the
# same chunk write the same vector.


EXPIRY_SECONDS = 10.0
"""Seconds after which a claim that is not renewed expires."""
BATCH = 256
"""Number of chunks that are fetched at a time."""
MAX_PARTS = 256

Clock = Callable[[], float]


class ClusterWork:
    """`domain.cluster.EmbeddingWork`. For one worker.

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
        answer = self._connection.ask("GET", f"/{self._prefix}-*{SUFFIX}/_mapping", ignore_unavailable="true")
        bases = [(name, base_of(of["mappings"])) for name, of in sorted(answer.items())]
        return [base for name, base in bases if base is not None and vectors_of(self._indexes.alias(base)) == name]

    def prepare(self, base: SharedBase, model: str, dimension: int) -> None:
        """Add the field for a model's vectors to the index."""
        index = vectors_of(self._indexes.alias(base))
        (indexes,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        check_chunks(indexes["mappings"], base)
        declared = indexes["mappings"]["properties"].get(vector_field(model))
        if declared is None:
            added = {"properties": {vector_field(model): vector_mapping(dimension)}}
            self._connection.ask("PUT", f"/{index}/_mapping", added, seconds=BULK_SECONDS)
        elif declared["dimension"] != dimension:
            raise StorageError(
                f"The model returns vectors of {dimension} dimensions, but the cluster has {declared['dimension']}.",
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
        answer = self._connection.ask("POST", f"/{index}/_search", body)
        return [str(bucket["key"]) for bucket in answer["aggregations"]["parts"]["buckets"]]

    def claim(self, base: SharedBase, model: str, part: str, owner: str) -> Claim | None:
        """Claim a range, unless another worker has a claim that has not expired."""
        path = self._path(base, model, part)
        try:
            answer = self._connection.ask("GET", path, routing=_routing(model, part))
        except NotFoundError:
            return self._create(path, Claim(base, model, part, owner, 0, (0, 0)))
        state = int(answer["_seq_no"]), int(answer["_primary_term"])
        seen, since = self._seen.get(path, (None, 0.0))
        if seen != state:
            self._seen[path] = state, self._clock()
            return None
        if self._clock() - since < EXPIRY_SECONDS:
            return None
        beat = int(answer["_source"]["beat"]) + 1
        return self._swapped(path, Claim(base, model, part, owner, beat, state))

    def renew(self, claim: Claim) -> Claim | None:
        """Renew a claim; None if another worker has taken it over."""
        kept_claim = Claim(claim.base, claim.model, claim.part, claim.owner, claim.beat + 1, claim.state)
        return self._swapped(self._path(claim.base, claim.model, claim.part), kept_claim)

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
