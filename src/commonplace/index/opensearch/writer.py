"""Writes the pages of a base and their chunks to a cluster, for the tailer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster import (
    BranchPosition,
    IndexDifferences,
    LinkLabels,
    SharedBase,
    SharedPage,
    SharedResult,
    no_labels,
)
from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.domain.query import QuestionVector, SearchQuery
from commonplace.domain.records import day_number
from commonplace.domain.semantic import chunked_revision, chunks_of, current_revision
from commonplace.index.fulltext.tantivy_index import words_analyzer
from commonplace.index.opensearch.answers import BaseSearch, Meaning
from commonplace.index.opensearch.connection import BULK_SECONDS, ClusterAddress, Connection, run
from commonplace.index.opensearch.indexes import (
    STATE_ID,
    BaseIndexes,
    Generations,
    address_of_section,
    page_document,
    page_key,
    section_documents,
    shown_record,
    storable,
    text_of,
)
from commonplace.index.opensearch.queries import Vocabulary
from commonplace.index.opensearch.vectors import (
    NUMBERS,
    PART_DIGITS,
    ClusterVectors,
    ClusterWork,
    check_chunks,
    chunk_creation,
    owner_digest,
    vectors_of,
)

# Writes the pages of a base to a cluster, for the tailer.


BULK_PAGES = 200
BULK_CHARS = 4_000_000
"""Number of characters at which a bulk is sent; `BULK_PAGES` is the maximum number of pages."""

Line = Mapping[str, Any]


class ClusterWriter:
    """`domain.cluster.SharedIndexWriter`.

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
            ordinals = self._ordinals(index, group)
            lines = [
                line for key, ordinals in ordinals.items() for line in _deletions(key, ordinals, number, page=True)
            ]
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
        differences = compare(self._connection, index, expected)
        if not base.meaning:
            return differences
        chunks = self._chunks.compare(base, expected)
        outdated = differences.outdated | chunks.outdated
        return IndexDifferences(
            differences.missing | chunks.missing - outdated, outdated, differences.surplus | chunks.surplus
        )

    def count(self, base: SharedBase) -> int:
        """Number of pages in the published index."""
        index = self._indexes.of(base, None)
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        return int(self._connection.ask("POST", f"/{index}/_count", {"query": {"exists": {"field": "path"}}})["count"])

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
        requested_values = [{"_id": key, "routing": key} for key in keys]
        docs = self._connection.ask("POST", f"/{index}/_mget", {"docs": requested_values}, _source="ordinals")["docs"]
        if any("error" in doc for doc in docs):
            raise UnavailableError("The search cluster cannot read an index.", kind="engine", hint="It is tried again.")
        ordinals = {doc["_id"]: set(doc["_source"]["ordinals"]) for doc in docs if doc.get("found")}
        for key, ordinal in section_ordinals(self._connection, index, keys):
            ordinals.setdefault(key, set()).add(ordinal)
        return ordinals


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


