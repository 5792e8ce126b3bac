"""The indexes of bases in a cluster: their names and mappings, their documents, and creating and publishing them."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any

from commonplace.domain.addresses import Address, fold
from commonplace.domain.cluster import BranchPosition, SharedBase, SharedPage
from commonplace.domain.documents import Outline
from commonplace.domain.errors import KnowledgeError, NotFoundError, UnavailableError
from commonplace.domain.query import Record
from commonplace.domain.query_parser import Analyze
from commonplace.domain.ranking import K1, B
from commonplace.domain.records import day_number, fields_from_json, record_to_json
from commonplace.domain.words.grams import grams, tokens, without_grams
from commonplace.domain.words.scripts import accented_words, fold_text
from commonplace.index.fulltext.document_text import DocumentText, document_text
from commonplace.index.fulltext.name_coverage import name_tokens, searchable_names
from commonplace.index.opensearch.connection import BULK_SECONDS, Connection

# The indexes of bases in a cluster: finds, checks, creates, publishes and deletes them.


GREEN_SECONDS = 60
"""Timeout in seconds for the replicas of a new index. Writes acknowledged before exist in one copy only."""
BUILD_SECONDS = 90.0
"""Seconds without writes after which an unpublished index no longer counts as being built by another server."""
INVALID = 400
ABSENT_SECONDS = 0.5
"""Seconds between the two answers that must both say that a base has no index."""
CHECKED_SECONDS = 30.0
"""Validity in seconds of a check that an index belongs to this program."""


class BaseIndexes:
    """Finds and checks the indexes of bases. Thread-safe.

    Args:
        connection: The cluster.
        prefix: Prefix of the names of all indexes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self._connection = connection
        self._prefix = prefix
        self._checked: dict[str, float] = {}
        self._lock = Lock()

    def alias(self, base: SharedBase) -> str:
        """The alias by which a base is searched."""
        return alias_of(self._prefix, base)

    def published(self, base: SharedBase) -> str:
        """The alias by which a base is searched, after a check of its index.

        Raises:
            NotFoundError: kind "engine": nothing is published.
            UnavailableError: kind "engine": the alias names several indexes, or one that this version cannot use.
        """
        alias = self.alias(base)
        with self._lock:
            seen = self._checked.get(f"{alias} {base.source}")
        if seen is None or time.monotonic() - seen > CHECKED_SECONDS:
            answer = self._connection.ask("GET", f"/{alias}/_mapping")
            for element in answer.values():
                check(element["mappings"], base)
            if len(answer) > 1:
                raise _several()
            with self._lock:
                self._checked[f"{alias} {base.source}"] = time.monotonic()
        return alias

    def forget(self, base: SharedBase) -> None:
        """Invalidate the cached check of the base's index."""
        with self._lock:
            self._checked.pop(f"{self.alias(base)} {base.source}", None)

    def of(self, base: SharedBase, generation: int | None) -> str:
        """The index of a generation; for None, the alias of the published index."""
        return self.published(base) if generation is None else index_of(self.alias(base), generation)

    def to_write(self, base: SharedBase, generation: int | None) -> str:
        """The alias for writes to a generation; for None, that of the published index."""
        return self.published(base) if generation is None else writes_of(index_of(self.alias(base), generation))

    def generations(self, base: SharedBase) -> dict[int, str]:
        """All indexes of a base by generation.

        Raises:
            UnavailableError: kind "engine": an index with one of these names, or the alias's, is not this base's.
        """
        alias = self.alias(base)
        answer = self._connection.ask("GET", f"/{alias},{alias}-*/_mapping", ignore_unavailable="true")
        for index in answer.values():
            check_replaceable(index["mappings"], base)
        numbered = ((generation_of(alias, name), name) for name in answer)
        return {number: name for number, name in numbered if number is not None}

    def searched(self, base: SharedBase) -> set[int]:
        """The generations that the alias names; normally one, or none."""
        alias = self.alias(base)
        try:
            answer = self._connection.ask("GET", f"/_alias/{alias}")
        except NotFoundError:
            return set()
        return {number for name in answer if (number := generation_of(alias, name)) is not None}

    def through(self, base: SharedBase) -> BranchPosition | None:
        """The branch position that the published index has reached; None if there is no index or it is incomplete.

        A cluster that restarts does not know its indexes between the election of a manager and the recovery of its
        state. Absence counts only if a recovered cluster says it twice.

        Raises:
            UnavailableError: kind "engine": as from `published`; or the cluster has not recovered its indexes.
        """
        for attempt in range(2):
            try:
                answer = self._connection.ask("GET", f"/{self.published(base)}/_doc/{STATE_ID}", routing=STATE_ID)
                source = answer["_source"]
                return BranchPosition(int(source["position"]), str(source["commit"]))
            except NotFoundError:
                self.forget(base)
                self._require_recovered(base)
            if not attempt:
                time.sleep(ABSENT_SECONDS)
        return None

    def _require_recovered(self, base: SharedBase) -> None:
        """Check that the cluster has recovered all indexes of a base, whichever alias they have.

        Raises:
            UnavailableError: kind "engine": it has not.
        """
        indexes = f"/_cluster/health/{self.alias(base)}-*"
        status = self._connection.ask("GET", indexes, expand_wildcards="all", level="cluster").get("status")
        if status not in {"yellow", "green"}:
            raise UnavailableError(
                "The search cluster has not recovered its indexes.",
                kind="engine",
                hint="It is asked again; look at its nodes and its health if this persists.",
            )

    def require_answering(self, base: SharedBase) -> None:
        """Check that the published index can be searched as a whole, and has its position.

        Raises:
            NotFoundError, UnavailableError: kind "engine": it cannot.
        """
        index = self.published(base)
        self._connection.ask("GET", f"/{index}/_doc/{STATE_ID}", routing=STATE_ID)
        shards = self._connection.ask("POST", f"/{index}/_search", {"size": 1})["_shards"]
        if shards["failed"] or shards["successful"] != shards["total"]:
            raise UnavailableError(
                "The new index in the search cluster does not answer yet.", kind="engine", hint="It is asked again."
            )


