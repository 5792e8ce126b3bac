"""Writes the pages of a base to a cluster, for the tailer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster.shared_index import BranchPosition, IndexDifferences, SharedBase, SharedPage
from commonplace.domain.errors import UnavailableError
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.shared.opensearch.comparison import compare, section_ordinals
from commonplace.index.shared.opensearch.connection import BULK_SECONDS, Connection
from commonplace.index.shared.opensearch.documents import page_document, section_documents, text_of
from commonplace.index.shared.opensearch.indexes import BaseIndexes, Generations
from commonplace.index.shared.opensearch.layout import STATE_ID, page_key
from commonplace.index.shared.opensearch.vectors.writer import ChunkWriter

BULK_PAGES = 200
BULK_CHARS = 4_000_000
"""Number of characters at which a bulk is sent; `BULK_PAGES` is the maximum number of pages."""

Line = Mapping[str, Any]


class ClusterWriter:
    """`domain.cluster.shared_index.SharedIndexWriter`.

    Args:
        connection: The cluster.
        prefix: Prefix of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._indexes = BaseIndexes(connection, prefix)
        self._generations = Generations(connection, self._indexes)
        self._chunks = ChunkWriter(connection, self._indexes)
        self._analyze = words_analyzer().analyze

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation, and wait until its replicas exist."""
        return self._generations.begin(base)

    def publish(self, base: SharedBase, generation: int) -> None:
        """Move the alias in one call, then delete the earlier generations."""
        self._generations.publish(base, generation)

    def put(self, base: SharedBase, number: int, pages: Iterable[SharedPage], generation: int | None = None) -> None:
        """Index pages with all their sections, in bulks."""
        index = self._indexes.of(base, generation)
        for group in _grouped(pages):
            before = self._ordinals(index, [page.record.address for page in group])
            target = self._indexes.to_write(base, generation)
            self._connection.bulk(target, self._put_lines(group, number, before), only_alias=True)
            if base.meaning:
                self._chunks.put(base, group)

    def remove(
        self, base: SharedBase, addresses: Iterable[Address], number: int, generation: int | None = None
    ) -> None:
        """Remove pages with all their sections."""
        index = self._indexes.of(base, generation)
        left = iter(addresses)
        while group := list(islice(left, BULK_PAGES)):
            known = self._ordinals(index, group)
            lines = [line for key, ordinals in known.items() for line in _deletions(key, ordinals, number, page=True)]
            if lines:
                self._connection.bulk(self._indexes.to_write(base, generation), lines, only_alias=True)
            if base.meaning:
                self._chunks.remove(base, group)

    def advance(self, base: SharedBase, position: BranchPosition, generation: int | None = None) -> None:
        """Make the writes searchable, then write the position."""
        index = self._indexes.of(base, generation)
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        document = {"position": position.number, "commit": position.commit}
        lines = [_action("index", STATE_ID, STATE_ID, position.number), document]
        self._connection.bulk(self._indexes.to_write(base, generation), lines, only_alias=True)

    def drop(self, base: SharedBase) -> None:
        """Delete all generations of a base."""
        for name in self._indexes.generations(base).values():
            self._generations.delete(name)
        self._chunks.drop(base)
        self._indexes.forget(base)

    def verify(
        self, base: SharedBase, expected: Mapping[Address, Revision], generation: int | None = None
    ) -> IndexDifferences:
        """Compare the index with the pages of a base."""
        index = self._indexes.of(base, generation)
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        found = compare(self._connection, index, expected)
        if not base.meaning:
            return found
        chunks = self._chunks.compare(base, expected)
        outdated = found.outdated | chunks.outdated
        return IndexDifferences(found.missing | chunks.missing - outdated, outdated, found.surplus | chunks.surplus)

    def _put_lines(self, pages: Iterable[SharedPage], number: int, before: Mapping[str, set[int]]) -> Iterator[Line]:
        for page in pages:
            key, text = page_key(page.record.address.path), text_of(page)
            yield from _deletions(key, before.get(key, set()) - {at for at, _ in text.sections}, number)
            for ordinal, document in section_documents(page, text, self._analyze):
                yield _action("index", f"{key}-{ordinal}", key, number)
                yield document
            yield _action("index", key, key, number)
            yield page_document(page, text, self._analyze)

    def _ordinals(self, index: str, addresses: Iterable[Address]) -> dict[str, set[int]]:
        """Ordinals of the stored sections of these pages, by page; unknown pages are omitted.

        They are read from each page's document, and from the searchable sections in case that document is missing.
        """
        keys = [page_key(address.path) for address in addresses]
        if not keys:
            return {}
        asked = [{"_id": key, "routing": key} for key in keys]
        found = self._connection.ask("POST", f"/{index}/_mget", {"docs": asked}, _source="ordinals")["docs"]
        if any("error" in one for one in found):
            raise UnavailableError("The search cluster cannot read an index.", kind="engine", hint="It is tried again.")
        known = {one["_id"]: set(one["_source"]["ordinals"]) for one in found if one.get("found")}
        for key, ordinal in section_ordinals(self._connection, index, keys):
            known.setdefault(key, set()).add(ordinal)
        return known


def _grouped(pages: Iterable[SharedPage]) -> Iterator[list[SharedPage]]:
    """Pages in groups, each for one bulk."""
    group: list[SharedPage] = []
    size = 0
    for page in pages:
        group.append(page)
        size += len(page.document.raw)
        if len(group) >= BULK_PAGES or size >= BULK_CHARS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _deletions(key: str, ordinals: Iterable[int], number: int, *, page: bool = False) -> Iterator[Line]:
    for ordinal in sorted(ordinals):
        yield _action("delete", f"{key}-{ordinal}", key, number)
    if page:
        yield _action("delete", key, key, number)


def _action(kind: str, identifier: str, routing: str, number: int) -> Line:
    version = {"version": number, "version_type": "external_gte"}
    return {kind: {"_id": identifier, "routing": routing, **version}}
