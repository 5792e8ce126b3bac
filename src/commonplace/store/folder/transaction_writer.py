"""Applies transactions and recovers interrupted ones.

The order of the steps makes a transaction safe:

1. the journal, the new files, Git's objects and the branch's new content are written under temporary names;
2. all of them are made durable together;
3. names change: Git's objects, whose folders are made durable, the files, the branch;
4. the folders of files and branch are made durable; the write can be acknowledged;
5. the index entries are updated, old files are removed, the journal is emptied.

A non-empty journal under the lock means that its writer was interrupted. The bytes of the files show which steps were
completed.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import GitError, KnowledgeError, StorageError, UnavailableError
from commonplace.store.disk.durable import FlushError, Unsynced, sync_folders
from commonplace.store.disk.file_swap import FileChange, FileSwap, seen_again, storage_error
from commonplace.store.disk.journal import Journal, JournalIntent, JournalRecord
from commonplace.store.folder.recovery import recover
from commonplace.store.folder.write_group import GroupedWrite, WriteGroup
from commonplace.store.folder.writer_lock import WAIT_SECONDS, WriterLock
from commonplace.store.git.commit_writer import MAX_TOGETHER, GitWriter
from commonplace.store.git.commits import BranchUpdate, PlannedCommit
from commonplace.store.git.staging.index_entries import is_locked

REPAIR_RETRY_SECONDS = 5.0
"""Minimum interval in seconds between two attempts of readers to repair."""

_log = logging.getLogger(__name__)

INDEX_WAITS = (
    "Git's index does not have this write yet: another git holds .git/index.lock, or left it. Run `commonplace doctor`"
    " before your next git commit, which would revert the write."
)
"""Notice in the answer of a write while index entries are pending."""

Plan = Callable[[str], BranchUpdate | None]
"""Creates the commit of a transaction with the given token; None for no commit."""


class TransactionWriter:
    """Writes below one root: a work tree, or a folder without Git."""

    def __init__(self, root: Path, lock: WriterLock, journal: Journal, git: GitWriter | None) -> None:
        self.root = root
        self.lock = lock
        self._journal = journal
        self._git = git
        self.pending: dict[str, str] = {}
        """Index entries that wait for the `index.lock` of another git, as of the last write: path to old blob id."""
        self._abandoned = ""
        """Token of a transaction that failed and is not rolled back yet."""
        self._group = WriteGroup(self._apply_together, self._is_final, self._with_current_stats)
        self._look_again = 0.0
        """Time of `time.monotonic` before which readers do not attempt another repair."""

    def apply(self, changes: Sequence[FileChange], plan: Plan, read: Mapping[str, FileStat] | None = None) -> str:
        """Apply the changes and the commit; returns the commit's id, "" without one. Needs the lock.

        Args:
            changes: Changes of files.
            plan: Creates the commit.
            read: Metadata of files that are committed as read, by path.

        Raises:
            ConflictError: another program has changed one of the files.
            StorageError, GitError, ReadOnlyError, UnavailableError: the write failed and nothing was changed. Kind
                "write": the message names the changes.
        """
        token = secrets.token_hex(6)
        return self._apply(token, changes, plan(token), read or {})

    @contextmanager
    def turn(self) -> Generator[None]:
        """Hold the writer lock while one write is added to the group of waiting writes; see `add`.

        Raises:
            UnavailableError, StorageError, GitError: the lock cannot be acquired, or an earlier write cannot be
                repaired.
        """
        with self.lock.joined(self._group.apply, WAIT_SECONDS):
            if len(self._group) >= MAX_TOGETHER:
                self._group.apply()
            if not self._group:
                self.repair()
            yield

    def before_use(self, path: str | None) -> None:
        """Apply the group if it changes this path (None: any path), which is about to be used. Needs the `turn`."""
        if self._group if path is None else self._group.changes(path):
            self._group.apply()
            self.repair()

    def add(self, changes: Sequence[FileChange], commit: PlannedCommit | None) -> GroupedWrite:
        """Add a write to the group. Call its `result` after the `turn` to wait for it.

        Args:
            changes: Changes of files.
            commit: The write's commit; None for none.
        """
        for change in changes:
            self.before_use(change.path)
        write = GroupedWrite(changes, commit, self.lock.finish_left)
        self._group.add(write)
        return write

    def _apply_together(self, writes: Sequence[GroupedWrite]) -> Sequence[str]:
        """Apply writes that change different paths, each with its own commit; returns the commits' ids."""
        token = secrets.token_hex(6)
        changes = [change for write in writes for change in write.changes]
        planned = [write.commit for write in writes]
        commits = self._git.plan(token, planned) if self._git and any(planned) else None
        self._apply(token, changes, commits, {})
        ids = iter(commits.ids if commits else ())
        return [next(ids) if commits and commit else "" for commit in planned]

    def _with_current_stats(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return [seen_again(self.root, change) for change in changes]

    def _is_final(self, error: BaseException) -> bool:
        """Whether an error applies to every write of the group: a flush failed, or the rollback failed."""
        return bool(self._abandoned) or isinstance(error, FlushError) or isinstance(error.__cause__, FlushError)

    def _apply(
        self, token: str, changes: Sequence[FileChange], commit: BranchUpdate | None, read: Mapping[str, FileStat]
    ) -> str:
        swap = FileSwap(self.root, token, changes)
        try:
            sync_folders(self._make(_intent(token, changes, swap, commit), swap, commit))
        except OSError as error:
            self._roll_back(token, swap, commit, error)
            raise storage_error(error, "the write") from error
        except KnowledgeError as error:
            self._roll_back(token, swap, commit, error)
            raise
        except BaseException:  # an interrupt may come after the last step; the files show whether the write was made
            self.repair()
            raise
        self._conclude(token, swap, commit if changes or (commit and commit.commit) else None, read)
        return commit.commit if commit else ""

    def staged_blobs(self, paths: Mapping[str, bool]) -> list[tuple[str, str]]:
        """Path and blob of the staged entries that a commit of these paths replaces. Needs the lock.

        Args:
            paths: Whether the commit removes the file, by path.
        """
        found = self._git.index.replaced(paths) if self._git and paths else []
        return [(path, blob) for path, blob in found if self.pending.get(path) != blob]  # nobody staged what waits

    @property
    def needs_repair(self) -> bool:
        """Whether the journal may hold an interrupted transaction. Does not take the lock."""
        return not self._journal.is_empty

    def repair_if_idle(self) -> None:
        """Repair an interrupted write, if possible now. Called by every access to the folder.

        Most repairs are index entries that waited for the `index.lock` of another program: until they are updated, the
        user's plain `git commit` would revert an acknowledged write. Never waits, and never fails.
        """
        try:
            if self._journal.is_empty or self.lock.is_mine or time.monotonic() < self._look_again:
                return
            if self._git is not None and is_locked(self._git.repository.gitdir):
                return
            with self.lock.held(wait=0):
                for told in self.repair():
                    _log.info("%s: %s", self.root.name, told)
            if self._journal.is_empty:
                return
        except UnavailableError:  # another writer is active and will repair it
            return
        except (OSError, KnowledgeError) as error:
            _log.info("%s: an earlier write cannot be cleaned up now: %s", self.root.name, error)
        self._look_again = time.monotonic() + REPAIR_RETRY_SECONDS

    def repair(self) -> list[str]:
        """Finish or undo an interrupted transaction; one line per repair. Needs the lock.

        Raises:
            StorageError, GitError: repair is not possible now; the state is unchanged.
        """
        self.pending = {}
        try:
            if self._journal.is_empty:
                return []
            done = recover(self.root, self._git, self._journal.read(), self._abandoned)
            self._journal.write(JournalRecord(None, done.pending))
        except OSError as error:
            raise storage_error(error, "the repair of an interrupted write") from error
        self.pending = done.pending
        return done.messages

    def _make(self, intent: JournalIntent, swap: FileSwap, commit: BranchUpdate | None) -> list[Path]:
        """Perform all steps up to the renames; returns the folders whose names have changed, in order."""
        with Unsynced() as unsynced:
            self._journal.write(JournalRecord(intent, self.pending), unsynced)
            if commit:
                commit.write(unsynced)
            swap.prepare(unsynced)
            unsynced.sync()
        if commit:  # after a power failure, the branch must not name objects that are gone
            sync_folders(commit.place(), unless_ordered=True)
        swap.perform()
        return swap.folders + (commit.publish() if commit else [])

    def _roll_back(self, token: str, swap: FileSwap, commit: BranchUpdate | None, why: Exception) -> None:
        """Roll back. If this fails, the journal remains, and the next write of this process rolls back first.

        Raises:
            StorageError: the rollback failed.
        """
        try:
            if commit and not commit.roll_back():
                raise _confirmed_by_others() from why
            swap.undo()
            if commit:
                commit.discard()
            with suppress(OSError):  # the old state is restored, whether or not this sync fails
                sync_folders(swap.folders)
            self._journal.write(JournalRecord(None, self.pending))
        except (OSError, GitError, UnavailableError) as error:
            self._abandoned = token
            _log.error("a failed write could not be undone at once; the next one does it: %s", error)
            raise _not_taken_back(why) from why

    def _conclude(self, token: str, swap: FileSwap, commit: BranchUpdate | None, read: Mapping[str, FileStat]) -> None:
        """Perform the steps after the write is durable. If they fail, the next writer repeats them from the journal."""
        try:
            if self._git and commit:
                self.pending = self._git.update_index(token, commit, {**read, **swap.written}, self.pending)
            swap.finish()
            self._journal.write(JournalRecord(None, self.pending))
        except (OSError, KnowledgeError) as error:
            _log.warning("cleaning up after a write is left to the next one: %s", error)


def _intent(token: str, changes: Sequence[FileChange], swap: FileSwap, commit: BranchUpdate | None) -> JournalIntent:
    steps = tuple(change.step for change in changes)
    if commit is None:
        return JournalIntent(token, steps, swap.made)
    return JournalIntent(token, steps, swap.made, commit.reference, commit.commit, tuple(commit.changed), commit.base)


def _not_taken_back(why: Exception) -> StorageError:
    reason = why.strerror if isinstance(why, OSError) else str(why)
    return StorageError(
        f"The write failed ({reason}), and the disk refused to take it back at once.",
        kind="write",
        hint="Check the disk. What is there of this write goes with the next one; then try it again.",
    )


def _confirmed_by_others() -> StorageError:
    return StorageError(
        "The write was made and others have committed on top of it, but the disk did not confirm it.",
        kind="write",
        hint="Check the disk; then read the document to see what it holds.",
    )
