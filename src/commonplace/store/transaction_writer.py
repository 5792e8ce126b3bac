"""One transaction from the writer's changes to the acknowledgement, and the repair of one that was cut off.

The order is what makes it safe:

1. the journal, the new files, Git's objects and the branch's new content are written under temporary names;
2. all of them are made durable together;
3. names change: Git's objects, the files, the branch;
4. the folders are made durable; the write can be acknowledged;
5. the index's entries are brought up to date, old files are removed, the journal is emptied.

Whoever finds a journal that is not empty under the lock knows that its writer died, and can tell from the files'
own bytes how far it came.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import GitError, KnowledgeError, StorageError, UnavailableError
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.disk.file_swap import FileChange, FileSwap, storage_error
from commonplace.store.disk.journal import Journal, JournalIntent, JournalRecord
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import BranchUpdate
from commonplace.store.git.staging.index_entries import is_locked
from commonplace.store.recovery import recover
from commonplace.store.writer_lock import WriterLock

LOOK_AGAIN_SECONDS = 5.0
"""After a reader's attempt to repair has failed, until the next one."""

_log = logging.getLogger(__name__)

Plan = Callable[[str], BranchUpdate | None]
"""Makes the commit of a transaction, whose token it is given; None: no commit."""


class TransactionWriter:
    """Everything that is written below one root: a work tree, or a folder without Git."""

    def __init__(self, root: Path, lock: WriterLock, journal: Journal, git: GitWriter | None) -> None:
        self.root = root
        self.lock = lock
        self._journal = journal
        self._git = git
        self._pending: dict[str, str] = {}
        self._abandoned = ""
        """The token of a transaction that failed and could not be taken back yet."""
        self._look_again = 0.0
        """By `time.monotonic`: when the next attempt to repair is made by a reader, after one that failed."""

    def apply(self, changes: Sequence[FileChange], plan: Plan, read: Mapping[str, FileStat] | None = None) -> str:
        """Make the changes and the commit, under the lock; the commit's id, "" for none.

        Args:
            changes: To the files.
            plan: Makes the commit.
            read: Facts of files that are committed as they were read, by path.

        Raises:
            ConflictError: another program changed one of the files meanwhile.
            StorageError, GitError, ReadOnlyError, UnavailableError: refused; nothing was changed. A StorageError of
                kind "write" says what else there is.
        """
        token = secrets.token_hex(6)
        commit = plan(token)
        swap = FileSwap(self.root, token, changes)
        try:
            sync_folders(self._make(_intent(token, changes, swap, commit), swap, commit))
        except OSError as error:
            self._take_back(token, swap, commit, error)
            raise storage_error(error, "the write") from error
        except KnowledgeError as error:
            self._take_back(token, swap, commit, error)
            raise
        except BaseException:  # an interrupt may come when all is done already: the bytes on the disk tell
            self.repair()
            raise
        self._conclude(token, swap, commit if changes or (commit and commit.commit) else None, read or {})
        return commit.commit if commit else ""

    def staged_blobs(self, paths: Mapping[str, bool]) -> list[tuple[str, str]]:
        """Path and blob of what is staged in Git's index and a commit of these paths replaces; under the lock.

        Args:
            paths: Each with whether the commit removes it.
        """
        found = self._git.index.replaced(paths) if self._git and paths else []
        return [(path, blob) for path, blob in found if self._pending.get(path) != blob]  # nobody staged what waits

    @property
    def needs_repair(self) -> bool:
        """Whether there may be something to repair; asks without the lock."""
        return not self._journal.is_empty

    def look(self) -> None:
        """Repair what a write left, if that can be done at this moment; called at every look at the folder.

        Mostly that are index entries which waited for the `index.lock` of another program: until they are brought up
        to date, the user's plain `git commit` would revert an acknowledged write. Never waits, and never fails.
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
        except UnavailableError:  # a writer is at work, who repairs it
            return
        except (OSError, KnowledgeError) as error:
            _log.info("%s: an earlier write cannot be cleaned up now: %s", self.root.name, error)
        self._look_again = time.monotonic() + LOOK_AGAIN_SECONDS

    def repair(self) -> list[str]:
        """Finish or undo what a killed process left, under the lock; one line for each repair.

        Raises:
            StorageError, GitError: it cannot be done now; nothing is worse than before.
        """
        self._pending = {}
        try:
            if self._journal.is_empty:
                return []
            done = recover(self.root, self._git, self._journal.read(), self._abandoned)
            self._journal.write(JournalRecord(None, done.pending))
        except OSError as error:
            raise storage_error(error, "the repair of an interrupted write") from error
        self._pending = done.pending
        return done.messages

    def _make(self, intent: JournalIntent, swap: FileSwap, commit: BranchUpdate | None) -> set[Path]:
        with Unsynced() as unsynced:
            self._journal.write(JournalRecord(intent, self._pending), unsynced)
            if commit:
                commit.write(unsynced)
            swap.prepare(unsynced)
            unsynced.sync()
        folders = swap.folders
        if commit:
            folders |= commit.place()
        swap.perform()
        if commit:
            folders |= commit.publish()
        return folders

    def _take_back(self, token: str, swap: FileSwap, commit: BranchUpdate | None, why: Exception) -> None:
        """Undo; what cannot be undone now stays in the journal, and this process's next write begins with it.

        Raises:
            StorageError: it could not be undone.
        """
        try:
            if commit and not commit.roll_back():
                raise _confirmed_by_others() from why
            swap.undo()
            if commit:
                commit.discard()
            with suppress(OSError):  # all of it is as it was before, whether or not a crash would leave it so
                sync_folders(swap.folders)
            self._journal.write(JournalRecord(None, self._pending))
        except (OSError, GitError, UnavailableError) as error:
            self._abandoned = token
            _log.error("a failed write could not be undone at once; the next one does it: %s", error)
            raise _not_taken_back(why) from why

    def _conclude(self, token: str, swap: FileSwap, commit: BranchUpdate | None, read: Mapping[str, FileStat]) -> None:
        """What follows the acknowledgement; when it fails, the journal keeps it for the next writer."""
        try:
            if self._git and commit:
                self._pending = self._git.update_index(token, commit, {**read, **swap.written}, self._pending)
            swap.finish()
            self._journal.write(JournalRecord(None, self._pending))
        except (OSError, KnowledgeError) as error:
            _log.warning("cleaning up after a write is left to the next one: %s", error)


def _intent(token: str, changes: Sequence[FileChange], swap: FileSwap, commit: BranchUpdate | None) -> JournalIntent:
    steps = tuple(change.step for change in changes)
    if commit is None:
        return JournalIntent(token, steps, swap.made)
    return JournalIntent(token, steps, swap.made, commit.reference, commit.commit, tuple(commit.changed))


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
