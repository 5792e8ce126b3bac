"""Documents for web pages: by the path of a URL, their folders, backlinks and graph, and caches for them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from threading import Lock
from typing import Generic, TypeVar

from commonplace.domain.addresses import Address, document_suffixes, parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.markdown.paths import INDEX_NAMES
from commonplace.domain.query import Filter, ListQuery, Record, ResolvedLink, SearchQuery
from commonplace.domain.query_parser import plain_query
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import SCHEMA_FILE
from commonplace.services.bounded_cache import BoundedCache
from commonplace.services.collections import Collection, Collections, FoundDocument, record_of_new_file
from commonplace.services.links import by_name, target_by_name
from commonplace.services.listing import every_document

# Caches for facts about a whole collection, computed once for each state of its index, and for values by key.


T = TypeVar("T")


def state_of(collection: Collection) -> tuple[object, ...]:
    """Versions of all that is derived from a collection: pages, names of other files, rules and history."""
    index, store = collection.index, collection.store
    head = store.history.head() if store.history.available else ""
    return store.identity, index.generation, index.names_version, store.stat(Address(SCHEMA_FILE)), head


class PerState(Generic[T]):
    """Caches a function of a collection until the collection's index or current commit changes.

    Args:
        compute: The function; called by one thread at a time for each collection.
    """

    def __init__(self, compute: Callable[[Collection], T]) -> None:
        self._compute = compute
        self._lock = Lock()
        self._values: dict[str, tuple[object, T]] = {}

    def of(self, collection: Collection) -> T:
        """The value for the current state of the collection."""
        state = state_of(collection)
        cached = self._values.get(collection.store.identity)
        if cached is not None and cached[0] == state:
            return cached[1]
        with self._lock:
            states = self._values.get(collection.store.identity)
            if states is None or states[0] != state:
                states = (state, self._compute(collection))
                self._values[collection.store.identity] = states
        return states[1]


# Finds documents by the path of a URL, and the targets of links in a text.


MAX_PARSED_BYTES = 24_000_000
"""Maximum size in bytes of the files whose parsed documents are cached."""
_PARSED: BoundedCache[Document] = BoundedCache(MAX_PARSED_BYTES)


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Target of a link."""

    collection: Collection
    address: Address
    """A document, or another file of the collection."""
    is_document: bool
    title: str = ""


def document_at_path(collection: Collection, path: str) -> FoundDocument | None:
    """The document at exactly this path, with or without its suffix; None if there is none."""
    for name in (*(f"{path}{suffix}" for suffix in document_suffixes()), path):
        with suppress(InvalidInputError):
            address = parse_address(name)
            if not address.is_document:
                continue
            record = collection.index.record(address)
            if record is not None:
                return FoundDocument(collection, record)
    for name in (f"{path}.md", path):
        with suppress(InvalidInputError):
            address = parse_address(name)
            record = record_of_new_file(collection, address) if address.is_document else None
            if record is not None:
                return FoundDocument(collection, record)
    return None


def required_document(collection: Collection, path: str) -> FoundDocument:
    """The document of `document_at_path`.

    Raises:
        NotFoundError: there is none; `nearest` has the nearest names.
    """
    document = document_at_path(collection, path)
    if document is None:
        nearest = collection.index.nearest(path or "index")
        raise NotFoundError("There is no such page.", kind="document", nearest=nearest, reference=path)
    return document


def parsed_document(collection: Collection, address: Address) -> Document:
    """The current document of a file; parsed again only if the file's bytes have changed.

    Raises:
        NotFoundError: there is no such document.
    """
    raw = collection.store.read(address)
    key = (collection.store.identity, address, revision_of(raw))
    return _PARSED.get(key) or _PARSED.put(key, read_document(address, raw), len(raw))


def folder_document(collection: Collection, folder: str) -> FoundDocument | None:
    """The `index.md` or `README.md` that represents a folder ("" for the root); None if there is none."""
    for name in INDEX_NAMES:
        with suppress(InvalidInputError):
            record = collection.index.record(parse_address(f"{folder}/{name}" if folder else name))
            if record is not None:
                return FoundDocument(collection, record)
    return None


def named_document(collections: Sequence[Collection], reference: str) -> FoundDocument | None:
    """The document that an id, title or alias names, in the first of these collections that has it."""
    for collection in collections:
        record = collection.index.find(reference)
        if record is not None:
            return FoundDocument(collection, record)
    return None


def link_targets(
    collections: Collections, collection: Collection, document: Document, links: Sequence[Link]
) -> list[tuple[Link, LinkTarget | None]]:
    """Each link with its target, in order; the target of a broken link is None.

    In the result, a link `[[a|b]]` is replaced by that of the side that is the page.

    Args:
        collections: All collections that the reader may see.
        collection: The document's collection.
        document: The document that contains the links.
        links: The links; they need not be those of `document.links`.
    """
    if not links:
        return []
    resolved = collection.index.resolve(replace(document, links=tuple(links)))
    return [(link.link, _target(collections, collection, link)) for link in resolved]


