"""Compares a base's index in a cluster with the base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.cluster.shared_index import IndexDifferences
from commonplace.index.shared.opensearch.connection import BULK_SECONDS, Connection
from commonplace.index.shared.opensearch.documents import address_of_section, shown_record

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
    wanted = dict(expected)
    for key, source in _pages(connection, index):
        address = shown_record(source["shown"]).address
        revision = wanted.pop(address, None)
        sections = counts.pop(key, 0)
        if revision is None:
            surplus.add(address)
        elif revision != source["revision"]:
            outdated.add(address)
        elif sections != len(source["ordinals"]):
            missing.add(address)
    missing |= wanted.keys()
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
        found = answer["aggregations"]["pages"]
        for bucket in found["buckets"]:
            yield str(bucket["key"]["page"]), int(bucket["doc_count"])
        if "after_key" not in found:
            return
        composite["after"] = found["after_key"]
