"""Detects what a folder is, and opens the store for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from commonplace.domain.errors import ConfigError, GitError
from commonplace.domain.ports import Store
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.ignore_rules import IgnoreRules
from commonplace.store.disk.journal import Journal
from commonplace.store.disk.trash import FolderTrash
from commonplace.store.folder.folder_store import FolderStore, WriteMode, key_of
from commonplace.store.folder.retention import Retention
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.bare import BareStore
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.layout import UntrustedRepositoryError
from commonplace.store.git.layout.discovery import find_repository
from commonplace.store.git.past.history import GitHistory, NoHistory
from commonplace.store.git.past.renames import RenameFinder
from commonplace.store.git.repository import GitRepository


def open_store(path: Path, *, commit: Literal["auto", "manual"], state_dir: Path) -> Store:
    """Open the store of a folder.

    Args:
        path: The folder, which may be inside a Git repository or be a bare repository.
        commit: "auto" commits every write; "manual" leaves commits to the user.
        state_dir: Folder of the locks and journals of folders without Git; created by the first write.

    Raises:
        ConfigError: no such folder, `auto` without Git, or the folder is inside a repository's own files.
        GitError: `auto`, and the repository cannot be read.
        StorageError: kind "folder": the folder may not be entered.
        UntrustedRepositoryError: its repository leads elsewhere, or belongs to another user.
    """
    if not os.path.isdir(path):
        raise ConfigError(f"There is no folder {path.name!r}.", hint="Give the path of a folder that exists.")
    folder = Folder(path.resolve())
    found = find_repository(folder.path)
    if found is None:
        if commit == "auto":
            raise ConfigError(
                f"{folder.path.name} is not in a Git repository, so writes cannot be committed.",
                hint="Run git init in it, or use --commit manual.",
            )
        return _plain(folder, state_dir)
    try:
        repository = GitRepository(found.gitdir, found.work_tree)
    except UntrustedRepositoryError:
        raise
    except GitError as error:
        if commit == "auto":
            raise GitError(f"{folder.path.name}: {error}", kind="repository", hint=error.hint) from error
        return _plain(folder, state_dir)
    if found.work_tree is None:
        return _bare(folder, repository)
    return _in_repository(folder, repository, state_dir, commits=commit == "auto")


def _bare(folder: Folder, repository: GitRepository) -> Store:
    if folder.path != repository.gitdir or not repository.handle.is_bare:
        raise ConfigError(
            f"{folder.path.name} lies inside a Git repository's own files.", hint="Give the folder of the documents."
        )
    return BareStore(repository, key_of(folder))


def _plain(folder: Folder, state_dir: Path) -> FolderStore:
    lock = WriterLock(state_dir / f"{key_of(folder)}.lock")
    journal = Journal(state_dir / f"{key_of(folder)}.journal")
    writer = TransactionWriter(folder.path, lock, journal, None)
    return FolderStore(folder, writer, NoHistory(), WriteMode(retention_of(folder, None, state_dir)))


def _in_repository(folder: Folder, repository: GitRepository, state_dir: Path, *, commits: bool) -> FolderStore:
    below = os.path.relpath(folder.path, repository.root)
    prefix = "" if below == "." else f"{below}/"
    gitdir = repository.gitdir
    git = GitWriter(repository)
    lock, journal = WriterLock(gitdir / "commonplace.lock"), Journal(gitdir / "commonplace.journal")
    writer = TransactionWriter(repository.root, lock, journal, git)
    terms = WriteMode(retention_of(Folder(repository.root), repository, state_dir), prefix, git, commits)
    renames = RenameFinder(repository, prefix.rstrip("/"), IgnoreRules(folder.path).excludes)
    return FolderStore(folder, writer, GitHistory(repository, prefix, folder, renames), terms)


def retention_of(root: Folder, repository: GitRepository | None, state_dir: Path) -> Retention:
    """The retention of the bytes that writes below a root delete or replace.

    Args:
        root: The work tree, or the folder without Git.
        repository: The repository of the work tree; None without Git.
        state_dir: As for `open_store`.
    """
    return Retention(root, repository, FolderTrash(state_dir / "trash", key_of(root)))