# Writes the chunks of pages to a cluster: the tailer writes texts, to which workers add vectors.
#
# A chunk's id contains the digest of its text, so that an unchanged chunk of a changed page retains its vector.


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
        stored_pages = self._known(index, keys)
        lines = [
            line for key, page in zip(keys, pages, strict=True) for line in _put(key, page, stored_pages.get(key, {}))
        ]
        if lines:
            self._connection.bulk(index, lines)

    def remove(self, base: SharedBase, addresses: Iterable[Address]) -> None:
        """Remove the chunks of pages."""
        index = self._ensured(base)
        stored_pages = self._known(index, [page_key(address.path) for address in addresses])
        lines = [line for key, page in stored_pages.items() for line in _chunk_deletions(key, [*page["keys"], ""])]
        if lines:
            self._connection.bulk(index, lines)

    def compare(self, base: SharedBase, expected: Mapping[Address, Revision]) -> IndexDifferences:
        """The differences between the chunks and the pages of a base, by revision and number of chunks."""
        index = self._ensured(base)
        self._connection.ask("POST", f"/{index}/_refresh", seconds=BULK_SECONDS)
        counts = dict(page_counts(self._connection, index, "number"))
        pending = {page_key(address.path): (address, revision) for address, revision in expected.items()}
        missing: set[Address] = set()
        outdated: set[Address] = set()
        surplus: set[Address] = set()
        for source in self._pages(index):
            address, revision = pending.pop(source["page"], (None, ""))
            if address is None:
                surplus.add(Address(json.loads(source["state"])[0]))
            elif revision != current_revision(source["revision"]):
                outdated.add(address)
            elif counts.get(source["page"], 0) != len(source["keys"]):
                missing.add(address)
        missing |= {address for address, _ in pending.values()}
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
        (description,) = self._connection.ask("GET", f"/{index}/_mapping").values()
        return description["mappings"]

    def _known(self, index: str, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The stored documents of pages, by key; unknown pages are omitted."""
        if not keys:
            return {}
        requested_values = [{"_id": key, "routing": key} for key in keys]
        docs = self._connection.ask("POST", f"/{index}/_mget", {"docs": requested_values})["docs"]
        return {doc["_id"]: doc["_source"] for doc in docs if doc.get("found")}

    def _pages(self, index: str) -> Iterator[dict[str, Any]]:
        body: dict[str, Any] = {"size": BATCH, "query": {"exists": {"field": "chunks"}}, "sort": [{"page": "asc"}]}
        while True:
            hits = self._connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)["hits"]["hits"]
            for hit in hits:
                yield hit["_source"]
            if len(hits) < BATCH:
                return
            body["search_after"] = hits[-1]["sort"]


def _put(key: str, page: SharedPage, stored: Mapping[str, Any]) -> Iterator[Line]:
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
    if (stored.get("revision"), stored.get("state")) == (revision, state):
        return
    yield from _chunk_deletions(key, [digest for digest in stored.get("keys", ()) if digest not in chunks])
    for number, (digest, chunk) in enumerate(chunks.items()):
        yield {"update": {"_id": f"{key}-{digest}", "routing": key, "retry_on_conflict": 5}}
        fields = {**shared, "ordinal": chunk.ordinal, "number": number, "text": storable(chunk.text)}
        yield {"doc": fields, "doc_as_upsert": True}
    yield {"index": {"_id": key, "routing": key}}
    yield {"page": key, "revision": revision, "state": state, "keys": list(chunks), "chunks": len(chunks)}


def _chunk_deletions(key: str, digests: Iterable[str]) -> Iterator[Line]:
    """Deletions of chunks, and of the page itself for an empty digest."""
    for digest in digests:
        yield {"delete": {"_id": f"{key}-{digest}" if digest else key, "routing": key}}


# Compares a base's index in a cluster with the base.


BATCH = 2000
"""Maximum number of documents in one answer."""


def compare(connection: Connection, index: str, expected: Mapping[Address, Revision]) -> IndexDifferences:
    """The differences of an index from the pages of a base, by revision and number of sections.

    Pages are read in the order of their ids, so that concurrent changes do not affect the iteration. A partly visible
    change is reported as a difference; correcting it only repeats a write.
    """
    counts = dict(page_counts(connection, index, "ordinal"))
    missing: set[Address] = set()
    outdated: set[Address] = set()
    surplus: set[Address] = set()
    revisions = dict(expected)
    for key, source in _pages(connection, index):
        address = shown_record(source["shown"]).address
        revision = revisions.pop(address, None)
        sections = counts.pop(key, 0)
        if revision is None:
            surplus.add(address)
        elif revision != source["revision"]:
            outdated.add(address)
        elif sections != len(source["ordinals"]):
            missing.add(address)
    missing |= revisions.keys()
    # The sections of a page whose document is missing contain the page's path.
    lost = list(counts)
    for start in range(0, len(lost), BATCH):
        owners = _owners(connection, index, lost[start : start + BATCH])
        surplus |= owners - expected.keys()
    return IndexDifferences(frozenset(missing), frozenset(outdated), frozenset(surplus))


def _pages(connection: Connection, index: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Key and stored fields of every page."""
    body: dict[str, Any] = {
        "size": BATCH,
        "query": {"exists": {"field": "path"}},
        "sort": [{"page": "asc"}],
        "_source": ["page", "shown", "revision", "ordinals"],
    }
    while True:
        hits = connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)["hits"]["hits"]
        for hit in hits:
            yield hit["_source"]["page"], hit["_source"]
        if len(hits) < BATCH:
            return
        body["search_after"] = hits[-1]["sort"]


def _owners(connection: Connection, index: str, keys: Sequence[str]) -> set[Address]:
    """The pages with these keys, read from one section of each."""
    body = {
        "size": len(keys),
        "query": {"bool": {"filter": [{"terms": {"page": keys}}, {"exists": {"field": "ordinal"}}]}},
        "collapse": {"field": "page"},
        "_source": ["shown"],
    }
    hits = connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)["hits"]["hits"]
    return {address_of_section(hit["_source"]["shown"]) for hit in hits}


def section_ordinals(connection: Connection, index: str, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Key and ordinal of every searchable section of these pages."""
    body: dict[str, Any] = {
        "size": BATCH,
        "query": {"bool": {"filter": [{"terms": {"page": keys}}, {"exists": {"field": "ordinal"}}]}},
        "sort": [{"page": "asc"}, {"ordinal": "asc"}],
        "_source": False,
    }
    while True:
        hits = connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)["hits"]["hits"]
        for hit in hits:
            yield str(hit["sort"][0]), int(hit["sort"][1])
        if len(hits) < BATCH:
            return
        body["search_after"] = hits[-1]["sort"]


def page_counts(connection: Connection, index: str, part: str) -> Iterator[tuple[str, int]]:
    """Key of every page that has parts, and the number of parts.

    Args:
        connection: The cluster.
        index: The index.
        part: A field that the documents of parts have.
    """
    composite: dict[str, Any] = {"size": BATCH, "sources": [{"page": {"terms": {"field": "page"}}}]}
    body = {
        "size": 0,
        "query": {"exists": {"field": part}},
        "aggs": {"pages": {"composite": composite}},
    }
    while True:
        answer = connection.ask("POST", f"/{index}/_search", body, seconds=BULK_SECONDS)
        pages = answer["aggregations"]["pages"]
        for bucket in pages["buckets"]:
            yield str(bucket["key"]["page"]), int(bucket["doc_count"])
        if "after_key" not in pages:
            return
        composite["after"] = pages["after_key"]


# Searches of a cluster, and an open cluster: a reader and a writer that share one pool of connections.


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
