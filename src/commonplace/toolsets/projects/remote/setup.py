"""Opens the project store; creates it at the first start and repairs it at every start."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

import pygit2

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import ConfigError, GitError, StorageError
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Store
from commonplace.domain.private_files import user_modes
from commonplace.store.discovery import open_store, retention_of
from commonplace.store.disk.durable import write_all
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.journal import Journal
from commonplace.store.folder.publisher import own_programs
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.folder.writer_lock import WAIT_SECONDS, WriterLock, lock_file
from commonplace.store.git import gitdir_files
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.layout import find_repository
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.shared_modes import private_mode
from commonplace.store.git.worktree import is_ignored
from commonplace.toolsets.projects.remote.origin import Origin, mark_published_branch
from commonplace.toolsets.projects.remote.store_check import Subfolders, require_store
from commonplace.toolsets.projects.remote.worktree import WorkTree
from commonplace.toolsets.projects.rules.registry import (
    ACTIVITY_FILE,
    IGNORE_FILE,
    INDEX_FILE,
    PROJECTS_KEY,
    Registry,
)

IGNORED = f"""\
{ACTIVITY_FILE}

# Operating systems
.DS_Store
Thumbs.db
desktop.ini

# Editors
.idea/
.vscode/
*.swp
*.swo
*~
"""
_MAKING = ".commonplace-making-"
"""Prefix of the temporary folder in which a repository is created."""
_FIRST_MESSAGE = "Initialize knowledge storage"
_ADOPTED_MESSAGE = "Adopt as knowledge storage"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedProjectStore:
    """A store with its remote, folders and activity log."""

    path: Path
    store: Store
    folders: Subfolders
    origin: Origin
    activity: ActivityLogFile


def open_project_store(path: Path, state_dir: Path, who: Author, *, adopt: bool = False) -> OpenedProjectStore:
    """Open the store at a path; create it if there is none.

    Args:
        path: The folder.
        state_dir: The state folder, as for `open_store`.
        who: Author of the commits that no caller requested.
        adopt: Whether to turn another folder into a store.

    Raises:
        ConfigError: the path is inside a repository's own files, or is a folder that is not a store.
        StorageError: the store cannot be created.
        UnavailableError: another process has been creating the store for too long.
        GitError: the store's repository is damaged.
    """
    _refuse_inside(path)
    adopted = require_store(path, who, adopt=adopt)
    made = _made(path)
    root = path.resolve()
    store, repository = _open_store(root, state_dir)
    for repair in store.recover():
        log.warning("%s: %s", store.name, repair)
    git = GitWriter(repository)
    gitdir = repository.gitdir
    journal = Journal(gitdir / "commonplace.journal", partial(private_mode, gitdir))
    writer = TransactionWriter(root, WriterLock(gitdir / "commonplace.lock"), journal, git)
    tree = WorkTree(Folder(root), git, writer, retention_of(Folder(root), repository, state_dir), who)
    if not store.read_only_reason:
        _begin(store, who, root, tree if made else None)
        if adopted:
            _mark(store, who, root)
        mark_published_branch(repository, current=adopted)
        _exclude(repository)
    origin = Origin(tree, lambda: own_programs(repository))
    return OpenedProjectStore(root, store, Subfolders(root), origin, ActivityLogFile(root / ACTIVITY_FILE))


def _refuse_inside(path: Path) -> None:
    nearest = next((place for place in (path, *path.parents) if os.path.isdir(place)), None)
    # A folder that may not be entered is not searched; creating the store reports the error.
    repository = find_repository(nearest.resolve()) if nearest and os.access(nearest, os.X_OK) else None
    if repository is not None and repository.work_tree is None:
        raise ConfigError(
            f"{path.name} lies inside a Git repository's own files, so no store can be created there.",
            hint="Give the folder of the store, not its .git.",
        )


def _open_store(root: Path, state_dir: Path) -> tuple[Store, GitRepository]:
    """The store and its own repository; a repository in a parent folder is ignored."""
    repository = find_repository(root)
    if repository is None or repository.work_tree != root:
        raise _no_repository("The store's .git is no longer a Git repository.")
    try:
        return open_store(root, commit="auto", state_dir=state_dir), GitRepository(repository.gitdir, root)
    except ConfigError as error:
        cause = error.__cause__
        message = str(cause) if isinstance(cause, GitError) else "The store's .git is no longer a Git repository."
        raise _no_repository(message) from error


def _no_repository(message: str) -> GitError:
    return GitError(
        message,
        kind="repository",
        hint="Repair it, or move .git away: a new repository is created at the next start, and the files stay.",
    )


def _made(path: Path) -> bool:
    """Create a repository at the path if there is none. Returns whether it was created."""
    try:
        with user_modes():
            path.mkdir(parents=True, exist_ok=True)
        if (path / ".git" / "HEAD").exists():
            return False
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            lock_file(folder, deadline, WAIT_SECONDS)  # several servers may start for the first time at once
            if (path / ".git").exists():
                return False
            _make(path)
        finally:
            os.close(folder)
    except OSError as error:
        raise StorageError(
            f"The folder of the projects cannot be created: {error.strerror}.",
            kind="collection",
            hint="Check its permissions, or name another folder.",
        ) from error
    return True


def _make(path: Path) -> None:
    """Create a repository in a temporary folder and rename it, so that a killed process leaves no partial one."""
    for left in path.glob(f"{_MAKING}*"):
        _remove(left)
    making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=path))
    with user_modes():
        guarded(lambda: pygit2.init_repository(str(making), initial_head="main"))
    (making / ".git").rename(path / ".git")
    making.rmdir()


def _remove(left: Path) -> None:
    """Remove the temporary folder of a killed start, if it contains nothing but a repository."""
    with suppress(OSError):
        if not left.is_symlink() and left.is_dir() and {path.name for path in left.iterdir()} <= {".git"}:
            shutil.rmtree(left)


def _begin(store: Store, who: Author, root: Path, tree: WorkTree | None) -> None:
    """Create the first commit, with existing projects if the folder had no repository."""
    if store.history.available:
        return
    ignore, index = Address(IGNORE_FILE), Address(INDEX_FILE)
    with store.transaction(_FIRST_MESSAGE, who) as transaction:
        if not transaction.exists(ignore):
            transaction.put(ignore, IGNORED.encode())
        if not transaction.exists(index) and not store.history.available:
            transaction.put(index, _found_projects(root).content)
    if tree is not None:
        with tree.writer.lock.held(WAIT_SECONDS):
            tree.commit_all()


def _mark(store: Store, who: Author, root: Path) -> None:
    """Commit `index.json` to an adopted folder, so that the next start recognizes it as a store."""
    index = Address(INDEX_FILE)
    with store.transaction(_ADOPTED_MESSAGE, who) as transaction:
        if not transaction.exists(index):
            transaction.put(index, _found_projects(root).content)


def _found_projects(root: Path) -> Registry:
    """The projects of a store without an `index.json`: each existing folder, with its name as the id."""
    return Registry({name: name for name in Subfolders(root).subfolders(PROJECTS_KEY)}, {})


def _exclude(repository: GitRepository) -> None:
    """Exclude the log from Git if the store's `.gitignore` does not."""
    if is_ignored(repository, ACTIVITY_FILE):
        return
    try:
        gitdir_files.append(repository.common, "info/exclude", f"/{ACTIVITY_FILE}\n".encode(), create=True)
    except OSError as error:
        log.warning("the activity log could not be excluded from Git: %s", error.strerror)


# A log of calls as JSON lines, written by its own thread so that no caller waits for the disk.


END_SECONDS = 1.0
"""Seconds that the process waits at its end for the last lines."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class ActivityLogFile:
    """`toolsets.projects.service.project_store.ActivityLog` in a file that several processes may append to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[JsonObject | None] = SimpleQueue()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="activity", daemon=True)
        self._thread.start()

    def record(self, entry: JsonObject) -> None:
        """Log one call. Returns at once and never fails."""
        self._queue.put(entry)

    def close(self) -> None:
        """Write the remaining lines."""
        self._queue.put(None)
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while True:
            entries: list[JsonObject | None] = [self._queue.get()]
            try:
                while True:
                    entries.append(self._queue.get_nowait())
            except Empty:
                pass
            if calls := [entry for entry in entries if entry is not None]:
                self._append(calls)
            if None in entries:
                return

    def _append(self, entries: list[JsonObject]) -> None:
        """Append all lines in one write, so that lines of several processes do not mix."""
        lines = "".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in entries)
        try:
            descriptor = os.open(self._path, _FLAGS, 0o600)
            try:
                write_all(descriptor, lines.encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._failed:
                log.warning("the activity log cannot be written: %s", error.strerror)
            self._failed = True
