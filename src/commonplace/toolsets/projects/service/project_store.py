"""Cache of documents prepared for searching, valid while their files do not change."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from threading import Lock
from typing import Protocol, TypeVar

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Author, FileStat, Receipt
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress, Store, Transaction
from commonplace.domain.proposals import ProposalBranches, ServedView
from commonplace.domain.words.amounts import amount
from commonplace.services.findings import own_findings
from commonplace.services.writes.recorded import record_new_findings
from commonplace.toolsets.projects.rules.limits import check_project_id
from commonplace.toolsets.projects.rules.registry import (
    EMPTY_REGISTRY,
    INDEX_FILE,
    PROJECTS_KEY,
    Registry,
    folder_slug,
    read_registry,
)
from commonplace.toolsets.projects.rules.search import NO_DOCUMENTS, SearchableDocument, SearchableDocuments, searchable
from commonplace.toolsets.projects.rules.todos import TodoInfo

MAX_CACHED_FOLDERS = 64
"""Maximum number of cached projects; the least recently searched is evicted."""
SETTLED_NS = 50_000_000
"""Minimum age of a file's last write in nanoseconds at which its cached text is trusted; a younger file is read again.

Within one tick of the file system's clock, a second change of the same length would not be visible.
"""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The cached documents of a folder."""

    files: Mapping[str, FileStat]
    """Stat data at the time of reading, without the files that must be read again."""
    texts: SearchableDocuments
    is_settled: bool = True
    """Whether `files` contains the files of all texts."""


_NOTHING = _CachedFolder({}, NO_DOCUMENTS)


