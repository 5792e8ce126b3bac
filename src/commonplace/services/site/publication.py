"""The pages of a base that are published: the selection, and a collection in which no other page exists."""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import FileStat
from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json, scalar_text
from commonplace.domain.ports import History, Index, Store
from commonplace.domain.query import ListQuery, Record, RecordPage, ResolvedLink
from commonplace.domain.site_file import PublishRules
from commonplace.services.collections import Collection

_FALSE, _TRUE = frozenset({"false", "no", "off", "0"}), frozenset({"true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that is not published."""

    path: str
    reason: str
    """The reason, such as `draft: true`."""


@dataclass(frozen=True, slots=True)
class PublishedPages:
    """The pages of a base that are published, and those that are not."""

    records: Mapping[str, Record]
    """Records of the published pages by path."""
    left_out: tuple[LeftOut, ...]


def select(records: Sequence[Record], rules: PublishRules) -> PublishedPages:
    """Select the pages that everybody may see.

    Args:
        records: All pages.
        rules: The rules of the base.
    """
    chosen: dict[str, Record] = {}
    left_out: list[LeftOut] = []
    for record in sorted(records, key=lambda record: record.address):
        reason = _reason(record.address.path, record.frontmatter, rules)
        if reason:
            left_out.append(LeftOut(record.address.path, reason))
        else:
            chosen[record.address.path] = record
    return PublishedPages(chosen, tuple(left_out))


def _reason(path: str, values: Mapping[str, Json], rules: PublishRules) -> str:
    """The reason why a page is not published; "" if it is."""
    folder = excluded_by(path, rules)
    if folder:
        return f"excluded: {folder}"
    lowered = {key.lower(): value for key, value in values.items()}
    for key in ("draft", "private"):
        if _flag(lowered.get(key)) in _TRUE:
            return f"{key}: true"
    for key in ("publish", "published", "public"):
        if _flag(lowered.get(key)) in _FALSE:
            return f"{key}: false"
    for key in ("visibility", "status", "access"):
        value = _flag(lowered.get(key))
        if value in {"private", "draft", "internal", "secret", "hidden"}:
            return f"{key}: {value}"
    if rules.only_marked and _flag(lowered.get("publish")) not in _TRUE:
        return "not marked with publish: true"
    return ""


def _flag(value: Json) -> str:
    return scalar_text(value).strip().lower()


def excluded_by(path: str, rules: PublishRules) -> str:
    """The excluded folder or page that a path is in; "" for none. Case and Unicode form do not count."""
    bare = fold(path)
    for one in rules.exclude:
        rule = fold(one)
        if bare == rule or bare.startswith(f"{rule}/") or bare in {f"{rule}.md", f"{rule}.mdx"}:
            return one
    return ""


def published_collection(collection: Collection, selection: PublishedPages) -> tuple[Collection, frozenset[str]]:
    """The collection with the published pages alone, in which no other page can be read, found or linked to.

    Second are the names of the other pages.
    """
    hidden = frozenset(Address(one.path) for one in selection.left_out)
    index = PublishedIndex(collection.index, selection.records, hidden)
    published = replace(
        collection,
        store=_PublishedStore(collection.store, hidden),  # type: ignore[arg-type]
        index=index,  # type: ignore[arg-type]
        semantic_index=None,
        past=None,
        proposals=None,
    )
    return published, index.hidden_names()


class _PublishedStore:
    """A store in which the files of hidden pages do not exist. It can only be read."""

    def __init__(self, store: Store, hidden: AnyCollection[Address]) -> None:
        self._store = store
        self._hidden = hidden

    @property
    def identity(self) -> str:
        """A key of its own, so that nothing that is derived from all pages is used."""
        return f"{self._store.identity}#published"

    @property
    def history(self) -> History:
        """The commits of the whole base."""
        return self._store.history

    def read(self, address: Address) -> bytes:
        """The bytes of a file that is published."""
        if address in self._hidden:
            raise NotFoundError("There is no such file.", kind="file")
        return self._store.read(address)

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a file that is published."""
        return None if address in self._hidden else self._store.stat(address)


class PublishedIndex:
    """An index in which hidden pages do not exist. It has only what pages are rendered with.

    Args:
        index: The index of all pages.
        records: The records of the published pages by path.
        hidden: The addresses of all others.
    """

    def __init__(self, index: Index, records: Mapping[str, Record], hidden: AnyCollection[Address]) -> None:
        self._index = index
        self._records = records
        self._hidden = hidden

    @property
    def generation(self) -> int:
        """The generation of the whole index."""
        return self._index.generation

    @property
    def names_version(self) -> tuple[int, int]:
        """The version of the names in the whole index."""
        return self._index.names_version

    def record(self, address: Address) -> Record | None:
        """The record of a published page."""
        return self._records.get(address.path)

    def find(self, reference: str, source: Address | None = None) -> Record | None:
        """The published page that a reference names."""
        found = self._index.find(reference, source)
        return self._records.get(found.address.path) if found else None

    def document(self, address: Address) -> Document:
        """A published page."""
        if address in self._hidden:
            raise NotFoundError("There is no such page.", kind="document")
        return self._index.document(address)

    def resolve(self, document: Document) -> list[ResolvedLink]:
        """Links with their targets. A link to a hidden page has none, and no name."""
        return [self._shown(one) for one in self._index.resolve(document)]

    def _shown(self, resolved: ResolvedLink) -> ResolvedLink:
        if resolved.target is None or resolved.target not in self._hidden:
            return resolved
        return replace(resolved, target=None, link=resolved.link._replace(raw="", target="", other=None))

    def hidden_names(self) -> frozenset[str]:
        """The names by which links name hidden pages, folded: titles, aliases, ids, and ends of paths."""
        names: set[str] = set()
        for address in self._hidden:
            record = self._index.record(address)
            parts = address.path.split("/")
            ends = ["/".join(parts[at:]) for at in range(len(parts))]
            names.update(ends, (end.rpartition(".")[0] for end in ends))
            names.update((record.title, record.id, *record.aliases) if record else ())
        return frozenset(fold(name) for name in names if name)

    def list(self, query: ListQuery) -> RecordPage:
        """The published pages among the addresses of a filter, by path."""
        found = [self._records[one.path] for one in sorted(query.filter.among or ()) if one.path in self._records]
        return RecordPage(records=tuple(found[: query.limit]), total=len(found))

    def links(self) -> Sequence[tuple[Address, Address]]:
        """Every link between two published pages once."""
        known = self._records
        return [pair for pair in self._index.links() if pair[0].path in known and pair[1].path in known]


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The result of a publication."""

    pages: int
    rendered: int
    """Number of pages that were rendered; the others are as the last publication wrote them."""
    written: int
    """Number of files that were created or changed."""
    removed: int
    """Number of files of an earlier publication that were removed."""
    files: int
    """Number of pictures and other files that pages use."""
    redirects: int
    left_out: tuple[LeftOut, ...]
    broken: tuple[tuple[str, str], ...]
    """Page and target of each link that leads nowhere in the base, either."""
    searchable: bool = False
    """Whether the pages can be searched."""
    notices: tuple[str, ...] = ()
    """Sentences about parts that were not written."""


def previous_paths(collection: Collection, records: Mapping[str, Record], limit: int) -> Iterator[tuple[str, str]]:
    """The old and the current path of each renamed page, the newest renames first.

    Args:
        collection: The collection with the history.
        records: The records of the published pages by path.
        limit: Maximum number of commits that are looked at.
    """
    history = collection.store.history
    if not history.available:
        return
    current: dict[str, str] = {path: path for path in records}
    for commit in history.log(None, limit=limit):
        for new, old in history.renames(commit.id).items():
            if new.path in current and old.path not in current:
                current[old.path] = current[new.path]
                yield old.path, current[old.path]
