"""Names, settings and mappings of the indexes, and the check that this version can use an index.

Each base has an index for each generation, and an alias to the published one. An index has one document for each page,
by which pages are ranked, filtered and counted, and one for each section, which locates the matches in a page. Their
texts are in different fields, so that the statistics of BM25 are those of the ranked unit, as in the embedded index.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from commonplace.domain.cluster.shared_index import SharedBase
from commonplace.domain.errors import UnavailableError
from commonplace.domain.ranking import K1, B

SCHEMA = 5
"""Version of the documents and their fields; incremented with every change."""
MAX_TOKEN_CHARS = 120
"""Maximum length of an indexed token; longer ones are indexed by digest. The engine cuts at 255 units of UTF-16."""
MAX_WINDOW = 1_000_000
"""Maximum offset plus size of a page of results."""
STATE_ID = "state"
_UNSUITED = re.compile(r"[^a-z0-9]+")
_GENERATION = "{:06d}"

_TOKENS = {"type": "text", "analyzer": "whitespace"}
_COUNTED = {**_TOKENS, "index_options": "freqs"}
_NAMES = {**_TOKENS, "index_options": "docs", "norms": False}
_VALUE = {"type": "keyword"}
_SHOWN = {"type": "keyword", "index": False, "doc_values": False}
_DICTIONARY = {"type": "keyword", "index": False}
"""Mapping of the distinct terms of a page, from which the terms with a prefix are listed."""

PROPERTIES: dict[str, Any] = {
    # Fields of both kinds of documents.
    "page": _VALUE,
    "shown": _SHOWN,
    # Fields of pages.
    "path": _VALUE,
    "revision": {"type": "keyword", "index": False},
    "first": {"type": "integer", "index": False},
    "ordinals": {"type": "integer", "index": False},
    "filter_terms": {"type": "keyword", "doc_values": False},
    "tags": _VALUE,
    "kind": _VALUE,
    **{name: {"type": "integer"} for name in ("day", "created_day", "updated_day")},
    **{name: {"type": "long"} for name in ("created_at", "updated_at")},
    **{f"sort_{name}": {"type": "keyword", "index": False} for name in ("title", "type", "date", "created", "updated")},
    "title": _TOKENS,
    "names": _NAMES,
    "body": _TOKENS,
    "grams": _TOKENS,
    "accented": _COUNTED,
    "body_terms": _DICTIONARY,
    "grams_terms": _DICTIONARY,
    # Fields of sections.
    "ordinal": {"type": "integer"},
    "section_names": _NAMES,
    "section_body": _COUNTED,
    "section_grams": _COUNTED,
    "section_accented": _COUNTED,
    # Fields of the document with the base's position.
    "position": {"type": "long", "index": False},
    "commit": {"type": "keyword", "index": False},
}
STORED = ("page", "path", "shown", "revision", "first", "ordinals", "ordinal", "position", "commit")
"""Fields whose values are stored; the others are only indexed."""


def alias_of(prefix: str, base: SharedBase) -> str:
    """The alias by which a base is searched."""
    readable = _UNSUITED.sub("-", base.name.lower()).strip("-")[:60]
    digest = hashlib.sha256(base.name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{prefix}-{readable}-{digest}" if readable else f"{prefix}-{digest}"


def index_of(alias: str, generation: int) -> str:
    """The index of a generation."""
    return f"{alias}-{_GENERATION.format(generation)}"


def writes_of(index: str) -> str:
    """The alias for writes to a generation.

    A write to a missing index would make the engine create it with a default mapping; it never creates an alias.
    """
    return f"{index}-writes"


def generation_of(alias: str, index: str) -> int | None:
    """The generation of an index; None for an index that belongs to another alias."""
    number = index.removeprefix(f"{alias}-")
    return int(number) if index.startswith(f"{alias}-") and number.isdecimal() and number.isascii() else None


def page_key(path: str) -> str:
    """Id of a page's document, and prefix of the ids of its sections. A digest, because ids are shorter than paths."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def token(word: str) -> str:
    """A word as a term of the engine."""
    if len(word) <= MAX_TOKEN_CHARS:
        return word
    return hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()


def creation(base: SharedBase) -> dict[str, Any]:
    """Body of the request that creates an index."""
    return {
        "settings": {
            "index": {
                "number_of_shards": 1,
                "auto_expand_replicas": "0-1",
                # Writes become searchable only by an explicit refresh, before the position is written.
                "refresh_interval": "-1",
                # Retention of deleted versions, so that an older write does not restore a document.
                "gc_deletes": "1h",
                "max_result_window": MAX_WINDOW,
                # Many retries, because a node may still hold the lock of a shard that it had begun to copy.
                "allocation.max_retries": 60,
                "similarity.default": {"type": "BM25", "k1": K1, "b": B},
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_routing": {"required": True},
            "_source": {"includes": sorted(STORED)},
            "_meta": {"product": "commonplace", "schema": SCHEMA, "source": base.source},
            "properties": PROPERTIES,
        },
    }


def check(mappings: dict[str, Any], base: SharedBase) -> None:
    """Check that an index belongs to this program, this base and this version.

    Raises:
        UnavailableError: kind "engine": it does not.
    """
    check_replaceable(mappings, base)
    if mappings["_meta"]["schema"] < SCHEMA:
        raise _refused(
            "was made by an older version", "It is built anew by the first server of this version.", rebuild=1
        )
    if mappings.get("properties") != PROPERTIES or mappings.get("dynamic") != "strict":
        raise _refused(
            "was changed by hand: its mapping differs", "Delete the index; a server that follows the base makes it."
        )


def check_replaceable(mappings: dict[str, Any], base: SharedBase) -> None:
    """Check that an index may be replaced: it belongs to this program and this base, and not to a newer version.

    Raises:
        UnavailableError: kind "engine": it may not be replaced.
    """
    meta = mappings.get("_meta", {})
    if meta.get("product") != "commonplace":
        raise _refused("is not one of this program", "Set engine_prefix to a name that nothing else uses.")
    if meta.get("source") != base.source:
        raise _refused(
            "belongs to another base of this name",
            "Give each cluster of servers an engine_prefix of its own, or each base a name of its own.",
        )
    schema = meta.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise _refused("was made by a newer version", "Upgrade this server. Until then it searches by itself.")


def _refused(what: str, hint: str, rebuild: int = 0) -> UnavailableError:
    said = f"The index in the search cluster {what}."
    return UnavailableError(said, kind="engine", hint=hint, retryable=0, rebuild=rebuild)
