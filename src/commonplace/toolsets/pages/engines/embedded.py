"""Searches the pages of a space in the index of its folder.

The frontmatter of every page is cached in memory (some 1 kB per page) and updated with the index, so that a filter
reads no file. The index searches the words.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Revision
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.ports import Index, Store
from commonplace.domain.query import Filter, ListQuery, Record, SearchQuery, SearchResult
from commonplace.domain.snippets import HighlightTerms
from commonplace.index.fulltext.searcher import DocumentSources
from commonplace.index.process import freeze_objects
from commonplace.services.collections import Collection
from commonplace.services.searches import search_collection
from commonplace.toolsets.pages.rules.matched_words import NO_HIGHLIGHT, page_excerpt
from commonplace.toolsets.pages.rules.page import (
    NestedSpaces,
    Page,
    PageReader,
    PageText,
    UnusablePage,
    as_one_line,
    content_of,
    flaw_of,
    flawed_pages,
    fold_label,
    page_from,
    pages_by_id,
    read_page,
)
from commonplace.toolsets.pages.rules.queries import (
    ANY_TIME,
    PageAnswer,
    PageFilter,
    PageFilterIndex,
    PageHit,
    PageQuery,
    RebuildReport,
)
from commonplace.toolsets.pages.rules.space import Space

READY_SECONDS = 45.0
"""Timeout in seconds of a search for the first sync."""
MAX_TRIES = 3
"""Maximum attempts of a search if the index changes meanwhile."""
EARLIEST = -62_135_596_800
"""First second of the year 1 in unix seconds, before every date."""
ADDRESS_THRESHOLD = 500
"""Number of changed documents above which all records are read in pages."""


@dataclass(frozen=True, slots=True)
class PageTable:
    """The pages at one generation of the index."""

    generation: int = -1
    paths: Mapping[str, str] = field(default_factory=dict[str, str])
    """Path by page id from the space file."""
    revisions: dict[Address, Revision] = field(default_factory=dict[Address, Revision])
    entries: dict[Address, Page | UnusablePage | None] = field(
        default_factory=dict[Address, Page | UnusablePage | None]
    )
    """The entry of every document of the index; None if it is not a page."""
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    """Pages by id."""
    others: tuple[Address, ...] = ()
    """Documents that are not pages."""
    chooser: PageFilterIndex = field(default_factory=lambda: PageFilterIndex(()))
    by_address: dict[Address, Page] = field(default_factory=dict[Address, Page])
    by_title: dict[str, list[Page]] = field(default_factory=dict[str, list[Page]])
    """Pages by folded title."""
    unusable: tuple[UnusablePage, ...] = ()


class EmbeddedEngine:
    """`toolsets.pages.rules.queries.PageEngine` on a folder's own index.

    Args:
        index: Index of the folder; whoever opened it updates and closes it.
        store: The folder.
        space: Returns the current space.
    """

    def __init__(self, index: Index, store: Store, space: Callable[[], Space]) -> None:
        self._index = index
        self._store = store
        self._collection = Collection(store.name, store, index)
        self._sources = DocumentSources(store)
        self._space = space
        self._refreshing = threading.Lock()
        self._table = PageTable()

    @property
    def name(self) -> str:
        """The engine's name for people."""
        return "embedded search engine"

    @property
    def url(self) -> None:
        """None: the engine runs in this process."""
        return

    def connect(self) -> str:
        """Always succeeds."""
        return self.name

    def count(self, timeout: float) -> int:
        """Number of pages, after the first sync has ended."""
        self._index.wait_ready(timeout)
        return len(self._current().pages)

    def rebuild(self, *, afresh: bool = False, dry_run: bool = False) -> RebuildReport:
        """Index the changed files, or rebuild the index."""
        if dry_run:
            gathered = PageReader(self._store, self._space())
            return RebuildReport(len(gathered.pages), gathered.unusable, gathered.flawed)
        report = self._index.sync(afresh=afresh)
        table = self._current()
        unread = [UnusablePage(Address(path), reason) for path, reason in report.unreadable if path.endswith(".md")]
        return RebuildReport(len(table.pages), (*table.unusable, *unread), flawed_pages(table.pages.values()))

    def search(self, query: PageQuery) -> PageAnswer:
        """The best matching pages."""
        self._index.wait_ready(READY_SECONDS)
        if not query.text.strip():
            table = self._current()
            best, total = table.chooser.first(query.filter, query.sort, query.limit)
            return PageAnswer(tuple(self._shown(best, NO_HIGHLIGHT, table, query.snippet_chars(len(best)))), total)
        if not any(letter.isalnum() for letter in query.text):
            return PageAnswer()
        results, table = self._results(query)
        first = self._titled(query, table)
        count = min(query.limit, max(len(first), sum(len(result.addresses) for result in results)))
        hits = [hit for result in results for hit in self._hits(result, table, first, query.snippet_chars(count))]
        notice = next((result.notice for result in results if result.notice), "")
        total = max(sum(result.total for result in results), len(first))
        return PageAnswer(tuple(hits[: query.limit]), total, notice)

    def _results(self, query: PageQuery) -> tuple[Sequence[SearchResult], PageTable]:
        """The results of a search by words, and the table whose pages they are."""
        table = self._table
        results: Sequence[SearchResult] = ()
        for _ in range(MAX_TRIES):
            results = self._by_words(query, table)
            # If the index has changed since the table was created, its results may not be pages.
            if all(result.generation == table.generation for result in results):
                break
            table = self._current()
        return results, table

    def _titled(self, query: PageQuery, table: PageTable) -> list[Page]:
        """The pages whose title equals the query. They come first unless a sort is requested."""
        titled = table.by_title.get(fold_label(as_one_line(query.text)), []) if query.sort is None else []
        if not titled or query.filter == PageFilter():
            return titled
        ids = {page.id for page in table.chooser.matching(query.filter)}
        return [page for page in titled if page.id in ids]

    def _by_words(self, query: PageQuery, table: PageTable) -> Sequence[SearchResult]:
        """The results of a search. With a sort by date, pages without the date form a second result."""
        pages = table.chooser.matching(PageFilter(labels=query.filter.labels, author=query.filter.author))
        within = replace(self._within(table, pages), dates=_stated(query.filter))
        search_query = SearchQuery(text=query.text, filter=within, limit=query.limit, sections=0, records=False)
        if query.sort is None:
            return search_collection(self._collection, search_query)
        key = query.sort.removeprefix("-")
        dated = replace(
            search_query,
            filter=replace(within, dates=(*within.dates, (key, EARLIEST, None))),
            sort="created" if key == "created_at" else "updated",
            descending=query.sort.startswith("-"),
        )
        without_date = {page.id for page in table.chooser.undated(query.sort)}
        undated = [page for page in pages if page.id in without_date] if without_date else []
        if not undated:
            return search_collection(self._collection, dated)
        rest = replace(self._within(table, undated), dates=within.dates)
        first, last = search_collection(
            self._collection, dated, replace(search_query, filter=rest, sort="path", descending=False)
        )
        return [first, replace(last, addresses=last.addresses[: query.limit - len(first.addresses)])]

    def path_of(self, identifier: str) -> str | None:
        """The path of the page with this id; None if there is none."""
        page = self._current().pages.get(identifier)
        return page.address.path if page else None

    def close(self) -> None:
        """Does nothing: the engine owns no resources."""

    def _hits(self, found_result: SearchResult, table: PageTable, first: Sequence[Page], length: int) -> list[PageHit]:
        pages = [page for address in found_result.addresses if (page := table.by_address.get(address))]
        if first:
            pages = list({page.id: page for page in (*first, *pages)}.values())[: max(len(pages), 1)]
        return self._shown(pages, found_result.highlight or NO_HIGHLIGHT, table, length)

    def _shown(self, pages: Sequence[Page], terms: HighlightTerms, table: PageTable, length: int) -> list[PageHit]:
        def content(page: Page) -> str:
            try:
                raw = read(page.address, table.revisions[page.address]).raw
            except (NotFoundError, StorageError):
                return ""
            if not page.flaw:
                return content_of(raw)
            unusable_page = read_page(page.address, raw, {page.address.path: page.id})
            return unusable_page.content if isinstance(unusable_page, PageText) else ""

        with self._sources.reading() as read:
            return [PageHit(page, page_excerpt(content(page), terms, length)) for page in pages]

    def _within(self, table: PageTable, pages: Sequence[Page]) -> Filter:
        """A filter for these pages that lists either them or the others, whichever are fewer."""
        if len(pages) == len(table.pages):
            return Filter(without=table.others)
        if 2 * len(pages) <= len(table.entries):
            return Filter(among=tuple(page.address for page in pages))
        ids = {page.id for page in pages}
        return Filter(without=(*table.others, *(page.address for page in table.pages.values() if page.id not in ids)))

    def _current(self) -> PageTable:
        """The table of the index's current generation."""
        generation = self._index.generation
        if self._table.generation == generation:
            return self._table
        with self._refreshing:
            if self._table.generation != generation:
                self._table = self._refresh(generation)
            return self._table

    def _refresh(self, generation: int) -> PageTable:
        table = self._table
        revisions = self._index.revisions()
        changed = [address for address, revision in revisions.items() if table.revisions.get(address) != revision]
        read = {record.address: self._entry(record) for record in self._records(changed, len(revisions))}
        paths = self._space().paths
        if table.paths is paths and _same_pages(table, revisions, read):
            return replace(table, generation=generation, revisions=revisions)
        entries = {address: table.entries[address] for address in revisions if address in table.entries} | read
        if len(changed) > ADDRESS_THRESHOLD and not table.revisions:
            freeze_objects()
        table = self._table_of(entries, paths)
        return replace(table, generation=generation, revisions=revisions)

    def _table_of(self, entries: dict[Address, Page | UnusablePage | None], paths: Mapping[str, str]) -> PageTable:
        """The table of the entries of all documents, of no generation yet."""
        nested = NestedSpaces(self._store)
        own: list[Page] = []
        unusable: list[UnusablePage] = []
        for address, entry in entries.items():
            if isinstance(entry, Page) and not nested.hold(address):
                own.append(entry)
            elif isinstance(entry, UnusablePage) and not nested.hold(address):
                unusable.append(entry)
        pages, repeated = pages_by_id(own, paths)
        by_address: dict[Address, Page] = {}
        by_title: dict[str, list[Page]] = {}
        for page in pages.values():
            by_address[page.address] = page
            by_title.setdefault(fold_label(page.title), []).append(page)
        return PageTable(
            paths=paths,
            entries=entries,
            pages=pages,
            others=tuple(address for address in entries if address not in by_address),
            chooser=PageFilterIndex(pages.values()),
            by_address=by_address,
            by_title=by_title,
            unusable=tuple(sorted([*unusable, *repeated], key=lambda page: page.address)),
        )

    def _entry(self, record: Record) -> Page | UnusablePage | None:
        """The page of a record; if its frontmatter cannot be read, the page of its file."""
        if not flaw_of(record.findings):
            return page_from(record.address, record.frontmatter, record.title)
        try:
            page = read_page(record.address, self._store.read(record.address), self._space().ids)
        except (NotFoundError, StorageError):
            return None
        return page.page if isinstance(page, PageText) else page

    def _records(self, changed: Sequence[Address], documents: int) -> Iterator[Record]:
        """The records of changed documents, or of all documents if many have changed."""
        if len(changed) <= ADDRESS_THRESHOLD:
            yield from (record for address in changed if (record := self._index.record(address)))
            return
        for offset in range(0, documents + ADDRESS_THRESHOLD, ADDRESS_THRESHOLD):
            yield from self._index.list(ListQuery(offset=offset, limit=ADDRESS_THRESHOLD)).records


def _same_pages(
    table: PageTable, revisions: Mapping[Address, Revision], read: Mapping[Address, Page | UnusablePage | None]
) -> bool:
    """Whether a table still has the right pages, because only texts have changed.

    Args:
        table: The table.
        revisions: Every document and its revision.
        read: The entries of the changed documents.
    """
    if len(revisions) != len(table.revisions):
        return False
    unknown = object()
    return all(table.entries.get(address, unknown) == entry for address, entry in read.items())


def _stated(filter_: PageFilter) -> tuple[tuple[str, int | None, int | None], ...]:
    """The dates of a filter in the form that the index compares."""
    requested_pair = (("created_at", filter_.created), ("updated_at", filter_.updated))
    return tuple(
        (key, bounds.first, None if bounds.before is None else bounds.before - 1)
        for key, bounds in requested_pair
        if bounds != ANY_TIME
    )