class Generations:
    """Creates, publishes and deletes the generations of bases. Thread-safe.

    Args:
        connection: The cluster.
        indexes: The indexes of the same cluster.
    """

    def __init__(self, connection: Connection, indexes: BaseIndexes) -> None:
        self._connection = connection
        self._indexes = indexes
        self._lock = Lock()
        self._watched: dict[str, tuple[int, float]] = {}
        """Number of writes of each unpublished index of another server, and the time at which it was first seen."""

    def begin(self, base: SharedBase) -> int:
        """Create an empty generation, and wait until its replicas exist.

        Raises:
            UnavailableError: kind "engine"; if its context has `building`, another server is building a generation.
        """
        generations, searched = self._indexes.generations(base), self._indexes.searched(base)
        newest = max(generations, default=0)
        if newest > max(searched, default=0) and self._advances(generations[newest]):
            raise _built_by_another()
        generation = newest + 1
        index = index_of(self._indexes.alias(base), generation)
        body: dict[str, Any] = {**creation(base), "aliases": {writes_of(index): {}}}
        try:
            self._connection.ask("PUT", f"/{index}", body, seconds=BULK_SECONDS)
        except UnavailableError as error:
            if error.context.get("status") == INVALID and self._connection.exists(f"/{index}"):
                raise _built_by_another() from error
            raise
        self._connection.ask(
            "GET",
            f"/_cluster/health/{index}",
            wait_for_status="green",
            timeout=f"{GREEN_SECONDS}s",
            seconds=GREEN_SECONDS + 10.0,
        )
        return generation

    def publish(self, base: SharedBase, generation: int) -> None:
        """Move the alias in one call. Once the new index answers, delete the earlier ones that the alias does not name.

        Raises:
            UnavailableError: kind "engine": an index is not this base's, or the new one does not answer; the earlier
                ones are still there.
        """
        alias = self._indexes.alias(base)
        index = index_of(alias, generation)
        self._indexes.generations(base)  # raises unless all of these indexes are this base's
        actions = [
            {"remove": {"index": f"{alias}-*", "alias": alias, "must_exist": False}},
            {"add": {"index": index, "alias": alias}},
        ]
        self._connection.ask("POST", "/_aliases", {"actions": actions})
        self._indexes.forget(base)
        self._indexes.require_answering(base)
        searched = self._indexes.searched(base)
        for number, name in self._indexes.generations(base).items():
            if number < generation and number not in searched:
                self.delete(name)

    def delete(self, index: str) -> None:
        """Delete an index. Does nothing if another server has deleted it."""
        try:
            self._connection.ask("DELETE", f"/{index}", seconds=BULK_SECONDS)
        except KnowledgeError as error:
            if error.kind != "engine" or not isinstance(error, UnavailableError):
                return  # another server was faster
            raise

    def _advances(self, index: str) -> bool:
        """Whether another server is filling an index: its number of writes has changed within `BUILD_SECONDS`."""
        try:
            stats = self._connection.ask("GET", f"/{index}/_stats/indexing")
        except NotFoundError:
            return False
        counted = stats["_all"]["primaries"]  # empty until the index has started
        writes = int(counted["indexing"]["index_total"]) if counted else -1
        now = time.monotonic()
        with self._lock:
            before, since = self._watched.get(index, (-2, now))
            self._watched[index] = (writes, since if before == writes else now)
            return before != writes or now - since < BUILD_SECONDS


def _several() -> UnavailableError:
    return UnavailableError(
        "The alias in the search cluster names several indexes.",
        kind="engine",
        hint="It is built anew by the first server that sees it.",
        rebuild=1,
    )