class SearchTextCache:
    """The searchable texts of the most recently searched projects. Thread-safe."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, _CachedFolder] = OrderedDict()
        self._lock = Lock()

    def texts(
        self, folder: str, files: Mapping[str, FileStat], read: Callable[[Address], bytes]
    ) -> SearchableDocuments:
        """The texts of these files. Reads only files that have changed.

        A file that is deleted before it is read, or whose name is not a valid address, is omitted.
        """
        with self._lock:
            cached_folder = self._folders.get(folder, _NOTHING)
        rest = (
            cached_folder
            if cached_folder.is_settled and cached_folder.files == files
            else _kept(folder, files, cached_folder, read)
        )
        with self._lock:
            self._folders[folder] = rest
            self._folders.move_to_end(folder)
            while len(self._folders) > MAX_CACHED_FOLDERS:
                self._folders.popitem(last=False)
        return rest.texts


def _kept(
    folder: str, files: Mapping[str, FileStat], cached_folder: _CachedFolder, read: Callable[[Address], bytes]
) -> _CachedFolder:
    there = dict(files)
    before = cached_folder.files
    differing = [name for name, stat in files.items() if before.get(name) != stat]
    changed: list[SearchableDocument] = []
    for name in differing:
        try:
            address = parse_address(f"{folder}/{name}")
            changed.append(searchable(name, read_document(address, read(address))))
        except (NotFoundError, InvalidInputError):
            there.pop(name)
            continue
        if time.time_ns() - files[name].mtime_ns < SETTLED_NS:
            there.pop(name)
    # `before` is not used here: it omits files that were written shortly before they were read.
    removed = {text.filename for text in cached_folder.texts.all} - files.keys()
    texts = cached_folder.texts.updated({*differing, *removed}, changed)
    return _CachedFolder(there, texts, is_settled=len(there) == len(texts.all))


# The store of all projects: maps ids to folders, and writes each change as one commit.


IDENTITY = Author("Knowledge MCP Server", "knowledge-mcp@localhost", commits=True)
MAX_WRITE_ATTEMPTS = 3
"""Maximum attempts of a write; a write is retried if a file is changed by hand meanwhile."""
MAX_VERSIONS = 50
"""Number of versions of `index.json` that are searched for an intact one."""

T = TypeVar("T")
log = logging.getLogger(__name__)
_INDEX = Address(INDEX_FILE)


@dataclass(frozen=True, slots=True)
class ProjectStore:
    """The open store of all projects."""

    path: str
    """Location of the store, as shown to users."""
    store: Store
    folders: ProjectFolders
    upstream: Upstream
    activity: ActivityLog
    branches: Callable[[], ProposalBranches | None] = lambda: None
    """Returns the proposals to change the store; None if it takes none."""
    search_texts: SearchTextCache = field(default_factory=SearchTextCache)
    shown_todos: dict[tuple[str, int], TodoInfo] = field(default_factory=dict[tuple[str, int], TodoInfo])
    """The list that had each number when this process last created or showed it."""

    def write(self, project_id: str, operation: str, act: Callable[[Transaction], T]) -> T:
        """Run a function on a transaction that becomes one commit; return its result once the commit is durable.

        Raises:
            ConflictError: a file was changed by hand during each of `MAX_WRITE_ATTEMPTS` attempts.
            KnowledgeError: the error of the function or the store; nothing was changed.
        """
        message = f"Update knowledge for {project_id}: {operation}"
        for attempt in range(1, MAX_WRITE_ATTEMPTS):
            try:
                return self._write(message, act)
            except ConflictError:
                log.info("a file was changed by hand during a write (attempt %d)", attempt)
        return self._write(message, act)

    def registry(self) -> Registry:
        """The current registry. Rebuilds and commits a damaged or missing `index.json`."""
        registry = self._read(self.store.read)
        if registry is not None:
            return registry
        rebuilt = self._rebuilt()
        if rebuilt == EMPTY_REGISTRY or self.store.read_only_reason:
            return rebuilt
        try:
            return self.write("all projects", f"Rebuilt {INDEX_FILE}", self._repair)
        except KnowledgeError as error:  # the existing projects can still be read
            log.warning("%s is damaged and cannot be rebuilt now: %s", INDEX_FILE, error)
            return rebuilt

    def folder(self, project_id: str) -> str:
        """Return the folder of a project.

        Raises:
            InvalidInputError: kind "project_id": the id is invalid; kind "path": the folder's name is not allowed.
            NotFoundError: kind "project": there is no such project.
        """
        registry = self.registry()
        folder = registry.folders.get(check_project_id(project_id))
        if folder is None:
            raise unknown_project(project_id, registry)
        return _path(project_id, folder)

    def folder_for_writing(self, transaction: Transaction, project_id: str, *, create: bool = False) -> str:
        """Return a project's folder inside a transaction; `create` creates a missing project.

        Raises:
            NotFoundError: kind "project": there is no such project.
            InvalidInputError: kind "path": the folder's name is not allowed.
        """
        registry = self._repair(transaction)
        folder = registry.folders.get(check_project_id(project_id))
        if folder is None and create:
            used = set(registry.folders.values())
            folder = folder_slug(project_id, lambda name: name in used or self.folders.exists(f"{PROJECTS_KEY}/{name}"))
            transaction.put(_INDEX, registry.with_project(project_id, folder).content, keep=True)
        if folder is None:
            raise unknown_project(project_id, registry)
        return _path(project_id, folder)

    def remove(self, transaction: Transaction, project_id: str) -> None:
        """Remove a project with all its files.

        Raises:
            NotFoundError: kind "project": there is no such project.
        """
        registry = self._repair(transaction)
        folder = registry.folders.get(check_project_id(project_id))
        if folder is None:
            raise unknown_project(project_id, registry)
        for path in self.folders.files(_path(project_id, folder)):
            transaction.remove(Address(path))
        transaction.put(_INDEX, registry.without(project_id).content, keep=True)

    def proposed_files(self) -> Iterator[Address]:
        """The files that open proposals add, whose numbers a new list or task must not get."""
        branches = self.branches()
        if branches is not None:
            for proposal in branches.listed():
                yield from (file.address for file in branches.files(proposal) if file.proposed and not file.base)

    def over(self, store: Store) -> ProjectStore:
        """The same projects with the changes of a proposal, or to be read only."""
        folders = ProposedFolders(self.folders, store) if isinstance(store, ServedView) else self.folders
        return replace(self, store=store, folders=folders, shown_todos={})

    def _write(self, message: str, act: Callable[[Transaction], T]) -> T:
        with self.store.transaction(message, IDENTITY) as transaction:
            self.store.folders(
                ""
            )  # a listing applies the waiting writes: `act` looks on disk for free names and numbers
            noted = _NotedTransaction(transaction)
            result = act(noted)
        self.upstream.committed()
        for address, (before, after) in noted.changes.items():
            if address.is_document:
                record_new_findings(own_findings(address, before, after))
        return result

    def _repair(self, transaction: Transaction) -> Registry:
        """The registry inside a transaction; rebuilds a damaged `index.json`."""
        registry = self._read(transaction.read)
        if registry is None:
            registry = self._rebuilt()
            if registry != EMPTY_REGISTRY:
                log.warning(
                    "%s was damaged or missing; it is rebuilt with %d projects", INDEX_FILE, len(registry.folders)
                )
                transaction.put(_INDEX, registry.content, keep=True)
        return registry

    def _read(self, read: Callable[[Address], bytes]) -> Registry | None:
        try:
            return read_registry(read(_INDEX))
        except NotFoundError:
            return None

    def _rebuilt(self) -> Registry:
        """The existing folders as projects, with the ids from the last intact `index.json`."""
        last = self._last_whole()
        there = self.folders.subfolders(PROJECTS_KEY)
        folders = {project_id: folder for project_id, folder in last.folders.items() if folder in there}
        unknown = {folder: folder for folder in there if folder not in folders.values() and folder not in folders}
        return Registry({**folders, **unknown}, last.others)

    def _last_whole(self) -> Registry:
        history = self.store.history
        for commit in history.log(_INDEX, limit=MAX_VERSIONS) if history.available else ():
            try:
                registry = read_registry(history.read(_INDEX, commit.id))
            except NotFoundError:
                continue
            if registry is not None:
                return registry
        return EMPTY_REGISTRY


@dataclass(frozen=True, slots=True)
class ProposedFolders:
    """`ProjectFolders` of the store with the changes of a proposal."""

    served: ProjectFolders
    store: ServedView

    def subfolders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, except hidden ones and those without a file left."""
        start = f"{path}/"
        changed = [address.path for address in self.store.changed() if address.path.startswith(start)]
        touched = {name for name, slash, _ in (item.removeprefix(start).partition("/") for item in changed) if slash}
        names = {name for name in touched if not name.startswith(".") and self.files(start + name)}
        return sorted({*self.served.subfolders(path), *names} - (touched - names))

    def exists(self, path: str) -> bool:
        """Whether the folder exists, or a file is proposed in it."""
        return self.served.exists(path) or bool(self.files(path))

    def documents(self, path: str) -> Mapping[str, FileStat]:
        """Metadata by name of the Markdown files directly in a folder, except hidden ones."""
        documents = dict(self.served.documents(path))
        for address, revision in self.store.changed().items():
            folder, _, name = address.path.rpartition("/")
            if folder == path and address.is_document and not name.startswith("."):
                documents.pop(name, None)
                stat = self.store.stat(address) if revision else None
                if stat is not None:
                    documents[name] = stat
        return documents

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, including hidden ones."""
        changed = {address.path: revision for address, revision in self.store.changed().items()}
        proposed = [item for item, revision in changed.items() if revision and item.startswith(f"{path}/")]
        return [*(item for item in self.served.files(path) if item not in changed), *proposed]


@dataclass(frozen=True, slots=True)
class _NotedTransaction:
    """A transaction that notes the bytes of each file before and after."""

    inner: Transaction
    changes: dict[Address, tuple[bytes | None, bytes | None]] = field(
        default_factory=dict[Address, tuple[bytes | None, bytes | None]]
    )

    def read(self, address: Address) -> bytes:
        return self.inner.read(address)

    def exists(self, address: Address) -> bool:
        return self.inner.exists(address)

    def is_ignored(self, address: Address) -> bool:
        return self.inner.is_ignored(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        before = self._before(address)
        self.inner.put(address, content, keep=keep, moved_from=moved_from)
        self.changes[address] = before, content

    def remove(self, address: Address, *, keep: bool = True) -> None:
        before = self._before(address)
        self.inner.remove(address, keep=keep)
        self.changes[address] = before, None

    def retain(self, address: Address) -> None:
        self.inner.retain(address)

    def commit_change_only(self, address: Address) -> None:
        self.inner.commit_change_only(address)

    @property
    def receipt(self) -> Receipt:
        return self.inner.receipt

    def _before(self, address: Address) -> bytes | None:
        if address in self.changes:
            return self.changes[address][0]
        return self.inner.read(address) if self.inner.exists(address) else None


def _path(project_id: str, folder: str) -> str:
    """The path of a project's folder; checked because `index.json` may have been edited by hand."""
    path = f"{PROJECTS_KEY}/{folder}"
    try:
        parse_address(path)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"The folder that {INDEX_FILE} gives project '{project_id}' cannot be served",
            kind="path",
            hint=f"Rename the folder, and put its new name into {INDEX_FILE}.",
        ) from error
    return path


