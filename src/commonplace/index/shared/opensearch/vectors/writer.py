"""Writes the chunks of pages to a cluster: the tailer writes texts, to which workers add vectors.

A chunk's id contains the digest of its text, so that an unchanged chunk of a changed page retains its vector.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster.shared_index import IndexDifferences, SharedBase, SharedPage
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.records import day_number
from commonplace.domain.semantic.chunks import chunked_revision, chunks_of, current_revision
from commonplace.index.shared.opensearch.comparison import BATCH, page_counts
from commonplace.index.shared.opensearch.connection import BULK_SECONDS, Connection
from commonplace.index.shared.opensearch.documents import storable, text_of
from commonplace.index.shared.opensearch.indexes import BaseIndexes
from commonplace.index.shared.opensearch.layout import page_key
from commonplace.index.shared.opensearch.vectors.layout import (
    NUMBERS,
    PART_DIGITS,
    check_chunks,
    chunk_creation,
    owner_digest,
    vectors_of,
)

Line = Mapping[str, Any]


class ChunkWriter:
    """Writes the chunks of bases. Thread-safe.

    Args:
        connection: The cluster.
        indexes: The indexes of bases.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._checked: set[SharedBase] = set()

    def put(self, base: SharedBase, pages: Sequence[SharedPage]) -> None:
        """Write the chunks of pages. Existing chunks with the same text retain their vectors."""
        index = self._ensured(base)
        keys = [page_key(page.record.address.path) for page in pages]
        known = self._known(index, keys)
        lines = [line for key, page in zip(keys, pages, strict=True) for line in _put(key, page, known.get(key, {}))]
        if lines:
            self._connection.bulk(index, lines)

    def remove(self, base: SharedBase, addresses: Iterable[Address]) -> None:
        """Remove the chunks of pages."""
        index = self._ensured(base)
        known = self._known(index, [page_key(address.path) for address in addresses])
        lines = [line for key, page in known.items() for line in _deletions(key, [*page["keys"], ""])]
        if lines:
            self._connection.bulk(index, lines)

    def compare(self, base: SharedBase, expected: Mapping[Address, Revision]) -> IndexDifferences:
        """The differences between the chunks and the pages of a base, by revision and number of chunks."""
        index = self._ensured(base)
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        counts = dict(page_counts(self._connection, index, "number"))
        wanted = {page_key(address.path): (address, revision) for address, revision in expected.items()}
        missing: set[Address] = set()
        outdated: set[Address] = set()
        surplus: set[Address] = set()
        for source in self._pages(index):
            address, revision = wanted.pop(source["page"], (None, ""))
            if address is None:
                surplus.add(Address(json.loads(source["state"])[0]))
            elif revision != current_revision(source["revision"]):
                outdated.add(address)
            elif counts.get(source["page"], 0) != len(source["keys"]):
                missing.add(address)
        missing |= {address for address, _ in wanted.values()}
        return IndexDifferences(frozenset(missing), frozenset(outdated), frozenset(surplus))

    def drop(self, base: SharedBase) -> None:
        """Delete the chunks of a base, if there are any."""
        self._checked.discard(base)
        index = vectors_of(self._indexes.alias(base))
        try:
            check_chunks(self._mappings(index), base)
            self._connection.ask("DELETE", f"/{index}", seconds=BULK_SECONDS)
        except NotFoundError:
            return

    def _ensured(self, base: SharedBase) -> str:
        """The index of a base's chunks; created if it does not exist."""
        index = vectors_of(self._indexes.alias(base))
        if base in self._checked and self._connection.exists(f"/{index}"):
            return index
        try:
            check_chunks(self._mappings(index), base)
        except NotFoundError:
            try:
                self._connection.ask("PUT", f"/{index}", chunk_creation(base), seconds=BULK_SECONDS)
            except KnowledgeError:
                check_chunks(self._mappings(index), base)  # another server has created it; otherwise the check fails
        self._checked.add(base)
        return index

    def _mappings(self, index: str) -> dict[str, Any]:
        (found,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        return found["mappings"]

    def _known(self, index: str, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The stored documents of pages, by key; unknown pages are omitted."""
        if not keys:
            return {}
        asked = [{"_id": key, "routing": key} for key in keys]
        found = self._connection.ask("POST", f"/{index}/_mget", {"docs": asked})["docs"]
        return {one["_id"]: one["_source"] for one in found if one.get("found")}

    def _pages(self, index: str) -> Iterator[dict[str, Any]]:
        body: dict[str, Any] = {"size": BATCH, "query": {"exists": {"field": "chunks"}}, "sort": [{"page": "asc"}]}
        while True:
            hits = self._connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)["hits"]["hits"]
            for hit in hits:
                yield hit["_source"]
            if len(hits) < BATCH:
                return
            body["search_after"] = hits[-1]["sort"]


def _put(key: str, page: SharedPage, known: Mapping[str, Any]) -> Iterator[Line]:
    """The lines of a bulk that update the chunks of a page; none if they are current."""
    text, record = text_of(page), page.record
    chunks = {chunk.key.hex(): chunk for chunk in chunks_of(page.document)}
    numbers = {**text.numbers, "created_day": day_number(record.created), "updated_day": day_number(record.updated)}
    shared: dict[str, Any] = {
        "page": key,
        "path": storable(record.address.path),
        "part": key[:PART_DIGITS],
        "filter_terms": [storable(term) for term in text.terms],
        **{name: numbers.get(name) for name in NUMBERS},
        "of": len(chunks),
    }
    places = [(digest, chunk.ordinal) for digest, chunk in chunks.items()]
    # The state begins with the full path as escaped JSON, because a path may not be valid Unicode.
    state = json.dumps([record.address.path, owner_digest(json.dumps([shared, places]))])
    revision = chunked_revision(record.revision)
    if (known.get("revision"), known.get("state")) == (revision, state):
        return
    yield from _deletions(key, [digest for digest in known.get("keys", ()) if digest not in chunks])
    for number, (digest, chunk) in enumerate(chunks.items()):
        yield {"update": {"_id": f"{key}-{digest}", "routing": key, "retry_on_conflict": 5}}
        fields = {**shared, "ordinal": chunk.ordinal, "number": number, "text": storable(chunk.text)}
        yield {"doc": fields, "doc_as_upsert": True}
    yield {"index": {"_id": key, "routing": key}}
    yield {"page": key, "revision": revision, "state": state, "keys": list(chunks), "chunks": len(chunks)}


def _deletions(key: str, digests: Iterable[str]) -> Iterator[Line]:
    """Deletions of chunks, and of the page itself for an empty digest."""
    for digest in digests:
        yield {"delete": {"_id": f"{key}-{digest}" if digest else key, "routing": key}}
