"""The store and the index of a collection in which pages that are not published do not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from posixpath import normpath

from commonplace.domain.addresses import Address, document_suffixes, fold
from commonplace.domain.changes import Author, FileStat, Revision
from commonplace.domain.citations import SOURCES_KEY, Citation, citations_of
from commonplace.domain.documents import Document, OutlinedText
from commonplace.domain.errors import NotFoundError, ReadOnlyError
from commonplace.domain.json import Json
from commonplace.domain.links import LinkLookup, NamedDocument
from commonplace.domain.ports import History, Index, Progress, Store, Transaction
from commonplace.domain.query import (
    Counts,
    Filter,
    ListQuery,
    Record,
    RecordPage,
    ResolvedLink,
    SearchQuery,
    SearchResult,
    SyncReport,
)
from commonplace.domain.sites import SiteTree, Surroundings
from commonplace.domain.status import DeclaredStatus, is_replacement_key
from commonplace.services.collections import declared_page, reference_splits

WITHHELD = "(unpublished page)"
"""The text in the place of the name of a page that is not published, in English."""


def names_of_path(path: str) -> Iterator[str]:
    """The names by which links name a page: the ends of its path, with and without the suffix."""
    parts = path.split("/")
    for at in range(len(parts)):
        end = "/".join(parts[at:])
        yield end
        yield end.rpartition(".")[0] or end


@dataclass(frozen=True, slots=True)
class Reads:
    """The files that were read since it was cleared."""

    shown: set[Address] = field(default_factory=set[Address])
    """The files whose text may be shown, as that of an embedded page."""
    named: set[Address] = field(default_factory=set[Address])
    """The files of which only the names of parts may be used, as of a page whose headings links name."""

    def clear(self) -> None:
        """Forget them."""
        self.shown.clear()
        self.named.clear()


class PublishedStore:
    """A store in which the files of hidden pages do not exist. It can only be read.

    Args:
        store: The store of all pages.
        hidden: The addresses of the pages that are not published.
        reads: Notes which files are read.
    """

    def __init__(self, store: Store, hidden: AbstractSet[Address], reads: Reads | None = None) -> None:
        self._store = store
        self._hidden = hidden
        self._reads = reads or Reads()
        self.name = store.name
        self.identity = f"{store.identity}#published"
        """A key of its own, so that nothing that is derived from all pages is used."""
        self.history: History = store.history
        """The commits of the whole base."""
        self.read_only_reason = "What is published can only be read."
        self.repository = None
        self.trash = None

    def scan(self, *, names_only: bool = False) -> Iterator[tuple[Address, FileStat]]:
        """Every published page."""
        return (
            (address, stat) for address, stat in self._store.scan(names_only=names_only) if address not in self._hidden
        )

    def skipped(self) -> list[tuple[str, str]]:
        """Nothing: only pages are published."""
        return []

    def ignores(self, address: Address) -> bool:
        """Whether ignore files exclude a file."""
        return self._store.ignores(address)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a file that is published."""
        self._reads.shown.add(address)
        return None if address in self._hidden else self._store.stat(address)

    def read(self, address: Address) -> bytes:
        """The bytes of a file that is published."""
        return self._read(self._store.read, address)

    def _read(self, read: Callable[[Address], bytes], address: Address) -> bytes:
        if address in self._hidden:
            raise NotFoundError("There is no such file.", kind="file")
        self._reads.named.add(address)
        return read(address)

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with a function like `read`."""
        with self._store.reading() as read:
            yield lambda address: self._read(read, address)

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """The files directly in a folder, without hidden pages."""
        return [(address, stat) for address, stat in self._store.files(folder) if address not in self._hidden]

    def folders(self, folder: str) -> list[str]:
        """The folders directly in a folder that contain published files."""
        return [inner for inner in self._store.folders(folder) if self.files(inner) or self.folders(inner)]

    def committing(self) -> Store:
        """This store: nothing is written."""
        return self

    def transaction(self, message: str, author: Author | None = None) -> AbstractContextManager[Transaction]:
        """Refused: nothing is written."""
        del message, author
        raise ReadOnlyError(self.read_only_reason)

    def recover(self) -> list[str]:
        """Nothing: the store of all pages has done it."""
        return []


def _paths(names: Iterable[str], source: Address | None) -> Iterator[str]:
    """The paths that names in a page may mean, from the top and from its folder."""
    folder = source.folder if source else ""
    return (normpath(path).lstrip("/") for name in names for path in (name, f"{folder}/{name}"))


@dataclass(frozen=True, slots=True)
class _PublishedLookup:
    """The names of a collection without those of hidden pages."""

    whole: LinkLookup
    hidden: AbstractSet[Address]

    def at(self, path: str) -> Address | None:
        address = self.whole.at(path)
        return None if address in self.hidden else address

    def named(self, key: str) -> Sequence[NamedDocument]:
        return [document for document in self.whole.named(key) if document.address not in self.hidden]

    def files(self, key: str) -> Sequence[Address]:
        return self.whole.files(key)

    @property
    def has_names(self) -> bool:
        return self.whole.has_names

    @property
    def sites(self) -> Sequence[SiteTree]:
        return self.whole.sites

    @property
    def own_names(self) -> AbstractSet[str]:
        return frozenset(self.whole.own_names)


class PublishedIndex:
    """An index in which hidden pages do not exist. It fulfils the whole port, so that any part of a page may ask it.

    Args:
        index: The index of all pages.
        records: The records of the published pages by path.
        hidden: The addresses of all others.
        is_left_out: Whether a path is that of a file beside the pages, or of a former page, that is not published.
        reads: Notes which pages are read.
    """

    def __init__(
        self,
        index: Index,
        records: Mapping[str, Record],
        hidden: AbstractSet[Address],
        is_left_out: Callable[[str], bool] = lambda _: False,
        reads: Reads | None = None,
        withheld: str = WITHHELD,
    ) -> None:
        self._index = index
        self._withheld = withheld
        self._records = records
        self._hidden = hidden
        self._is_left_out = is_left_out
        self.reads = reads or Reads()

    # What is about the index as a whole is asked of the whole index.

    @property
    def generation(self) -> int:
        """The generation of the whole index."""
        return self._index.generation

    @property
    def names_version(self) -> tuple[int, int]:
        """The version of the names in the whole index."""
        return self._index.names_version

    def sync(self, progress: Progress | None = None, *, afresh: bool = False) -> SyncReport:
        """Sync the whole index."""
        return self._index.sync(progress, afresh=afresh)

    def update(self, addresses: Sequence[Address], timeout: float = 0.1) -> None:
        """Nothing: what is published stays as it was selected."""

    def watch(self, on_change: Callable[[Sequence[Address]], None] | None = None) -> AbstractContextManager[None]:
        """Watch the whole index."""
        return self._index.watch(on_change)

    def listen(self, listener: Callable[[Sequence[Address], bool], None]) -> None:
        """Listen to the whole index."""
        self._index.listen(listener)

    def wait_watched(self, timeout: float) -> bool:
        """Wait for the whole index."""
        return self._index.wait_watched(timeout)

    def wait_ready(self, timeout: float) -> None:
        """Wait for the whole index."""
        self._index.wait_ready(timeout)

    def wait_dated(self, timeout: float) -> bool:
        """Wait for the whole index."""
        return self._index.wait_dated(timeout)

    def close(self) -> None:
        """Nothing: the whole index is closed by who opened it."""

    def preferring_last(self) -> Index:
        """The same pages in the whole index's other side."""
        return PublishedIndex(self._index.preferring_last(), self._records, self._hidden, self._is_left_out, self.reads)

    # Pages.

    def record(self, address: Address) -> Record | None:
        """The record of a published page."""
        return self._records.get(address.path)

    def find(self, reference: str, source: Address | None = None) -> Record | None:
        """The published page that a reference names."""
        record = self._index.find(reference, source)
        return self._records.get(record.address.path) if record else None

    def document(self, address: Address) -> Document:
        """A published page."""
        if address in self._hidden:
            raise NotFoundError("There is no such page.", kind="document")
        self.reads.shown.add(address)
        return self._index.document(address)

    def outlined(self, addresses: Sequence[Address]) -> Mapping[Address, OutlinedText]:
        """The sections of published pages with their bytes."""
        return self._index.outlined([address for address in addresses if address not in self._hidden])

    def revisions(self, filter_: Filter | None = None) -> dict[Address, Revision]:
        """The published pages that match a filter, with their revisions."""
        return self._index.revisions(self._narrowed(filter_ or Filter()))

    def by_id(self, identifier: str) -> list[Record]:
        """The published pages with exactly this id."""
        return self._published(self._index.by_id(identifier))

    def nearest(self, reference: str, limit: int = 3) -> list[str]:
        """The ids of published pages that are most similar to an unknown reference."""
        return [name for name in self._index.nearest(reference, limit) if self.find(name)]

    def beginning_with(self, name: str, limit: int) -> list[Record]:
        """The published pages of which a name begins with `name`."""
        return self._published(self._index.beginning_with(name, limit + len(self._hidden)))[:limit]

    def list(self, query: ListQuery) -> RecordPage:
        """The published pages that match a filter."""
        return self._index.list(replace(query, filter=self._narrowed(query.filter)))

    def records(self) -> Sequence[Record]:
        """All published pages by path."""
        return self._published(self._index.records())

    def findings(self) -> list[Record]:
        """The published pages that have findings."""
        return self._published(self._index.findings())

    def search(self, query: SearchQuery) -> SearchResult:
        """The published pages that match a search."""
        return self._index.search(replace(query, filter=self._narrowed(query.filter)))

    def tags(self, filter_: Filter, prefix: str = "") -> list[tuple[str, int]]:
        """The tags of published pages."""
        return self._index.tags(self._narrowed(filter_), prefix)

    def counts(self) -> Counts:
        """Totals over the published pages."""
        types = Counter(record.type for record in self._records.values())
        sections = sum(len(self.document(record.address).sections) for record in self._records.values())
        ordered = tuple(sorted(types.items(), key=lambda pair: (-pair[1], pair[0])))
        links = len(self.links_from(None))
        return Counts(
            documents=len(self._records), sections=sections, links=links, tags=len(self.tags(Filter())), types=ordered
        )

    def same_name(self, address: Address) -> Sequence[Address]:
        """The other published pages whose address differs only in case or Unicode form."""
        return [other for other in self._index.same_name(address) if other not in self._hidden]

    def surroundings(self) -> Surroundings:
        """The docs trees of the whole base."""
        return self._index.surroundings()

    def _published(self, records: Iterable[Record]) -> list[Record]:
        return [record for record in records if record.address not in self._hidden]

    def _narrowed(self, filter_: Filter) -> Filter:
        """The filter, without hidden pages."""
        if filter_.among is None:
            return replace(filter_, without=(*filter_.without, *sorted(self._hidden)))
        return replace(filter_, among=tuple(address for address in filter_.among if address not in self._hidden))

    # What pages say of others. The name of a hidden page is told nowhere.

    def is_hidden(self, reference: str, source: Address | None = None) -> bool:
        """Whether a reference of a page, such as a path, title or id with a fragment, names what is not published."""
        names = [name for name, _ in reference_splits(reference.removeprefix("[[").partition("]]")[0]) if name]
        record = next(
            (record for name in names if (record := declared_page(self._index, name, source)) is not None), None
        )
        if record is not None:
            return record.address in self._hidden
        return "://" not in reference and any(self._is_left_out(path) for path in _paths(names, source))

    def shown_values(self, document: Document) -> dict[str, Json]:
        """The front matter of a published page, with `withheld` in the place of what it says of hidden pages.

        These are its replacement, each citation of `sources` with its quotation, and every path.
        """
        address = document.address
        cited = {int(citation.label) for citation in citations_of(document) if self._hides(citation, address)}
        values = dict(document.frontmatter.values)
        sources = values.get(SOURCES_KEY)
        if cited and sources is not None:
            listed = sources if isinstance(sources, (list, tuple)) else [sources]
            values[SOURCES_KEY] = [self._withheld if number in cited else item for number, item in enumerate(listed, 1)]
        return {
            key: self._shown_value(value, address, is_reference=is_replacement_key(key))
            for key, value in values.items()
        }

    def _hides(self, citation: Citation, address: Address) -> bool:
        """Whether an item of `sources` names a hidden page."""
        names = (name for name in (citation.target, citation.copy) if name)
        return not citation.line and any(self.is_hidden(name, address) for name in names)

    def _shown_value(self, value: Json, address: Address, *, is_reference: bool) -> Json:
        if isinstance(value, str):
            names_page = (is_reference or _is_path(value)) and "[[" not in value
            return self._withheld if names_page and self.is_hidden(value, address) else value
        if isinstance(value, Mapping):
            return {key: self._shown_value(inner, address, is_reference=is_reference) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._shown_value(item, address, is_reference=is_reference) for item in value]
        return value

    def statuses(self) -> Mapping[Address, Sequence[DeclaredStatus]]:
        """The declared statuses of published pages."""
        return {
            address: [
                declared._replace(by=self._withheld)
                if declared.by and self.is_hidden(declared.by, address)
                else declared
                for declared in every
            ]
            for address, every in self._index.statuses().items()
            if address not in self._hidden
        }

    def citations(self, names: Sequence[str] = ()) -> Mapping[Address, Sequence[Citation]]:
        """The citations of published pages, without those of hidden pages."""
        return {
            address: [citation for citation in every if not self.is_hidden(citation.target, address)]
            for address, every in self._index.citations(names).items()
            if address not in self._hidden
        }

    def hidden_names(self) -> frozenset[str]:
        """The names by which links name hidden pages, folded: titles, aliases, ids, and ends of paths."""
        names: set[str] = set()
        for address in self._hidden:
            record = self._index.record(address)
            names.update(names_of_path(address.path))
            names.update((record.title, record.id, *record.aliases) if record else ())
        return frozenset(fold(name) for name in names if name)

    # Links.

    def resolve(self, document: Document, lookup: LinkLookup | None = None) -> list[ResolvedLink]:
        """Links with their targets. A link to a hidden page has none, and no name."""
        return self._shown(self._index.resolve(document, lookup))

    def lookup(self) -> LinkLookup:
        """The names of the published pages."""
        return _PublishedLookup(self._index.lookup(), self._hidden)

    def _shown(self, links: Iterable[ResolvedLink]) -> list[ResolvedLink]:
        """The links of published pages; one to a hidden page leads nowhere and has no name."""
        return [
            replace(link, target=None, link=link.link._replace(raw="", target="", fragment="", other=None))
            if link.target in self._hidden
            else link
            for link in links
            if link.source not in self._hidden
        ]

    def dead_links(self) -> list[ResolvedLink]:
        """Links of published pages whose fragments name no part of their targets."""
        return self._shown(self._index.dead_links())

    def fragments(self, addresses: Collection[Address]) -> dict[Address, Container[str]]:
        """The fragments that name a part of each of these published pages."""
        return self._index.fragments([address for address in addresses if address not in self._hidden])

    def links_from(
        self, address: Address | None, containing: Sequence[str] = (), limit: int | None = None
    ) -> list[ResolvedLink]:
        """Links of a published page, or of all."""
        return self._shown(self._index.links_from(address, containing))[:limit]

    def links_to(
        self, address: Address, *, sentences: bool = True, sources: Sequence[Address] | None = None
    ) -> list[ResolvedLink]:
        """Links of published pages to a published page or file."""
        if address in self._hidden:
            return []
        return self._shown(self._index.links_to(address, sentences=sentences, sources=sources))

    def links_into(self, names: Sequence[str]) -> list[ResolvedLink]:
        """Links of published pages into another collection."""
        return self._shown(self._index.links_into(names))

    def links_named(self, keys: Sequence[str], *, either_side: bool = False) -> list[ResolvedLink]:
        """Links of published pages whose target has one of these keys."""
        return self._shown(self._index.links_named(keys, either_side=either_side))

    def links(self, around: Collection[Address] | None = None) -> list[tuple[Address, Address]]:
        """Every link between two published pages once, or those in which one of some pages is."""
        pairs = self._index.links(around)
        return [pair for pair in pairs if self._hidden.isdisjoint(pair)] if self._hidden else pairs

    def hubs(self, limit: int) -> list[tuple[Address, int]]:
        """The published pages to which most others link."""
        linked = Counter(target for source, target in self.links() if source != target)
        return sorted(linked.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

    def orphans(self) -> list[Record]:
        """The published pages that no other published page links to."""
        linked = {target for source, target in self.links() if source != target}
        return [record for record in self.records() if record.address not in linked]

    def broken(self, address: Address | None = None) -> list[ResolvedLink]:
        """Broken links of one published page, or of all; those to hidden pages are none."""
        return [] if address in self._hidden else self._shown(self._index.broken(address))


def _is_path(text: str) -> bool:
    return "/" in text or text.partition("#")[0].endswith(document_suffixes())
