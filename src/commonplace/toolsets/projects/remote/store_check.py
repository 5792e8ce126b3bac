"""The folders of projects below the root of their store, and checks of the store."""

from __future__ import annotations

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from threading import Lock

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, Address
from commonplace.domain.changes import Author, FileStat
from commonplace.domain.errors import ConfigError, GitError, KnowledgeError, StorageError
from commonplace.store.discovery import find_repository
from commonplace.store.disk.folder import Folder, file_stat, opened_folder
from commonplace.store.disk.inotify import InotifyQueue, UnwatchableError, reports_changes
from commonplace.store.git.past.revision_walk import commits_touching
from commonplace.store.git.repository import GitRepository
from commonplace.toolsets.projects.rules.registry import (
    ACTIVITY_FILE,
    IGNORE_FILE,
    INDEX_FILE,
    PROJECTS_KEY,
    Registry,
    ignores_log,
    read_registry,
)

# Checks whether a folder is a project store. Other folders are never written, committed or pushed unless adopted.


INSTRUCTIONS_FILE = "main.md"
_CONTENT_FOLDERS = ("knowledge", "TODO")
SYSTEM_FILES = (".DS_Store", "Thumbs.db", "desktop.ini", ".idea", ".vscode", "*.swp", "*.swo", "*~")
"""Names of files that operating systems and editors create."""
_MADE_HERE = (".git", ACTIVITY_FILE, ".commonplace-*")
_MAX_COMMITS = 50
"""Maximum number of commits of `index.json` that are examined."""


@dataclass(frozen=True, slots=True)
class _FolderContents:
    """The contents of a folder."""

    root: Path
    registry: Registry | None
    """The parsed `index.json`; None if it is missing or damaged."""
    names: frozenset[str]
    """Names of all entries except files of the system and of the product."""
    odd: str
    """A folder in `projects` that is not a project; "" for none."""
    repository: GitRepository | None
    """The repository whose work tree is this folder; None if there is none."""


def require_store(path: Path, who: Author, *, adopt: bool) -> bool:
    """Check that a folder is a project store. Returns whether it has to be adopted.

    A store is a folder whose `index.json` names an existing project, whose first commit or `index.json` was committed
    by the product or by the older server, or that contains nothing but projects. A missing or empty folder becomes a
    store.

    Args:
        path: The folder, which may be missing.
        who: Author of the commits of the product and of the older server.
        adopt: Whether to accept any other folder.

    Raises:
        ConfigError: the folder is not a store, or cannot be adopted.
        StorageError: the folder cannot be read.
    """
    if not os.path.isdir(path):
        return False
    found_contents = _look(path.resolve())
    if _is_store(found_contents, who):
        return False
    if not adopt:
        raise ConfigError(
            f"{path.resolve().name!r} is not a project store: it contains other files, and neither an {INDEX_FILE} "
            "that names existing projects nor a first commit of this server. Nothing was written.",
            kind="store",
            hint="Name a new or empty folder, or leave out PATH for the default store. To make a store in this very "
            "folder, start once with --adopt; its other files are never committed.",
        )
    _require_adoptable(found_contents)
    return True


def _look(root: Path) -> _FolderContents:
    try:
        names = frozenset(name for name in os.listdir(root) if not _is_left(name))  # noqa: PTH208 - names are enough
    except OSError as error:
        raise StorageError(
            f"The folder of the projects cannot be read: {error.strerror}.",
            kind="collection",
            hint="Check its permissions, or name another folder.",
        ) from error
    return _FolderContents(root, read_registry(_content(root, INDEX_FILE)), names, _odd_folder(root), _repository(root))


def _is_store(found_contents: _FolderContents, who: Author) -> bool:
    names_projects = found_contents.registry and any(
        _is_project(found_contents.root, folder, empty=False) for folder in found_contents.registry.folders.values()
    )
    return bool(names_projects) or _is_bare(found_contents) or _is_committed(found_contents, who)


def _is_bare(found_contents: _FolderContents) -> bool:
    """Whether the folder contains nothing but projects, or nothing at all."""
    if found_contents.odd or not found_contents.names <= {INDEX_FILE, PROJECTS_KEY, IGNORE_FILE}:
        return False
    if found_contents.registry or PROJECTS_KEY in found_contents.names:
        return True
    if INDEX_FILE in found_contents.names or (found_contents.repository and _tip(found_contents.repository)):
        return False
    return IGNORE_FILE not in found_contents.names or ignores_log(_content(found_contents.root, IGNORE_FILE))


