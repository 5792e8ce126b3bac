"""An overview of a folder of pages for new readers, and the graph of its links."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, pairwise
from operator import attrgetter

from commonplace.domain.addresses import Address, fold
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.findings import SEVERITIES
from commonplace.domain.query import Counts, Record
from commonplace.domain.snippets import strip_markdown
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection, Collections
from commonplace.services.findings import located_findings
from commonplace.services.health.page_rules import LocatedFinding
from commonplace.services.site.documents import state_of


@dataclass(frozen=True, slots=True)
class GraphStep:
    """One page of a path, and the direction of the link from the previous page."""

    address: Address
    forward: bool
    """Whether the previous page links to this one; False if this page links to the previous one."""


class LinkGraph:
    """The current resolved links between the pages of one collection."""

    def __init__(self, pairs: Iterable[tuple[Address, Address]]) -> None:
        self._out: dict[Address, list[Address]] = {}
        self._back: dict[Address, list[Address]] = {}
        for source, target in pairs:
            if source != target:
                self._out.setdefault(source, []).append(target)
                self._back.setdefault(target, []).append(source)

    def neighbours(self, address: Address, depth: int) -> list[tuple[Address, int]]:
        """The pages at most `depth` links away in either direction, with their distance.

        Nearest first, then by path.
        """
        distance = {address: 0}
        frontier = [address]
        for step in range(1, depth + 1):
            frontier = sorted({two for address in frontier for two in self._beside(address)} - distance.keys())
            distance |= dict.fromkeys(frontier, step)
        return sorted(
            ((address, far) for address, far in distance.items() if far),
            key=lambda addresses: (addresses[1], addresses[0]),
        )

    def path(self, start: Address, end: Address) -> list[GraphStep]:
        """The shortest path between two pages over links in either direction; [] if there is none."""
        came: dict[Address, Address] = {start: start}
        frontier = [start]
        while frontier and end not in came:
            following: list[Address] = []
            for address in frontier:
                for two in self._beside(address):
                    if two not in came:
                        came[two] = address
                        following.append(two)
            frontier = sorted(following)
        if end not in came:
            return []
        way = [end]
        while way[-1] != start:
            way.append(came[way[-1]])
        way.reverse()
        steps = [GraphStep(start, forward=True)]
        return steps + [GraphStep(two, two in self._out.get(address, ())) for address, two in pairwise(way)]

    def _beside(self, address: Address) -> list[Address]:
        return sorted({*self._out.get(address, ()), *self._back.get(address, ())})


def link_graph(collection: Collection) -> LinkGraph:
    """The link graph of a collection."""
    return LinkGraph(collection.index.links())


def resolved_titles(collection: Collection, addresses: Iterable[Address]) -> Mapping[Address, str]:
    """The titles of pages from the index; pages that are not indexed are omitted."""
    records = {address: collection.index.record(address) for address in addresses}
    return {address: record.title for address, record in records.items() if record}


PURPOSE_FILES = ("readme.md", "index.md", "agents.md", "home.md", "00-index.md", "welcome.md")
"""Lower-case names of the pages that describe a folder, in order of preference."""
MAX_PURPOSE_CHARS = 400
SAMPLED_PAGES = 40
"""Number of pages whose links and names are sampled for the style of the folder."""
HERE = "(in no folder below)"
"""Stands for the pages directly in a folder, among the folders below it; no path, which an argument could take."""
DATES_WAIT_SECONDS = 0.5
"""Timeout in seconds for the dates of a new index."""
MIN_BULK_PAGES = 20
"""Number of pages above which a commit of more than half of all pages counts as an import."""
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


MAX_READ_PAGES = 1_000
"""Maximum number of pages that are all read for an overview, which takes about 0.2 s."""


@dataclass(frozen=True, slots=True)
class FindingCount:
    """Number of findings of a rule."""

    rule: str
    count: int
    first: str
    """Path of the first finding, with its line if known."""


@dataclass(frozen=True, slots=True)
class FolderOverview:
    """The content of one folder; each list has the most important items first."""

    name: str
    counts: Counts
    pages: int
    """Number of pages below the requested folder."""
    purpose: str
    purpose_page: str
    folders: Sequence[tuple[str, int]]
    tags: Sequence[tuple[str, int]]
    types: Sequence[tuple[str, int]]
    fields: Sequence[tuple[str, int]]
    hubs: Sequence[tuple[str, int]]
    recent: Sequence[Record] | None
    """The pages that changed last; None while the history is being read for dates."""
    naming: str
    linking: str
    findings: Sequence[FindingCount]
    """The findings of `check`, most severe first; of more than `MAX_READ_PAGES` pages without reading their texts."""
    read_only: str


_CACHE: BoundedCache[FolderOverview] = BoundedCache(32)
"""The overviews of this process, by state."""
_PATHS: BoundedCache[tuple[Sequence[tuple[str, int]], str]] = BoundedCache(32)
"""Folders and naming, by prefix and paths."""
_STYLES: BoundedCache[Sequence[str]] = BoundedCache(1_000)
"""The styles of the links of a page, by its revision."""


def folder_overview(collections: Collections, collection: Collection, prefix: str) -> FolderOverview:
    """The overview of a collection, or of the part below a path prefix. Cached until an index or the day changes."""
    is_dated = collection.index.wait_dated(DATES_WAIT_SECONDS)
    key = (
        collection.name,
        collection.store.identity,
        prefix,
        tuple(map(state_of, collections)),
        is_dated,
        datetime.now(UTC).date(),
    )
    overview = _CACHE.get(key)
    if overview is None:
        overview = _CACHE.put(key, _overview_of(collections, collection, prefix, is_dated=is_dated), 1)
    return replace(overview, read_only=collection.store.read_only_reason)


def _overview_of(collections: Collections, collection: Collection, prefix: str, *, is_dated: bool) -> FolderOverview:
    every = collection.index.records()
    records = [record for record in every if record.address.path.startswith(prefix)] if prefix else every
    within = {record.address.path for record in records}
    purpose, page = _purpose(collection, records, prefix)
    recent = sorted(records, key=attrgetter("updated"), reverse=True)  # of one date, by path
    kinds = _counted(record.type for record in records if record.type)
    tags = _counted(tag for record in records for tag in {fold(tag): tag for tag in record.tags}.values())
    findings = located_findings(collections, collection, read=len(every) <= MAX_READ_PAGES)
    unreadable = {address.path for address, finding in findings if finding.rule in {"bad_yaml", "bad_toml"}}
    readable = [record.frontmatter for record in records if record.address.path not in unreadable]
    fields = Counter(chain.from_iterable(readable))
    of_paths = prefix, tuple(record.address.path for record in records)
    folders, naming = _PATHS.get(of_paths) or _PATHS.put(of_paths, (_folders(records, prefix), _naming(records)), 1)
    return FolderOverview(
        name=collection.name,
        counts=collection.index.counts(),
        pages=len(records),
        purpose=purpose,
        purpose_page=page,
        folders=folders,
        tags=_common(tags),
        types=_common(kinds),
        fields=_common(fields),
        hubs=[(address.path, count) for address, count in collection.index.hubs(200) if address.path in within],
        recent=_changed_lately(recent) if is_dated else None,
        naming=naming,
        linking=_linking(collection, recent[:SAMPLED_PAGES]),
        findings=_findings(findings, prefix),
        read_only="",
    )


def _changed_lately(recent: Sequence[Record]) -> list[Record]:
    """The pages that changed last. A commit of most pages, such as an import or the end of a shallow clone, is no news.

    Args:
        recent: The pages, the last changed one first.
    """
    times = Counter(record.updated for record in recent)
    bulk = {time for time, count in times.items() if count > MIN_BULK_PAGES and 2 * count > len(recent)}
    return [record for record in recent if record.updated not in bulk][:20]


def _counted(names: Iterable[str]) -> Counter[str]:
    """The number of each name, of which spellings that are compared as equal are one, in the most frequent spelling."""
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, count in Counter(names).items():
        spellings[fold(name)][name] = count
    return Counter({counts.most_common(1)[0][0]: counts.total() for counts in spellings.values()})


def _common(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda element: (-element[1], element[0]))[:60]


def _folders(records: Sequence[Record], prefix: str) -> list[tuple[str, int]]:
    """The folders directly below the prefix, each with its number of pages. Pages directly in it count as `HERE`."""
    counts: Counter[str] = Counter()
    for record in records:
        first, separator, _ = record.address.path[len(prefix) :].partition("/")
        counts[f"{prefix}{first}/" if separator else HERE] += 1
    return sorted(counts.items(), key=lambda element: (-element[1], element[0]))


def _purpose(collection: Collection, records: Sequence[Record], prefix: str) -> tuple[str, str]:
    """The first paragraph of the page that describes the folder, and the page's path."""
    named = {record.address.name.lower(): record for record in records if record.address.folder == prefix.rstrip("/")}
    for record in filter(None, map(named.get, PURPOSE_FILES)):
        if record.description:
            return record.description[:MAX_PURPOSE_CHARS], record.address.path
        document = collection.index.document(record.address)
        for section in document.sections:
            source = document.source
            text = source[section.content : section.end].decode("utf-8", "replace")
            plain = next((markdown for part in text.split("\n\n") if (markdown := strip_markdown(part).strip())), "")
            if plain:
                return " ".join(plain.split())[:MAX_PURPOSE_CHARS], record.address.path
        return "", record.address.path
    return "", ""


