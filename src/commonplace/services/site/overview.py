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
"""Hubs that are shown."""
MIN_HUB_LINKS = 2
"""Documents that link to a hub, at least."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A document to which many others link."""

    record: Record
    links: int
    """How many documents link to it."""


@dataclass(frozen=True, slots=True)
class CollectionOverview:
    """A collection at a glance."""

    counts: Counts
    tags: tuple[tuple[str, int], ...]
    """Tags and in how many documents, commonest first."""
    hubs: tuple[Hub, ...]


def _overview(collection: Collection) -> CollectionOverview:
    index = collection.index
    linked = Counter(target for source, target in index.links() if source != target)
    top = [(address, count) for address, count in linked.most_common(MAX_HUBS) if count >= MIN_HUB_LINKS]
    found = {one.address: one for one in records(collection, [address for address, _ in top])}
    hubs = tuple(Hub(found[address], count) for address, count in top if address in found)
    return CollectionOverview(index.counts(), tuple(index.tags(Filter())), hubs)


OVERVIEWS = PerState(_overview)
"""Each collection at a glance."""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page that links name and that does not exist."""

    name: str
    """As the first link writes it, without its fragment."""
    sources: tuple[Address, ...]
    """The documents that link to it, by path."""


def _wanted(collection: Collection) -> tuple[WantedPage, ...]:
    wanting: dict[str, tuple[str, dict[Address, None]]] = {}
    for link in collection.index.broken():
        name = link.link.target or link.link.raw
        wanting.setdefault(fold(name), (name, {}))[1][link.source] = None
    wanted = [WantedPage(name, tuple(sources)) for name, sources in wanting.values()]
    return tuple(sorted(wanted, key=lambda one: (-len(one.sources), one.name)))


WANTED = PerState(_wanted)
"""Wanted pages of each collection, the most wanted first."""


def _orphans(collection: Collection) -> tuple[Record, ...]:
    return tuple(document_links.orphans(collection))


ORPHANS = PerState(_orphans)
"""Documents of each collection that no other links to."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """Something that is wrong with a document or another file."""

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
"""The same with what `check` finds by reading every document: out of date, said twice, dead anchors, secrets."""
