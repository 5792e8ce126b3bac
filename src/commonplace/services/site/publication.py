"""The pages of a base that are published: the selection, and a collection in which no other page exists."""

from __future__ import annotations

import os
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.domain.addresses import Address, document_suffixes, fold
from commonplace.domain.changes import FileStat
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.json import Json, scalar_text
from commonplace.domain.ports import History, Index, Store
from commonplace.domain.query import ListQuery, Record, RecordPage, ResolvedLink
from commonplace.domain.site_file import SITE_FILE, PublishRules, is_meant_as_site_file
from commonplace.services.collections import Collection
from commonplace.services.sites import site_findings, site_with

_FALSE, _TRUE = frozenset({"false", "no", "off", "0"}), frozenset({"true", "yes", "on", "1"})
_MARKS: Sequence[tuple[tuple[str, ...], Mapping[str, str]]] = (
    (("draft", "private"), dict.fromkeys(_TRUE, "true")),
    (("publish", "published", "public"), dict.fromkeys(_FALSE, "false")),
    (("visibility", "status", "access"), {word: word for word in ("private", "draft", "internal", "secret", "hidden")}),
)
"""Keys of the front matter, and the words with which each leaves the page out, as the report shows them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page or file that is not published."""

    path: str
    reason: str
    """The reason, such as `draft: true`."""


@dataclass(frozen=True, slots=True)
class PublishedPages:
    """The pages of a base that are published, and those that are not."""

    records: Mapping[str, Record]
    """Records of the published pages by path."""
    left_out: tuple[LeftOut, ...]


def require_rules(collection: Collection, base: Path) -> tuple[str, ...]:
    """Check that the base says without an error which pages are published. Returns its other errors about the site.

    Args:
        collection: The base.
        base: Its folder.

    Raises:
        InvalidInputError: kind "publish": `commonplace.yaml` cannot be read, is wrong about publishing, or has another
            name.
    """
    problems = [finding.message for finding in site_with(collection, ()).settings.publish_findings]
    names = sorted(file.name for file in base.iterdir())
    problems += [f"{name} is not read. Name it {SITE_FILE}." for name in names if is_meant_as_site_file(name)]
    file = base / SITE_FILE
    if file.is_symlink() or (file.exists() and not file.is_file()):
        problems.append(f"{SITE_FILE} is a link or a folder, so it is not read. Put the file itself there.")
    if problems:
        raise InvalidInputError(
            f"Nothing was published: {' '.join(problems)}",
            kind="publish",
            hint="Valid: `publish: {exclude: [internal, journal/diary.md], only_marked: true}`, one key or both.",
        )
    return tuple(finding.message for finding in site_findings(collection))


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
    flags: dict[str, list[str]] = {}
    for key, value in values.items():
        flags.setdefault(key.strip().lower(), []).extend(_flags(value))
    for keys, words in _MARKS:
        for key in keys:
            word = next((word for word in flags.get(key, ()) if word in words), "")
            if word:
                return f"{key}: {words[word]}"
    if rules.only_marked and _TRUE.isdisjoint(flags.get("publish", ())):
        return "not marked with publish: true"
    return ""


def _flags(value: Json) -> Iterator[str]:
    """The words of a value in lower case; a list has those of its items."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flags(item)
    else:
        yield scalar_text(value).strip().lower()


def excluded_by(path: str, rules: PublishRules) -> str:
    """The excluded folder or page that a path is in; "" for none. Case and Unicode form do not count."""
    bare = fold(path)
    for element in rules.exclude:
        rule = fold(element)
        if bare == rule or bare.startswith(f"{rule}/") or bare in {f"{rule}.md", f"{rule}.mdx"}:
            return element
    return ""


def published_collection(
    collection: Collection, selection: PublishedPages, unlisted: Iterable[str]
) -> tuple[Collection, frozenset[str]]:
    """The collection with the published pages alone, in which no other page can be read, found or linked to.

    Second are the names of the other pages, folded.

    Args:
        collection: The base.
        selection: Its pages.
        unlisted: Paths of further pages that are not published: ignored files, and former names.
    """
    hidden = frozenset(Address(left_out.path) for left_out in selection.left_out)
    index = PublishedIndex(collection.index, selection.records, hidden)
    published = replace(
        collection,
        store=_PublishedStore(collection.store, hidden),  # type: ignore[arg-type]
        index=index,  # type: ignore[arg-type]
        semantic_index=None,
        past=None,
        proposals=None,
    )
    return published, index.hidden_names() | frozenset(fold(name) for path in unlisted for name in _names(path))


def ignored_pages(base: Path, records: AnyCollection[str]) -> Iterator[str]:
    """The paths of the pages in the folder of a base that it does not serve, such as those of ignored folders.

    Args:
        base: The folder.
        records: The paths of all pages that it serves.
    """
    for folder, folders, names in os.walk(base):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = (Path(folder) / name).relative_to(base).as_posix()
            if name.endswith(document_suffixes()) and path not in records:
                yield path


def _names(path: str) -> Iterator[str]:
    """The names by which links name a page: the ends of its path, with and without the suffix."""
    parts = path.split("/")
    for at in range(len(parts)):
        end = "/".join(parts[at:])
        yield end
        yield end.rpartition(".")[0] or end


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
        record = self._index.find(reference, source)
        return self._records.get(record.address.path) if record else None

    def document(self, address: Address) -> Document:
        """A published page."""
        if address in self._hidden:
            raise NotFoundError("There is no such page.", kind="document")
        return self._index.document(address)

    def resolve(self, document: Document) -> list[ResolvedLink]:
        """Links with their targets. A link to a hidden page has none, and no name."""
        return [self._shown(link) for link in self._index.resolve(document)]

    def _shown(self, resolved: ResolvedLink) -> ResolvedLink:
        if resolved.target is None or resolved.target not in self._hidden:
            return resolved
        return replace(resolved, target=None, link=resolved.link._replace(raw="", target="", other=None))

    def hidden_names(self) -> frozenset[str]:
        """The names by which links name hidden pages, folded: titles, aliases, ids, and ends of paths."""
        names: set[str] = set()
        for address in self._hidden:
            record = self._index.record(address)
            names.update(_names(address.path))
            names.update((record.title, record.id, *record.aliases) if record else ())
        return frozenset(fold(name) for name in names if name)

    def list(self, query: ListQuery) -> RecordPage:
        """The published pages among the addresses of a filter, by path."""
        records = [
            self._records[address.path] for address in sorted(query.filter.among or ()) if address.path in self._records
        ]
        return RecordPage(records=tuple(records[: query.limit]), total=len(records))

    def links(self) -> Sequence[tuple[Address, Address]]:
        """Every link between two published pages once."""
        records = self._records
        return [pair for pair in self._index.links() if pair[0].path in records and pair[1].path in records]


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