def _is_committed(found_contents: _FolderContents, who: Author) -> bool:
    """Whether the product or the older server created the first commit, or committed `index.json`."""
    repository, head = found_contents.repository, found_contents.repository and _tip(found_contents.repository)
    if not repository or not head:
        return False
    if repository.entry(head, INDEX_FILE):
        for number, (commit, _) in enumerate(commits_touching(repository, head, INDEX_FILE)):
            if number == _MAX_COMMITS:
                break
            if _is_of(commit, who):
                return True
    commits = repository.walk(head, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    return any(not commit.parent_ids and _is_of(commit, who) for commit in commits)


def _is_of(commit: pygit2.Commit, who: Author) -> bool:
    return any((person.name, person.email) == (who.name, who.email) for person in (commit.author, commit.committer))


def _require_adoptable(found_contents: _FolderContents) -> None:
    """Reject a folder with entries that would be mistaken for projects, or with commits that would be published.

    Raises:
        ConfigError: there are such entries or commits.
    """
    problem, hint = "", "Name another folder."
    if INDEX_FILE in found_contents.names and found_contents.registry is None:
        problem = f"its {INDEX_FILE} is not a list of projects"
    elif found_contents.odd:
        problem = f"its folder {PROJECTS_KEY!r} contains {found_contents.odd!r}, which is not a project"
    elif found_contents.repository and (count := _unpublished(found_contents.repository)):
        problem = f"{count} commits of its current branch are not on origin/main as last fetched, and would be pushed"
        hint = "Push or fetch them yourself first, or name another folder."
    if problem:
        raise ConfigError(f"{found_contents.root.name!r} cannot be adopted: {problem}.", kind="store", hint=hint)


def _unpublished(repository: GitRepository) -> int:
    head = _tip(repository)
    if not head or "origin" not in repository.remotes():
        return 0
    return sum(1 for _ in repository.walk(head, SortMode.NONE, hidden=[repository.tip("refs/remotes/origin/main")]))


def _content(root: Path, name: str) -> bytes:
    """The bytes of a regular file; b"" if there is none."""
    try:
        return Folder(root).read(Address(name))
    except KnowledgeError:
        return b""


def _repository(root: Path) -> GitRepository | None:
    repository = find_repository(root)
    if repository is None or repository.work_tree != root:
        return None
    try:
        return GitRepository(repository.gitdir, root)
    except GitError:  # reported when the repository is opened
        return None


def _tip(repository: GitRepository) -> str:
    try:
        return repository.head
    except GitError:
        return ""


def _odd_folder(root: Path) -> str:
    return next(
        (name for name in Subfolders(root).subfolders(PROJECTS_KEY) if not _is_project(root, name, empty=True)), ""
    )


def _is_project(root: Path, name: str, *, empty: bool) -> bool:
    """Whether a folder contains what projects contain; true if it may not be read.

    Args:
        root: Root of the store.
        name: Name of the folder in `projects`.
        empty: The result for an empty folder.
    """
    folder = root / PROJECTS_KEY / name
    if folder.is_symlink():
        return False
    try:
        held = os.listdir(folder)  # noqa: PTH208 - names are enough
    except PermissionError:
        return True
    except OSError:
        return False
    exist = (
        any((folder / content_folder).is_dir() for content_folder in _CONTENT_FOLDERS)
        or (folder / INSTRUCTIONS_FILE).is_file()
    )
    return exist or (empty and not held)


def _is_left(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in (*_MADE_HERE, *SYSTEM_FILES))


# Lists the folders of a store: `toolsets.projects.service.project_store.ProjectFolders`.


_ABSENT = (FileNotFoundError, NotADirectoryError)


class Subfolders:
    """The folders below one root. Links are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept = StatCache()

    def subfolders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, except hidden ones; empty if the folder is missing."""
        folders, _ = self._listed(path)
        return sorted(name for name in folders if not name.startswith("."))

    def exists(self, path: str) -> bool:
        """Whether the folder exists."""
        try:
            with opened_folder(self._root, path.split("/")):
                return True
        except OSError:
            return False

    def documents(self, path: str) -> Mapping[str, FileStat]:
        """Metadata by name of the Markdown files directly in a folder, except hidden ones, in no particular order."""
        with _readable(), opened_folder(self._root, path.split("/")) as folder:
            return self._kept.documents(folder, lambda: reports_changes(self._root / path))
        return {}

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, including hidden ones."""
        folders, files = self._listed(path)
        paths = [f"{path}/{name}" for name in files]
        for name in folders:
            paths += self.files(f"{path}/{name}")
        return paths

    def _listed(self, path: str) -> tuple[list[str], list[str]]:
        """Names of the folders and of the regular files in a folder."""
        folders: list[str] = []
        files: list[str] = []
        with _readable(), opened_folder(self._root, path.split("/")) as folder:
            listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                with os.scandir(listed) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.name)
                        elif entry.is_file(follow_symlinks=False):
                            files.append(entry.name)
            finally:
                os.close(listed)
        return folders, files


@contextmanager
def _readable() -> Generator[None]:
    """Treat a missing folder as empty.

    Raises:
        StorageError: the folder exists and cannot be read.
    """
    try:
        yield
    except _ABSENT:
        return
    except OSError as error:
        raise StorageError(f"A folder cannot be read: {error.strerror}.", kind="collection") from error


# A cache of the documents' metadata per folder, valid while inotify reports no change.
#
# Reading the metadata of a thousand files takes as long as searching them. If a folder can be watched, only entries
# changed since the last query are read; otherwise, and in any doubt, all of them are.


MAX_WATCHED_FOLDERS = 64
"""Maximum number of watched folders; the least recently used is evicted."""
MAX_AGE_SECONDS = 30.0
"""Seconds after which all metadata is read again, because inotify does not report every kind of write."""


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """The documents of a watched folder as of the last query."""

    watch: int
    facts: Mapping[str, FileStat]
    doubtful: frozenset[str]
    """Files with another hard link, through which they can change unnoticed."""
    until: float
    """Time of the clock at which all metadata is read again."""


@dataclass(slots=True)
class _FolderStats:
    """Metadata being read from a folder."""

    facts: dict[str, FileStat] = field(default_factory=dict[str, FileStat])
    doubtful: set[str] = field(default_factory=set[str])

    def look(self, name: str, status: os.stat_result) -> None:
        """Add one file."""
        self.facts[name] = file_stat(status)
        if status.st_nlink > 1:
            self.doubtful.add(name)


class StatCache:
    """The cache, updated from the events of inotify. Thread-safe.

    Args:
        clock: A monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._inotify: InotifyQueue | None = None
        self._folders: OrderedDict[tuple[int, int], _CachedFolder] = OrderedDict()
        """Cached folders by device and inode, which identify a folder under any path."""
        self._changed: dict[int, set[str]] = {}
        """Names changed in watched folders since their last query, by watch descriptor."""

    def documents(self, folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Current metadata by name of the Markdown files directly in a folder, except hidden ones.

        Args:
            folder: Descriptor of the folder.
            watchable: Returns whether its file system reports every change.

        Raises:
            OSError: the folder cannot be read.
        """
        status = os.fstat(folder)
        identity = status.st_dev, status.st_ino
        with self._lock:
            self._take_notice()
            refresh_folder = self._folders.get(identity)
            if refresh_folder is None or self._clock() >= refresh_folder.until:
                return self._sweep(identity, folder, watchable)
            names = self._changed.get(refresh_folder.watch, set[str]()) | refresh_folder.doubtful
            if names:
                before, refresh_folder = refresh_folder, _refresh_folder(refresh_folder, folder, names)
                if refresh_folder.doubtful - before.doubtful:  # another hard link to a file of this folder
                    return self._sweep(identity, folder, watchable)
                self._folders[identity] = refresh_folder
                self._changed.pop(refresh_folder.watch, None)
            self._folders.move_to_end(identity)
            return refresh_folder.facts

    def _take_notice(self) -> None:
        if self._inotify is None:
            return
        noticed = self._inotify.read_events() if self._inotify.belongs_to_process else None
        if noticed is None or noticed.overflowed:
            self._inotify = None
            self._folders.clear()
            self._changed.clear()
            return
        for identity, folder in list(self._folders.items()):
            if folder.watch in noticed.changed_folders:
                self._forget(identity)
        if noticed.names:
            watched = {folder.watch for folder in self._folders.values()}
            for number in noticed.names.keys() & watched:
                self._changed.setdefault(number, set()).update(noticed.names[number])

    def _forget(self, identity: tuple[int, int]) -> None:
        folder = self._folders.pop(identity, None)
        if folder:
            self._changed.pop(folder.watch, None)
            if self._inotify:
                self._inotify.unwatch(folder.watch)

    def _sweep(self, identity: tuple[int, int], folder: int, watchable: Callable[[], bool]) -> Mapping[str, FileStat]:
        """Read all metadata. The watch is added first, so that no change is missed."""
        self._forget(identity)
        until = self._clock() + MAX_AGE_SECONDS
        watch = self._watched(folder) if watchable() else None
        try:
            stats = _everything(folder)
        except OSError:
            if watch is not None and self._inotify:
                self._inotify.unwatch(watch)
            raise
        if watch is not None:
            self._folders[identity] = _CachedFolder(watch, stats.facts, frozenset(stats.doubtful), until)
            while len(self._folders) > MAX_WATCHED_FOLDERS:
                self._forget(next(iter(self._folders)))
        return stats.facts

    def _watched(self, folder: int) -> int | None:
        try:
            if self._inotify is None:
                self._inotify = InotifyQueue()
            return self._inotify.watch(folder)
        except UnwatchableError:
            return None


def _everything(folder: int) -> _FolderStats:
    stats = _FolderStats()
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        with os.scandir(listed) as entries:  # file types are known without a call of `stat`
            for entry in entries:
                if _is_document(entry.name) and entry.is_file(follow_symlinks=False):
                    try:
                        stats.look(entry.name, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:  # deleted meanwhile
                        continue
    finally:
        os.close(listed)
    return stats


def _refresh_folder(refresh_folder: _CachedFolder, folder: int, names: Collection[str]) -> _CachedFolder:
    """The folder with updated metadata of some names."""
    stats = _FolderStats(dict(refresh_folder.facts), set(refresh_folder.doubtful))
    for name in filter(_is_document, names):
        stats.doubtful.discard(name)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            stats.facts.pop(name, None)
            continue
        if stat.S_ISREG(status.st_mode):
            stats.look(name, status)
        else:
            stats.facts.pop(name, None)
    return replace(refresh_folder, facts=stats.facts, doubtful=frozenset(stats.doubtful))


def _is_document(name: str) -> bool:
    return name[0] != "." and (name.endswith(".md") or name.lower().endswith(MARKDOWN_SUFFIXES))