def unknown_project(project_id: str, registry: Registry) -> NotFoundError:
    """The error for an unknown project, with the most similar id."""
    folded = {folder.casefold(): folder for folder in registry.folders}
    near = get_close_matches(project_id.casefold(), folded, 1)
    return NotFoundError(
        f"Project '{project_id}' not found",
        kind="project",
        hint=(f"Did you mean '{folded[near[0]]}'? " if near else "")
        + "List the projects to see their ids, which are case-sensitive.",
        nearest=[folded[element] for element in near],
    )


# Ports of the project services besides a store: folders, remote, and activity log.


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageStatus:
    """Status of the store with respect to Git and its remote."""

    branch: str
    last_commit: str
    """Subject of the last commit; "" before the first commit."""
    uncommitted: tuple[str, ...]
    """One line for each file that differs from the last commit, as `git status --short` prints it."""
    remote: str
    """`origin/main (up to date)`, `origin/main (n ahead, m behind)` or `No remote configured`."""
    withheld: str
    """The reason why nothing is pushed while the current branch is checked out; "" if it is the published one."""
    rescued: tuple[str, ...]
    """Branches with local commits that were replaced by the remote's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """Result of an explicit sync."""

    files: int
    """Number of committed files."""
    message: str
    """Message of the commit; "" if there was nothing to commit."""
    pushed: bool
    """Whether the remote has every commit now."""
    error: str
    """Why the push failed; "" if it succeeded."""

    @property
    def told(self) -> str:
        """The result as a sentence for people."""
        if self.pushed:
            return "Storage synchronized successfully"
        return f"{amount(self.files, 'file')} committed; not pushed: {self.error}"


class ProjectFolders(Protocol):
    """The folders of the store, read without following links."""

    def subfolders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, except hidden ones; empty if the folder is missing."""
        ...

    def exists(self, path: str) -> bool:
        """Whether the folder exists."""
        ...

    def documents(self, path: str) -> Mapping[str, FileStat]:
        """Metadata by name of the Markdown files directly in a folder, except hidden ones, in no particular order."""
        ...

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, including hidden ones."""
        ...


class Upstream(Protocol):
    """The store's remote. Every call except `status` and `sync` returns without waiting for the network."""

    def start(self) -> None:
        """Start background synchronization with the remote. Does nothing if already started."""
        ...

    def wait_started(self) -> None:
        """Start, and wait until the first fetch has ended or timed out."""
        ...

    def committed(self) -> None:
        """Report that there is a new commit to push."""
        ...

    def status(self) -> StorageStatus:
        """Status as of the last fetch. Makes no network call."""
        ...

    def withheld(self) -> str:
        """The reason why commits are not pushed while the current branch is checked out; "" if they are.

        Makes no network call.
        """
        ...

    def sync(self, progress: Progress | None = None) -> SyncOutcome:
        """Commit every manual change, integrate the remote's commits, and push.

        Args:
            progress: Called after each of these three steps.

        Raises:
            GitError, StorageError, ReadOnlyError: the commit failed. A failed push is reported in the outcome.
        """
        ...


class ActivityLog(Protocol):
    """A log of calls."""

    def record(self, entry: JsonObject) -> None:
        """Log one call. Returns at once and never fails."""
        ...
