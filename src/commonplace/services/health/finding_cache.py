"""Findings of the last check of an index, so that the next one looks only at pages that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from commonplace.domain.documents import Finding
from commonplace.domain.ports import Index
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.sources import DIGEST_KEY
from commonplace.services.collections import Collection
from commonplace.services.health.page_rules import CONTRADICTING, DESCRIBES

MAX_PAGES = 30_000
"""Maximum number of pages whose findings stay in memory."""
MAX_SINGLE_QUERIES = 50
"""Maximum number of pages whose links are queried one by one; more are queried together."""


@dataclass(slots=True)
class _Found:
    """The findings of one check, and what they depend on."""

    rules: object = None
    names: object = None
    own: dict[str, tuple[Record, tuple[Finding, ...]]] = field(
        default_factory=dict[str, tuple[Record, tuple[Finding, ...]]]
    )
    broken: dict[str, tuple[Record, list[ResolvedLink], list[Finding]]] = field(
        default_factory=dict[str, tuple[Record, list[ResolvedLink], list[Finding]]]
    )
    contradicting: frozenset[str] | None = None
    """Paths of the pages with links that declare a contradiction; None if not known."""


_FOUND: WeakKeyDictionary[Index, _Found] = WeakKeyDictionary()


class FindingCache:
    """The findings of one check, taken over from the last check of the index where nothing they depend on changed.

    Args:
        collection: The collection.
        records: Records of its pages.
        rules: What the findings in a page depend on beside the page: schema, day, strictness.
        is_plain: Whether no rule of a schema or plugin compares a page with others.
    """

    def __init__(self, collection: Collection, records: Sequence[Record], rules: object, *, is_plain: bool) -> None:
        self._index = collection.index
        before = _FOUND.get(self._index) or _Found()
        self._records = records
        self._contradicting = before.contradicting
        self._own = before.own if is_plain and before.rules == rules else {}
        self._changed: set[str] = set()
        self._is_plain = is_plain
        names = self._index.names_version
        self._broken = before.broken if before.names == names else {}
        self._next = _Found(rules, names)

    def own(self, record: Record, find: Callable[[Record], Iterable[Finding]]) -> tuple[Finding, ...]:
        """The findings in a page by the rules about its record.

        Args:
            record: The page.
            find: Finds them.
        """
        path = record.address.path
        last = self._own.get(path)
        if last is not None and last[0] is record:
            self._next.own[path] = last
            return last[1]
        self._changed.add(path)
        findings = tuple(find(record))
        if self._is_plain and not any(key in record.frontmatter for key in _OTHER_PAGES):
            self._next.own[path] = record, findings
        return findings

    def broken(self, record: Record, links: list[ResolvedLink], find: Callable[[], list[Finding]]) -> list[Finding]:
        """The findings about the broken links of a page.

        Args:
            record: The page.
            links: Its broken links.
            find: Finds them.
        """
        path = record.address.path
        last = self._broken.get(path)
        if last is None or last[0] is not record or last[1] != links:
            last = record, links, find()
        self._next.broken[path] = last
        return last[2]

    def contradicting_links(self) -> list[ResolvedLink]:
        """The links of all pages that may declare a contradiction; called after `own` was for each page."""
        index = self._index
        sources = None if self._contradicting is None else self._contradicting | self._changed
        if sources is None or len(sources) > MAX_SINGLE_QUERIES:
            links = index.links_from(None, CONTRADICTING)
        else:
            pages = [record.address for record in self._records if record.address.path in sources]
            links = [link for page in pages for link in index.links_from(page, CONTRADICTING)]
        self._next.contradicting = frozenset(link.source.path for link in links)
        return links

    def keep(self) -> None:
        """Keep the findings for the next check."""
        if len(self._records) <= MAX_PAGES:
            _FOUND[self._index] = self._next


_OTHER_PAGES = (*CONTRADICTING, DESCRIBES, DIGEST_KEY)
"""Front-matter keys whose rules look at other files."""