def _built_by_another() -> UnavailableError:
    return UnavailableError(
        "Another server is building the index in the search cluster.",
        kind="engine",
        hint="It is used when it is there; until then this server searches by itself.",
        building=1,
    )


# Names, settings and mappings of the indexes, and the check that this version can use an index.
#
# Each base has an index for each generation, and an alias to the published one. An index has one document for each
# page, by which pages are ranked, filtered and counted, and one for each section, which locates the matches in a page.
# Their texts are in different fields, so that the statistics of BM25 are those of the ranked unit, as in the embedded
# index.


SCHEMA = 8
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
    "heading_words": _DICTIONARY,
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


# Converts pages to documents of the cluster, and parses stored fields.


MAX_SORTED_CHARS = 1000
"""Number of characters of a title, type or date that pages are sorted by. Longer tags are not counted."""


@dataclass(frozen=True, slots=True)
class HitSection:
    """The part of a section that a hit shows."""

    path: tuple[str, ...]
    anchor: str
    text: str


def page_document(page: SharedPage, text: DocumentText, analyze: Analyze) -> dict[str, Any]:
    """The document of a page."""
    record = page.record
    body, pairs = analyze(without_grams(text.body)), grams(text.body)
    return {
        "page": page_key(record.address.path),
        "path": storable(record.address.path),
        "shown": stored_record(record),
        "revision": record.revision,
        "first": Outline.of(page.document.sections).first_with_text(),
        "ordinals": [ordinal for ordinal, _ in text.sections],
        "filter_terms": [storable(term) for term in text.terms],
        "tags": [storable(tag) for tag in record.tags if len(tag) <= MAX_SORTED_CHARS],
        "kind": storable(record.type)[:MAX_SORTED_CHARS],
        **dict(text.numbers),
        "created_day": day_number(record.created),
        "updated_day": day_number(record.updated),
        "sort_title": storable(record.title.casefold())[:MAX_SORTED_CHARS],
        "sort_type": storable(fold(record.type))[:MAX_SORTED_CHARS],
        "sort_date": storable(record.date)[:MAX_SORTED_CHARS],
        "sort_created": record.created,
        "sort_updated": record.updated,
        "title": _tokens(analyze(without_grams(text.title))),
        "names": _tokens(_name_tokens(record, analyze)),
        "body": _tokens(body),
        "grams": _tokens(tokens(text.body, analyze)),
        "accented": _tokens(accented_words(text.body)),
        "body_terms": list(dict.fromkeys(map(token, body))),
        "grams_terms": list(dict.fromkeys(pairs)),
    }


def section_documents(page: SharedPage, text: DocumentText, analyze: Analyze) -> Iterator[tuple[int, dict[str, Any]]]:
    """Ordinal and document of each section."""
    document = page.document
    outline = Outline.of(document.sections)
    names = _name_tokens(page.record, analyze)
    for ordinal, words in text.sections:
        path = outline.path(ordinal)
        written = document.source[outline.shown_text(ordinal)].decode("utf-8", "replace")
        shown = (path, outline.anchor(ordinal), written, document.address.path)
        headings = [name_tokens(fold_text(heading), analyze) for heading in path]
        yield (
            ordinal,
            {
                "page": page_key(document.address.path),
                "shown": json.dumps(shown),
                "ordinal": ordinal,
                "section_names": _tokens([*names, *chain.from_iterable(headings)]),
                "heading_words": list(dict.fromkeys(map(token, headings[-1]))) if headings else [],
                "section_body": _tokens(analyze(without_grams(words))),
                "section_grams": _tokens(grams(words)),
                "section_accented": _tokens(accented_words(words)),
            },
        )


def _name_tokens(record: Record, analyze: Analyze) -> list[str]:
    return name_tokens(searchable_names(record.address, record.title, record.aliases), analyze)


def text_of(page: SharedPage) -> DocumentText:
    """The searchable texts of a page."""
    return document_text(page.document, page.record)


def shown_section(stored: str) -> HitSection:
    """Parse the stored field `shown` of a section's document."""
    path, anchor, text, _ = json.loads(stored)
    return HitSection(tuple(path), anchor, text)


def address_of_section(stored: str) -> Address:
    """The page of a section, from the stored field `shown` of the section's document."""
    return Address(json.loads(stored)[3])


def stored_record(record: Record) -> str:
    """The fields of a record that a hit shows, as JSON."""
    return json.dumps({"path": record.address.path, **record_to_json(record)})


def shown_record(stored: str) -> Record:
    """Parse the result of `stored_record`."""
    values: dict[str, Any] = json.loads(stored)
    return Record(address=Address(values.pop("path")), **fields_from_json(values))


def _tokens(words: Sequence[str]) -> str:
    return " ".join(map(token, words))


def storable(text: str) -> str:
    """The text as valid Unicode. A file's name may be invalid; stored fields contain it as escaped JSON."""
    return text.encode("utf-8", "replace").decode()
