"""Comparisons of pages: declared contradictions, near-duplicates, and pages older than the files that they describe."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.documents import Finding
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.findings import finding_of, shortened
from commonplace.domain.json import Json
from commonplace.domain.query import Record
from commonplace.domain.records import iso_timestamp
from commonplace.services.collections import Collection

log = logging.getLogger(__name__)

LocatedFinding = tuple[Address, Finding]
"""A page or other file, and what is wrong with it; the message has the remedy."""

DESCRIBES = "describes"
"""Front-matter key that names the pages and files that a page describes, by path or [[link]]."""
CONTRADICTING = ("contradicts", "contradicted_by")
"""Front-matter keys, and relations of links, by which a page declares a contradiction."""
MIN_LINE_BYTES = 40
"""Minimum length in bytes of a line that counts for near-duplicates."""
MIN_SHARED_LINES = 4
"""Minimum number of shared lines of two near-duplicates."""
MIN_SHARED_PART = 0.8
"""Minimum share of the shorter page's lines that two near-duplicates have in common."""
MAX_LINES = 1_000
"""Maximum number of lines of a page that are compared for near-duplicates."""
MAX_HOLDERS = 8
"""Maximum number of pages that share a line; a more common line is boilerplate and does not count."""


class LineIndex:
    """Long lines by page, to find pages that share most lines. Blanks and short lines are ignored."""

    def __init__(self) -> None:
        self._holders: defaultdict[int, list[int]] = defaultdict(list)
        self._pages: list[Address] = []
        self._counts: list[int] = []

    def add(self, address: Address, body: bytes) -> None:
        """Add a page's text. Add the pages in the order of their addresses."""
        long = [line for line in body.split(b"\n", MAX_LINES)[:MAX_LINES] if len(line) >= MIN_LINE_BYTES]
        lines = {hash(line) for line in map(bytes.strip, long) if len(line) >= MIN_LINE_BYTES}
        if len(lines) >= MIN_SHARED_LINES:
            number = len(self._pages)
            self._pages.append(address)
            self._counts.append(len(lines))
            for line in lines:
                self._holders[line].append(number)

    def findings(self) -> Iterator[LocatedFinding]:
        """A finding on the second page of each pair that shares most lines, but not all."""
        shared: Counter[tuple[int, int]] = Counter()
        # The lines of copied pages have the same set of pages, so that counting these sets is quick.
        for holders, lines in Counter(tuple(one) for one in self._holders.values() if len(one) > 1).items():
            if len(holders) <= MAX_HOLDERS:
                for pair in combinations(holders, 2):
                    shared[pair] += lines
        for (one, two), lines in sorted(shared.items()):
            least, most = sorted((self._counts[one], self._counts[two]))
            if lines >= max(MIN_SHARED_LINES, MIN_SHARED_PART * least) and lines < most:
                name = self._pages[one].path
                message = f"It shares {lines} of {least} long lines with {name}. Keep them once, and link to them."
                yield self._pages[two], finding_of("near_duplicate", message)


def declared(collection: Collection, record: Record) -> Iterator[LocatedFinding]:
    """The contradictions that a page itself declares in its front matter."""
    for key in CONTRADICTING:
        for name in _named(record.frontmatter, key):
            other = collection.index.find(name, record.address)
            if other is not None:
                yield declared_contradiction(record.address, other.address)


def declared_contradiction(source: Address, target: Address) -> LocatedFinding:
    """The finding for a page that declares a contradiction to another page."""
    message = f"It says that it contradicts {target.path}. Settle which of them holds."
    return source, finding_of("contradiction", message)


def outdated(collection: Collection, record: Record) -> Iterator[LocatedFinding]:
    """Files that a page describes and that changed after the page."""
    for name in _named(record.frontmatter, DESCRIBES):
        changed = _changed(collection, record.address, name)
        if changed is None:
            message = f"It describes {shortened(name)!r}, which is not there. Correct `{DESCRIBES}`."
            yield record.address, finding_of("stale", message)
        elif _is_later(changed, record.updated):
            message = (
                f"It describes {shortened(name)!r}, which changed on {changed[:10]}; this page is of"
                f" {record.updated[:10]}. Bring it up to date."
            )
            yield record.address, finding_of("stale", message)


def _is_later(changed: str, updated: str) -> bool:
    """Whether `changed` is later than `updated`, which may be only a day."""
    return changed[:10] > updated[:10] if updated.endswith(_MIDNIGHT) else changed > updated


_MIDNIGHT = "T00:00:00Z"


def _named(values: Mapping[str, Json], key: str) -> list[str]:
    """The pages and files that a field names by path, title or link."""
    value = values.get(key)
    listed = value if isinstance(value, list) else [value]
    names = (one.strip().removeprefix("[[").removesuffix("]]") for one in listed if isinstance(one, str))
    return [name for name in (one.partition("|")[0].partition("#")[0].strip() for one in names) if name]


def _changed(collection: Collection, source: Address, name: str) -> str | None:
    """Time of the last change of a page or file in ISO 8601; None if there is no such page or file."""
    record = collection.index.find(name, source)
    if record is not None:
        return record.updated
    for path in (name.removeprefix("/"), f"{source.folder}/{name}"):
        try:
            address = parse_address(path)
            stat = collection.store.stat(address)
        except (InvalidInputError, NotFoundError):
            continue
        except KnowledgeError as error:
            log.warning("%s is not compared: %s", path, error)
            continue
        if stat is not None:
            commits = collection.store.history.log(address, limit=1)
            return iso_timestamp(commits[0].when if commits else stat.mtime_ns / 1e9)
    return None
