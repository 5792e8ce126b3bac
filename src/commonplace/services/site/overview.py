"""The overview of a collection: its hubs, folders, tags and types, and its findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Severity
from commonplace.domain.query import Counts, Filter, Record
from commonplace.services import links as document_links
from commonplace.services.collections import Collection
from commonplace.services.health.page_rules import health_findings
from commonplace.services.listing import every_document
from commonplace.services.site.derived import PerState
from commonplace.services.site.tree import records

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
    linked = Counter(target for source, target in index.links() if source != target)
    top = [(address, count) for address, count in linked.most_common(MAX_HUBS) if count >= MIN_HUB_LINKS]
    found = {one.address: one for one in records(collection, [address for address, _ in top])}
    hubs = tuple(Hub(found[address], count) for address, count in top if address in found)
    return CollectionOverview(index.counts(), tuple(index.tags(Filter())), hubs)


OVERVIEWS = PerState(_overview)
"""The overview of each collection."""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A missing page that links name."""

    name: str
    """The page's name in the first link, without the fragment."""
    sources: tuple[Address, ...]
    """The documents that link to the page, by path."""


def _wanted(collection: Collection) -> tuple[WantedPage, ...]:
    wanting: dict[str, tuple[str, dict[Address, None]]] = {}
    for link in collection.index.broken():
        name = link.link.target or link.link.raw
        wanting.setdefault(fold(name), (name, {}))[1][link.source] = None
    wanted = [WantedPage(name, tuple(sources)) for name, sources in wanting.values()]
    return tuple(sorted(wanted, key=lambda one: (-len(one.sources), one.name)))


WANTED = PerState(_wanted)
"""Wanted pages of each collection, those with most links first."""


def _orphans(collection: Collection) -> tuple[Record, ...]:
    return tuple(document_links.orphans(collection))


ORPHANS = PerState(_orphans)
"""Documents of each collection that no other document links to."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A finding in a document or another file."""

    path: str
    title: str
    is_document: bool
    rule: str
    severity: Severity
    message: str
    line: int


_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def _findings(collection: Collection) -> tuple[FindingRow, ...]:
    rows = [
        FindingRow(record.address.path, record.title, True, one.rule, one.severity, one.message, one.line)
        for record in collection.index.findings()
        for one in record.findings
    ]
    return tuple(sorted(rows, key=lambda row: (_ORDER[row.severity], row.path, row.line)))


FINDINGS = PerState(_findings)
"""Findings in the documents of each collection, most severe first."""


def _health(collection: Collection) -> tuple[FindingRow, ...]:
    every = list(every_document(collection))
    titles = {record.address: record.title for record in every}
    rows = [
        FindingRow(address.path, titles.get(address, address.path), address in titles, rule, severity, message, line)
        for address, line, rule, severity, message in health_findings(collection, every)
    ]
    rows += _findings(collection)
    return tuple(sorted(rows, key=lambda row: (_ORDER[row.severity], row.path, row.line)))


HEALTH = PerState(_health)
"""`FINDINGS` together with those that require reading every document: outdated or repeated texts, anchors, secrets."""
