"""Names, settings and mapping of the indexes of chunks.

A base whose vectors are in the cluster has one such index in addition to its generations. The index outlives the
generations, because vectors are far more expensive than all other data. It has a document for each chunk (its text, the
page's fields for filters, and a vector for each model), one for each page (the list of its chunks), and one for each
claim.
"""

from __future__ import annotations

import hashlib
from typing import Any

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.errors import UnavailableError
from commonplace.index.shared.opensearch.layout import PROPERTIES

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