def _target(collections: Collections, collection: Collection, resolved: ResolvedLink) -> LinkTarget | None:
    if resolved.target is None:
        document = target_by_name(collections, collection, resolved)
        return (
            LinkTarget(document.collection, document.record.address, is_document=True, title=document.record.title)
            if document
            else None
        )
    record = collection.index.record(resolved.target) if resolved.target.is_document else None
    title = record.title if record else ""
    return LinkTarget(collection, resolved.target, is_document=resolved.target.is_document, title=title)


# The folders of a collection and the documents in each.


@dataclass(slots=True)
class SiteFolder:
    """A folder."""

    path: str
    """Path without a trailing slash; "" for the root."""
    folders: list[str] = field(default_factory=list[str])
    """Paths of the subfolders, sorted."""
    documents: list[Address] = field(default_factory=list[Address])
    """Documents directly in the folder, sorted."""
    total: int = 0
    """Number of documents in the folder and below it."""
    name: str = ""
    """The last part of the path, as it is shown."""


def folders_of(collection: Collection) -> Mapping[str, SiteFolder]:
    """The folders by path, computed anew; `FOLDERS` caches the result."""
    folders = {"": SiteFolder("")}
    for address in sorted(collection.index.revisions()):
        _folder(folders, address.folder).documents.append(address)
        path = address.folder
        while True:
            folders[path].total += 1
            if not path:
                break
            path = path.rpartition("/")[0]
    for folder in folders.values():
        folder.folders.sort(key=str.casefold)
        folder.name = collection.shown_name(folder.path.rpartition("/")[2])
    return folders


def _folder(folders: dict[str, SiteFolder], path: str) -> SiteFolder:
    """The folder at a path; it and missing parents are created."""
    missing: list[str] = []
    while path not in folders:
        missing.append(path)
        path = path.rpartition("/")[0]
    for element in reversed(missing):
        folders[element] = SiteFolder(element)
        folders[path].folders.append(element)
        path = element
    return folders[path]


FOLDERS = PerState(folders_of)
"""Every folder with documents, by path."""


def records(collection: Collection, addresses: list[Address]) -> list[Record]:
    """The records of these documents by path."""
    if not addresses:
        return []
    query = ListQuery(filter=Filter(among=tuple(addresses)), limit=len(addresses))
    return list(collection.index.list(query).records)


# Documents and links as nodes and edges: the neighbourhood of one document, and the graph of a collection.


MAX_NEIGHBOURS = 24
"""Maximum number of neighbours of one document in its graph."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document one link away."""

    record: Record
    outgoing: bool
    incoming: bool


Adjacency = Mapping[Address, tuple[frozenset[Address], frozenset[Address]]]
"""Outgoing and incoming neighbours of every linked document."""


def adjacency(collection: Collection, around: AbstractSet[Address] | None = None) -> Adjacency:
    """The neighbours of every linked document, computed now.

    Args:
        collection: The collection.
        around: Documents; the result has these and their neighbours. None for all documents.
    """
    ends = None if around is None else {*around, *chain.from_iterable(collection.index.links(around))}
    out: defaultdict[Address, set[Address]] = defaultdict(set)
    back: defaultdict[Address, set[Address]] = defaultdict(set)
    for source, target in collection.index.links(ends):
        if source != target:
            out[source].add(target)
            back[target].add(source)
    addresses = {*out, *back} if ends is None else ends
    return {address: (frozenset(out.get(address, ())), frozenset(back.get(address, ()))) for address in addresses}


MAX_SINGLE_LINKS = 200
"""Maximum number of pages whose links are read by themselves; for more, those of all pages are."""


