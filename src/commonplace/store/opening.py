"""Finding out what a folder is, and opening the store that fits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commonplace.domain.errors import ConfigError, GitError, StorageError
from commonplace.domain.ports import Store
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.journal import Journal
from commonplace.store.disk.trash import FolderTrash
from commonplace.store.git.bare import BareStore
from commonplace.store.git.past.history import GitHistory, NoHistory
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.writing import GitWriter
from commonplace.store.locking import WriterLock
from commonplace.store.retention import Retention
from commonplace.store.stores import FolderStore, Terms, key_of
from commonplace.store.writing import Writer


def open_store(path: Path, *, commit: Literal["auto", "manual"], state_dir: Path) -> Store:
    """The store of a folder.

    Args:
        path: The folder; it, or one above it, may be a Git repository; it may be a bare repository itself.
        commit: "auto" makes every write one commit, "manual" leaves committing to the user.
        state_dir: Where locks and journals of folders without Git lie; made when first written.

    Raises:
        ConfigError: no such folder, `auto` without Git, or the folder is a repository's inside.
        StorageError: kind "folder": it may not be entered.
    """
    if not os.path.isdir(path):
        raise ConfigError(f"There is no folder {path.name!r}.", hint="Give the path of a folder that exists.")
    folder = Folder(path.resolve())
    found = find_repository(folder.path)
    if found is None:
        if commit == "auto":
            raise ConfigError(
                f"{folder.path.name} is in no Git repository, so writes cannot be committed.",
                hint="Run git init in it, or use --commit manual.",
            )
        return _plain(folder, state_dir)
    try:
        repository = GitRepository(found.gitdir, found.work_tree)
    except GitError as error:
        if commit == "auto":
            raise ConfigError(f"{folder.path.name}: {error}", hint=error.hint) from error
        return _plain(folder, state_dir)
    if found.work_tree is None:
        return _bare(folder, repository)
    return _in_repository(folder, repository, state_dir, commits=commit == "auto")


@dataclass(frozen=True, slots=True)
class Found:
    """A repository that a folder belongs to."""

    gitdir: Path
    work_tree: Path | None
    """None when the folder is the repository itself, or lies in it."""


def find_repository(folder: Path) -> Found | None:
    """The repository that a folder belongs to, found as Git does it: upwards, within one file system.

    `GIT_CEILING_DIRECTORIES` is heeded. libgit2's own search is not used: pygit2 1.21 miscounts references when there
    is nothing to find, which ends the process in the long run.

    Raises:
        StorageError: kind "folder": the folder may not be entered.
    """
    try:
        return _found_from(folder)
    except OSError as error:
        raise StorageError(
            f"The folder {folder.name!r} cannot be looked at: {error.strerror}.",
            kind="folder",
            hint="Let this user enter and read it, or name another folder.",
        ) from error


def _found_from(folder: Path) -> Found | None:
    ceilings = {Path(text) for text in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if text}
    device = folder.stat().st_dev
    for place in (folder, *folder.parents):
        if place != folder and (place in ceilings or place.stat().st_dev != device):
            return None
        gitdir = _gitdir_of(place)
        if gitdir is not None:
            return Found(gitdir, place)
        if _is_gitdir(place):
            return Found(place, None)
    return None


def _gitdir_of(work_tree: Path) -> Path | None:
    """The repository that `.git` is, or that the file `.git` names; None if there is none."""
    dot_git = work_tree / ".git"
    if dot_git.is_dir():
        return dot_git.resolve() if _is_gitdir(dot_git) else None
    try:
        text = dot_git.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    named = work_tree / text.removeprefix("gitdir:").strip()
    return named.resolve() if text.startswith("gitdir:") and named.is_dir() else None


def _is_gitdir(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _bare(folder: Folder, repository: GitRepository) -> Store:
    if folder.path != repository.gitdir or not repository.handle.is_bare:
        raise ConfigError(
            f"{folder.path.name} lies inside a Git repository's own files.", hint="Give the folder of the documents."
        )
    return BareStore(repository, key_of(folder))


def _plain(folder: Folder, state_dir: Path) -> FolderStore:
    lock = WriterLock(state_dir / f"{key_of(folder)}.lock")
    journal = Journal(state_dir / f"{key_of(folder)}.journal")
    writer = Writer(folder.path, lock, journal, None)
    return FolderStore(folder, writer, NoHistory(), Terms(retention_of(folder, None, state_dir)))


def _in_repository(folder: Folder, repository: GitRepository, state_dir: Path, *, commits: bool) -> FolderStore:
    below = os.path.relpath(folder.path, repository.root)
    prefix = "" if below == "." else f"{below}/"
    gitdir = repository.gitdir
    git = GitWriter(repository)
    lock, journal = WriterLock(gitdir / "commonplace.lock"), Journal(gitdir / "commonplace.journal")
    writer = Writer(repository.root, lock, journal, git)
    terms = Terms(retention_of(Folder(repository.root), repository, state_dir), prefix, git, commits)
    return FolderStore(folder, writer, GitHistory(repository, prefix, folder), terms)


def retention_of(root: Folder, repository: GitRepository | None, state_dir: Path) -> Retention:
    """What keeps the bytes that writes below a root take away.

    Args:
        root: The work tree, or the folder without Git.
        repository: Whose work tree it is.
        state_dir: As for `open_store`.
    """
    return Retention(root, repository, FolderTrash(state_dir / "trash", key_of(root)))
