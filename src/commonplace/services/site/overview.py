"""The overview of a collection: its hubs, folders, tags and types, and its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.findings import SEVERITIES
from commonplace.domain.query import Counts, Filter, Record
from commonplace.services import links as document_links
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue, collection_issues
from commonplace.services.links import WantedPage
from commonplace.services.site.documents import BoundedCache, PerState, records, state_of

MAX_HUBS = 8
"""Maximum number of hubs that are shown."""
MIN_HUB_LINKS = 2
"""Minimum number of documents that link to a hub."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A document to which many others link."""

    record: Record
    links: int
    """Number of documents that link to the hub."""


@dataclass(frozen=True, slots=True)
class CollectionOverview:
    """Overview of a collection."""

    counts: Counts
    tags: tuple[tuple[str, int], ...]
    """Tags with their number of documents, most frequent first."""
    hubs: tuple[Hub, ...]


def _overview(collection: Collection) -> CollectionOverview:
    index = collection.index
    top = [(address, count) for address, count in index.hubs(MAX_HUBS) if count >= MIN_HUB_LINKS]
    found_records = {record.address: record for record in records(collection, [address for address, _ in top])}
    hubs = tuple(Hub(found_records[address], count) for address, count in top if address in found_records)
    return CollectionOverview(index.counts(), tuple(index.tags(Filter())), hubs)


OVERVIEWS = PerState(_overview)
"""The overview of each collection."""


def wanted_pages(collections: Collections, collection: Collection) -> Sequence[WantedPage]:
    """The wanted pages of a collection, cached until one of the collections changes."""
    key = collection.store.identity, tuple(map(state_of, collections))
    pages = _WANTED.get(key)
    return pages if pages is not None else _WANTED.put(key, document_links.wanted_pages(collections, collection), 1)


def _orphans(collection: Collection) -> tuple[Record, ...]:
    return tuple(document_links.orphans(collection))


ORPHANS = PerState(_orphans)
"""Documents of each collection that no other document links to."""


@dataclass(frozen=True, slots=True)
class IssueRow:
    """An issue with the title of its page."""

    issue: Issue
    title: str
    """The page's title; the path of another file."""
    is_document: bool


def issues(collections: Collections, collection: Collection, *, read: bool) -> tuple[IssueRow, ...]:
    """The issues of a collection, most severe first, cached until it changes.

    Args:
        collections: All collections that the reader may see.
        collection: One of them.
        read: Whether to read every page; without it, the rules about texts and attachments are left out.
    """
    key = (collection.store.identity, tuple(map(state_of, collections)), datetime.now(UTC).date(), read)
    return _ISSUES.get(key) or _ISSUES.put(key, _issues(collections, collection, read=read), 1)


def _issues(collections: Collections, collection: Collection, *, read: bool) -> tuple[IssueRow, ...]:
    every = collection_issues(collections, collection, read=read)
    named = {Address(issue.path) for issue in every}
    titles = {record.address.path: record.title for record in records(collection, sorted(named))}
    rows = [IssueRow(issue, titles.get(issue.path, issue.path), issue.path in titles) for issue in every]
    return tuple(sorted(rows, key=lambda row: (SEVERITIES.index(row.issue.severity), row.issue.path, row.issue.line)))


MAX_READ_PAGES = 1_000
"""Maximum number of pages of a collection that are all read without a request to; it takes about 0.2 s."""
MAX_CACHED = 8
"""Maximum number of lists of issues, and of wanted pages, that are cached."""
_ISSUES: BoundedCache[tuple[IssueRow, ...]] = BoundedCache(MAX_CACHED)
_WANTED: BoundedCache[Sequence[WantedPage]] = BoundedCache(MAX_CACHED)
