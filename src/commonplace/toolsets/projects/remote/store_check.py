"""Checks whether a folder is a project store. Other folders are never written, committed or pushed unless adopted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import ConfigError, GitError, KnowledgeError, StorageError
from commonplace.store.discovery import find_repository
from commonplace.store.disk.folder import Folder
from commonplace.store.git.past.revision_walk import commits_touching
from commonplace.store.git.repository import GitRepository
from commonplace.toolsets.projects.remote.subfolders import Subfolders
from commonplace.toolsets.projects.rules.registry import (
    ACTIVITY_FILE,
    IGNORE_FILE,
    INDEX_FILE,
    PROJECTS_KEY,
    Registry,
    ignores_log,
    read_registry,
)

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
    found = _look(path.resolve())
    if _is_store(found, who):
        return False
    if not adopt:
        raise ConfigError(
            f"{path.resolve().name!r} is not a project store: it contains other files, and neither an {INDEX_FILE} "
            "that names existing projects nor a first commit of this server. Nothing was written.",
            kind="store",
            hint="Name a new or empty folder, or leave out PATH for the default store. To make a store in this very "
            "folder, start once with --adopt; its other files are never committed.",
        )
    _require_adoptable(found)
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


def _is_store(found: _FolderContents, who: Author) -> bool:
    names_projects = found.registry and any(
        _is_project(found.root, folder, empty=False) for folder in found.registry.folders.values()
    )
    return bool(names_projects) or _is_bare(found) or _is_committed(found, who)


def _is_bare(found: _FolderContents) -> bool:
    """Whether the folder contains nothing but projects, or nothing at all."""
    if found.odd or not found.names <= {INDEX_FILE, PROJECTS_KEY, IGNORE_FILE}:
        return False
    if found.registry or PROJECTS_KEY in found.names:
        return True
    if INDEX_FILE in found.names or (found.repository and _tip(found.repository)):
        return False
    return IGNORE_FILE not in found.names or ignores_log(_content(found.root, IGNORE_FILE))


def _is_committed(found: _FolderContents, who: Author) -> bool:
    """Whether the product or the older server created the first commit, or committed `index.json`."""
    repository, head = found.repository, found.repository and _tip(found.repository)
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


def _require_adoptable(found: _FolderContents) -> None:
    """Reject a folder with entries that would be mistaken for projects, or with commits that would be published.

    Raises:
        ConfigError: there are such entries or commits.
    """
    problem, hint = "", "Name another folder."
    if INDEX_FILE in found.names and found.registry is None:
        problem = f"its {INDEX_FILE} is not a list of projects"
    elif found.odd:
        problem = f"its folder {PROJECTS_KEY!r} contains {found.odd!r}, which is not a project"
    elif found.repository and (count := _unpublished(found.repository)):
        problem = f"{count} commits of its current branch are not on origin/main as last fetched, and would be pushed"
        hint = "Push or fetch them yourself first, or name another folder."
    if problem:
        raise ConfigError(f"{found.root.name!r} cannot be adopted: {problem}.", kind="store", hint=hint)


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
    found = find_repository(root)
    if found is None or found.work_tree != root:
        return None
    try:
        return GitRepository(found.gitdir, root)
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
    kept = any((folder / one).is_dir() for one in _CONTENT_FOLDERS) or (folder / INSTRUCTIONS_FILE).is_file()
    return kept or (empty and not held)


def _is_left(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in (*_MADE_HERE, *SYSTEM_FILES))