def _naming(records: Sequence[Record]) -> str:
    """The most frequent naming styles of the files."""
    styles: Counter[str] = Counter()
    for record in records:
        stem = record.address.stem
        if _DATED.match(stem):
            styles["by date (2026-01-31)"] += 1
        elif " " in stem:
            styles["with blanks (Green tea.md)"] += 1
        elif stem == stem.lower() and "_" in stem:
            styles["snake_case"] += 1
        elif stem == stem.lower():
            styles["kebab-case" if "-" in stem else "lower case"] += 1
        else:
            styles["Capitals"] += 1
    return ", ".join(name for name, count in styles.most_common(2) if count * 5 >= len(records))


def _linking(collection: Collection, records: Sequence[Record]) -> str:
    """The most frequent link styles."""
    styles: Counter[str] = Counter()
    for record in records:
        key = collection.store.identity, record.address, record.revision
        found_texts = _STYLES.get(key)
        if found_texts is None:
            found_texts = _STYLES.put(
                key, [_style(link.link) for link in collection.index.links_from(record.address)], 1
            )
        styles.update(found_texts)
    total = sum(styles.values())
    return ", ".join(name for name, count in styles.most_common(2) if name and count * 4 >= total)


def _style(link: Link) -> str:
    if link.kind in {LinkKind.WIKI, LinkKind.EMBED}:
        return "[[folder/page]]" if "/" in link.target else "[[page]]"
    if link.kind is LinkKind.MARKDOWN:
        return "[text](path.md)"
    return "links in front matter" if link.kind is LinkKind.FRONTMATTER else ""


def _findings(located: Sequence[LocatedFinding], prefix: str) -> list[FindingCount]:
    places: dict[tuple[int, str], list[tuple[str, int]]] = {}
    for address, finding in located:
        if address.path.startswith(prefix):
            kind = SEVERITIES.index(finding.severity), finding.rule
            places.setdefault(kind, []).append((address.path, finding.line))
    ordered = sorted(places.items(), key=lambda element: (element[0][0], -len(element[1]), element[0][1]))
    return [FindingCount(rule, len(found_pairs), _first(found_pairs)) for (_, rule), found_pairs in ordered]


def _first(places: Sequence[tuple[str, int]]) -> str:
    path, line = min(places)
    return f"{path}:{line}" if line else path