class NearLinks:
    """The links of the pages that were asked for and of their neighbours; of all pages once these are many.

    Args:
        collection: The published pages.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._links: dict[Address, tuple[frozenset[Address], frozenset[Address]]] = {}
        self._read: set[Address] = set()
        """The pages that were asked for."""
        self._has_all = False

    def around(self, paths: AnyCollection[str]) -> Adjacency:
        """The outgoing and incoming neighbours of these pages and of their neighbours, among others."""
        missing = {Address(path) for path in paths} - self._read
        if missing and not self._has_all:
            self._has_all = len(missing) > MAX_SINGLE_LINKS
            self._links.update(adjacency(self._collection, None if self._has_all else missing))
        for address in missing:
            self._links.setdefault(address, (frozenset(), frozenset()))
        self._read |= missing
        return self._links


ADJACENCY = PerState(adjacency)
"""Outgoing and incoming neighbours of every linked document."""


def neighbours(collection: Collection, address: Address) -> list[Neighbour]:
    """The documents one link away, at most `MAX_NEIGHBOURS`; those linked in both directions first, then by links."""
    return neighbours_by(ADJACENCY.of(collection), collection, address)


def neighbours_by(links: Adjacency, collection: Collection, address: Address) -> list[Neighbour]:
    """The neighbours of a document as `neighbours` returns them, by the neighbours of all documents."""
    out, back = links.get(address, (frozenset(), frozenset()))
    degree = Counter({address: len(links[address][0]) + len(links[address][1]) for address in out | back})
    both = out & back
    chosen = nsmallest(MAX_NEIGHBOURS, out | back, key=lambda address: (address not in both, -degree[address], address))
    return [Neighbour(record, record.address in out, record.address in back) for record in records(collection, chosen)]


@dataclass(frozen=True, slots=True)
class SiteGraph:
    """Every document of a collection and the links between them."""

    nodes: tuple[Record, ...]
    """Records of the documents by path."""
    edges: tuple[tuple[int, int], ...]
    """Positions in `nodes` of the source and the target of each link."""
    most_linked: tuple[tuple[int, int], ...]
    """Positions in `nodes` with their number of links in and out, those with most links first."""


def _graph(collection: Collection) -> SiteGraph:
    nodes = tuple(every_document(collection))
    at = {record.address: number for number, record in enumerate(nodes)}
    edges = tuple((at[a], at[b]) for a, b in collection.index.links() if a != b and a in at and b in at)
    degrees = Counter(end for edge in edges for end in edge)
    order = sorted(range(len(nodes)), key=lambda number: (-degrees[number], nodes[number].title))
    return SiteGraph(nodes, edges, tuple((number, degrees[number]) for number in order))


GRAPHS = PerState(_graph)
"""The whole graph of each collection."""


# Backlinks of a document, and its unlinked mentions.


MAX_MENTIONS = 20
"""Unlinked mentions that are listed."""
MIN_NAME_LETTERS = 3
"""Minimum letters and digits of a title or alias that is searched for; shorter ones are in too many texts."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A document that links to another one."""

    found: FoundDocument
    sentences: tuple[str, ...]
    """The distinct sentences that contain the links."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that names another one without linking to it."""

    found: FoundDocument
    snippet: str


@dataclass(frozen=True, slots=True)
class Backlinks:
    """The documents that link to another."""

    total: int
    shown: list[Backlink]
    """The requested part of the documents, by path; those of other collections last."""


def backlinks(
    collections: Collections, collection: Collection, address: Address, limit: int, start: int = 0
) -> Backlinks:
    """The documents that link to a document or file, each once.

    Args:
        collections: All collections that the reader may see.
        collection: The collection of the document.
        address: The document or file.
        limit: Maximum number of shown documents. Only these are read.
        start: Position of the first shown document, from 0.
    """
    names = tuple(other_collection.name for other_collection in collections)
    states = tuple(other_collection.index.generation for other_collection in collections)
    key = (collection.store.identity, address, names, states, limit, start)
    return _KNOWN.get(key) or _KNOWN.put(key, _found(collections, collection, address, (start, limit)), 1)


MAX_KNOWN = 2_000
"""Maximum number of documents whose backlinks are cached."""
_KNOWN: BoundedCache[Backlinks] = BoundedCache(MAX_KNOWN)


def _found(collections: Collections, collection: Collection, address: Address, window: tuple[int, int]) -> Backlinks:
    start, limit = window
    linking = sorted(ADJACENCY.of(collection).get(address, ((), ()))[1])
    read = linking[start : start + limit]
    sentences = _by_source(collection.index.links_to(address, sources=read)) if read else {}
    every = [_Source(collection, source, sentences.get(source, [])) for source in linking]
    for other, into in by_name(collections, collection, address):
        every += [_Source(other, source, kept_texts) for source, kept_texts in _by_source(into).items()]
    return Backlinks(
        len(every), [backlink for source in every[start : start + limit] if (backlink := source.backlink())]
    )


def mentions(collection: Collection, record: Record, limit: int = MAX_MENTIONS) -> list[Mention]:
    """Documents that contain the title or an alias of a document as a phrase and do not link to it, at most `limit`."""
    linking = {link.source for link in collection.index.links_to(record.address, sentences=False)}
    excluded = (record.address, *linking)
    result: dict[Address, Mention] = {}
    for name in (record.title, *record.aliases):
        phrase = plain_query(name)
        if sum(map(str.isalnum, phrase)) < MIN_NAME_LETTERS:
            continue
        query = SearchQuery(text=f'"{phrase}"', filter=Filter(without=excluded), limit=limit, sections=1, prefix=False)
        # Not `services.searches`: without a page that has the phrase, it returns pages that have its words.
        for hit in collection.index.search(query).hits:
            snippet = hit.sections[0].snippet if hit.sections else ""
            result.setdefault(hit.record.address, Mention(FoundDocument(collection, hit.record), snippet))
    return list(result.values())[:limit]


@dataclass(frozen=True, slots=True)
class _Source:
    collection: Collection
    address: Address
    sentences: list[str]

    def backlink(self) -> Backlink | None:
        """The backlink; None if the document was deleted meanwhile."""
        record = self.collection.index.record(self.address)
        return Backlink(FoundDocument(self.collection, record), tuple(self.sentences)) if record else None


def _by_source(links: list[ResolvedLink]) -> dict[Address, list[str]]:
    """The distinct sentences by document."""
    sentences: dict[Address, list[str]] = {}
    for link in links:
        kept_sentences = sentences.setdefault(link.source, [])
        if link.sentence and link.sentence not in kept_sentences:
            kept_sentences.append(link.sentence)
    return sentences
