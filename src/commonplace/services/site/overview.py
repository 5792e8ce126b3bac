"""The overview of a collection: its hubs, folders, tags and types, and its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import Address
from commonplace.domain.findings import SEVERITIES
from commonplace.domain.query import Counts, Filter, Record
from commonplace.services import links as document_links
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import Issue, collection_issues
from commonplace.services.links import WantedPage
from commonplace.services.site.documents import PerState, records, state_of

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


@dataclass(frozen=True, slots=True)
class WantedPages:
    """The wanted pages of a collection."""

    pages: Sequence[WantedPage]
    links: int
    """Number of all links to them."""


def wanted_pages(collections: Collections, collection: Collection) -> WantedPages:
    """The wanted pages of a collection, cached until one of the collections changes."""
    key = collection.store.identity, tuple(map(state_of, collections))
    cached = _WANTED.get(key)
    if cached is not None:
        return cached
    pages = document_links.wanted_pages(collections, collection)
    return _WANTED.put(key, WantedPages(pages, sum(wanted_page.links for wanted_page in pages)), 1)


def nearest_names(collection: Collection, name: str) -> Sequence[str]:
    """The ids most similar to a wrong name, at most two; cached, because names are compared letter by letter."""
    key = collection.store.identity, collection.index.generation, name
    cached = _NEAREST.get(key)
    return cached if cached is not None else _NEAREST.put(key, tuple(collection.index.nearest(name, 2)), 1)


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


@dataclass(frozen=True, slots=True)
class Issues:
    """The issues of a collection, most severe first."""

    rows: tuple[IssueRow, ...]
    counts: Mapping[str, int]
    """Number of issues by severity, most severe first."""

    def of(self, severity: str) -> Sequence[IssueRow]:
        """The issues of one severity; all for ""."""
        return [row for row in self.rows if row.issue.severity == severity] if severity else self.rows


def issues(collections: Collections, collection: Collection, *, read: bool) -> Issues:
    """The issues of a collection, cached until it changes.

    Args:
        collections: All collections that the reader may see.
        collection: One of them.
        read: Whether to read every page; without it, the rules about texts and attachments are left out.
    """
    key = (collection.store.identity, tuple(map(state_of, collections)), datetime.now(UTC).date(), read)
    cached = _ISSUES.get(key)
    return cached if cached is not None else _ISSUES.put(key, _issues(collections, collection, read=read), 1)


def _issues(collections: Collections, collection: Collection, *, read: bool) -> Issues:
    every = collection_issues(collections, collection, read=read)
    named = {Address(issue.path) for issue in every}
    titles = {record.address.path: record.title for record in records(collection, sorted(named))}
    rows = [IssueRow(issue, titles.get(issue.path, issue.path), issue.path in titles) for issue in every]
    rows.sort(key=lambda row: (SEVERITIES.index(row.issue.severity), row.issue.path, row.issue.line))
    return Issues(tuple(rows), Counter(row.issue.severity.value for row in rows))


MAX_READ_PAGES = 1_000
"""Maximum number of pages of a collection that are all read without a request to; it takes about 0.2 s."""
MAX_CACHED = 8
"""Maximum number of lists of issues, and of wanted pages, that are cached."""
_ISSUES: BoundedCache[Issues] = BoundedCache(MAX_CACHED)
_WANTED: BoundedCache[WantedPages] = BoundedCache(MAX_CACHED)
MAX_CACHED_NAMES = 2_000
"""Maximum number of wrong names whose nearest ids are cached."""
_NEAREST: BoundedCache[Sequence[str]] = BoundedCache(MAX_CACHED_NAMES)
