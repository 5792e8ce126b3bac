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
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import GitError, KnowledgeError, StorageError, UnavailableError
from commonplace.store.disk.durable import FlushError, Unsynced, sync_folders
from commonplace.store.disk.file_swap import (
    FileChange,
    FileSlot,
    FileSwap,
    remove_empty,
    remove_empty_above,
    seen_again,
    storage_error,
)
from commonplace.store.disk.journal import Journal, JournalIntent, JournalRecord, JournalStep
from commonplace.store.disk.own_files import UnsharedFileError
from commonplace.store.folder.writer_lock import WAIT_SECONDS, WriterLock
from commonplace.store.git.commit_writer import MAX_TOGETHER, GitWriter
from commonplace.store.git.commits import BranchUpdate, PlannedCommit
from commonplace.store.git.index_entries import is_locked

REPAIR_RETRY_SECONDS = 5.0
"""Minimum interval in seconds between two attempts of readers to repair."""

_log = logging.getLogger(__name__)

INDEX_WAITS = (
    "Git's index does not have this write yet: another git holds .git/index.lock, or left it. Until that file is gone"
    " and a page was read or written here, a git commit would revert the write."
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
        except UnsharedFileError:  # the journal cannot be opened, so nothing was begun
            raise
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
        pairs = self._git.index.replaced(paths) if self._git and paths else []
        return [(path, blob) for path, blob in pairs if self.pending.get(path) != blob]  # nobody staged what waits

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
                for reported_text in self.repair():
                    _log.info("%s: %s", self.root.name, reported_text)
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


# Makes the writes of several threads durable together; each write has its own commit and its own outcome.
#
# A thread evaluates its transaction while it holds the writer lock, adds the write to the group and releases the lock.
# The last of the waiting threads applies the group, so that all writes share its flushes. Until then nothing of the
# group is on disk; a transaction that uses a path of the group therefore applies the group first.


POLL_SECONDS = 0.05
"""Interval in seconds at which a waiting write checks for a group that no thread applies, because one timed out."""


@dataclass(eq=False, slots=True)
class GroupedWrite:
    """One write of a group and its outcome."""

    changes: Sequence[FileChange]
    commit: PlannedCommit | None
    """The commit to make; None for none."""
    finish_left: Callable[[], None]
    """Applies the group if no other thread does."""
    _done: threading.Event = field(default_factory=threading.Event)
    _id: str = ""
    _error: BaseException | None = None

    def succeed(self, commit: str) -> None:
        """Record that the write is durable, in this commit ("" for none)."""
        self._id = commit
        self._done.set()

    def fail(self, error: BaseException) -> None:
        """Record why the write was not made."""
        self._error = error
        self._done.set()

    @property
    def is_done(self) -> bool:
        """Whether there is an outcome."""
        return self._done.is_set()

    def result(self) -> str:
        """Wait until the write is durable; returns the commit's id, "" without one. Call it after the turn.

        Raises:
            KnowledgeError: the write was not made. The errors are those of `TransactionWriter.apply`.
        """
        while not self._done.wait(POLL_SECONDS):
            self.finish_left()
        if self._error is not None:
            raise self._error
        return self._id


class WriteGroup:
    """The writes that wait to be applied. Every use needs the writer lock.

    Args:
        together: Applies all writes as one step; returns their commits' ids. An error means that nothing was changed.
        is_final: Whether an error of `together` applies to every write, so that no write is retried separately.
        again: Returns the changes of a write for the retry, with the file times that the rollback has changed.
    """

    def __init__(
        self,
        together: Callable[[Sequence[GroupedWrite]], Sequence[str]],
        is_final: Callable[[BaseException], bool],
        again: Callable[[Sequence[FileChange]], Sequence[FileChange]],
    ) -> None:
        self._together = together
        self._is_final = is_final
        self._again = again
        self._writes: list[GroupedWrite] = []
        self._paths: set[str] = set()

    def __len__(self) -> int:
        return len(self._writes)

    def add(self, write: GroupedWrite) -> None:
        """Add a write, which changes none of the paths that other writes of the group change."""
        self._writes.append(write)
        self._paths.update(change.path for change in write.changes)

    def changes(self, path: str) -> bool:
        """Whether a write of the group changes a path."""
        return path in self._paths

    def apply(self) -> None:
        """Apply the writes and record their outcomes. If this fails, each write is applied separately."""
        writes, self._writes, self._paths = self._writes, [], set()
        if not writes:
            return
        try:
            self._apply(writes)
        finally:  # an interrupt may come at any point, and no thread must wait for ever
            for write in writes:
                if not write.is_done:
                    write.fail(_interrupted())

    def _apply(self, writes: Sequence[GroupedWrite]) -> None:
        try:
            commits = self._together(writes)
        except (KnowledgeError, OSError) as error:
            if len(writes) == 1 or self._is_final(error):
                for number, write in enumerate(writes):
                    write.fail(_copied(error) if number else error)
                return
        else:
            for write, commit in zip(writes, commits, strict=True):
                write.succeed(commit)
            return
        for write in writes:
            write.changes = self._again(write.changes)
            self._apply([write])


def _interrupted() -> UnavailableError:
    return UnavailableError(
        "The write was interrupted, and may have been made.",
        kind="document",
        hint="Read the document to see what it holds.",
    )


def _copied(error: BaseException) -> BaseException:
    """A copy of an error. An object raised by several threads would collect the traceback of each."""
    copy = type(error).__new__(type(error), *error.args)
    with suppress(AttributeError):
        copy.__dict__.update(error.__dict__)
    copy.__cause__ = error.__cause__
    return copy


# Recovery: finishes or undoes an interrupted transaction from its journal and the files that it left.
#
# A transaction is finished if all of its new bytes exist and its files have not been changed since; otherwise it is
# undone. Undoing never touches a file that has been changed since.


_MENDING = "mending"
"""Token of a recovery without a transaction, which only updates index entries."""


class _State(Enum):
    """State of one file."""

    OLD = auto()
    NEW = auto()
    FOREIGN = auto()
    """Neither the old nor the new bytes: the file has been changed since."""


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """The result of a recovery."""

    messages: list[str]
    """One line for each action."""
    pending: dict[str, str]
    """Index entries that are still to be updated (see `journal.JournalRecord`)."""


@dataclass(frozen=True, slots=True)
class _File:
    step: JournalStep
    place: FileSlot
    state: _State
    ready: bool
    """Whether the new bytes are available: in place, beside the file, or not needed because the file is removed."""


def recover(root: Path, git: GitWriter | None, record: JournalRecord, abandoned: str = "") -> RecoveryReport:
    """Make the files, the branch and the index consistent. Needs the lock.

    Args:
        root: Root of the files.
        git: Git writer; None without a repository.
        record: Record of the journal.
        abandoned: Token of a transaction that was reported as failed: it is undone in any state.

    Raises:
        OSError, KnowledgeError: recovery is not possible now; it is safe to repeat.
    """
    intent = record.intent
    if intent is None:
        return _mend_index(git, record.pending)
    reported_texts = git.discard_left_over(intent.token, intent.reference) if git else []
    files = [_file(root, intent.token, number, step) for number, step in enumerate(intent.steps)]
    names = ", ".join(step.path for step in intent.steps) or "a commit"
    finished = _finish_or_undo(files, git, intent, is_abandoned=intent.token == abandoned)
    reported_texts.append(f"{'finished' if finished else 'undid'} an interrupted write of {names}")
    _clean_up(root, intent, files)
    if git is None:
        return RecoveryReport(reported_texts, {})
    pending = record.pending | (git.outdated(intent) if finished else {})
    return RecoveryReport(reported_texts, git.repair_index(intent.token, pending))


def _finish_or_undo(
    files: Sequence[_File], git: GitWriter | None, intent: JournalIntent, *, is_abandoned: bool
) -> bool:
    """Finish a transaction if it is committed or can be; else undo it. Returns whether it was finished."""
    committed = bool(git and git.is_committed(intent.reference, intent.commit))
    if is_abandoned and git and git.roll_back(intent):
        committed = False
    if not committed and (is_abandoned or not _can_be_finished(files, git, intent)):
        _undo(files)
        return False
    _finish(files)
    if git and not committed:
        git.commit_again(intent)
    return True


def _mend_index(git: GitWriter | None, pending: dict[str, str]) -> RecoveryReport:
    if git is None:
        return RecoveryReport([], {})
    report = git.discard_left_over(_MENDING, "")
    left = git.repair_index(_MENDING, pending)
    waiting = f"; {len(left)} still wait for index.lock" if left else ""
    return RecoveryReport([*report, f"brought {len(pending) - len(left)} index entries up to date{waiting}"], left)


def _file(root: Path, token: str, number: int, step: JournalStep) -> _File:
    place = FileSlot(root, token, number, step.path)
    now = place.revision(place.name)
    state = _State.NEW if now == step.new else _State.OLD if now == step.old else _State.FOREIGN
    ready = state is _State.NEW or not step.new or place.revision(place.new) == step.new
    return _File(step, place, state, ready)


def _can_be_finished(files: Sequence[_File], git: GitWriter | None, intent: JournalIntent) -> bool:
    if intent.commit and not (git and git.is_written(intent.commit) and git.is_current(intent.reference)):
        return False
    if not any(file.state is _State.OLD for file in files):
        return bool(files)  # every file was renamed; those in the state FOREIGN were changed again afterwards
    return all(file.ready and file.state is not _State.FOREIGN for file in files)


def _finish(files: Sequence[_File]) -> None:
    for file in files:
        if file.state is not _State.OLD:
            continue
        if not file.step.new:
            file.place.rename(file.place.name, file.place.old)
        elif file.ready:
            file.place.rename(file.place.new, file.place.name)
    sync_folders({file.place.folder for file in files})


def _undo(files: Sequence[_File]) -> None:
    for file in files:
        if file.state is not _State.NEW:
            continue
        if not file.step.old:
            file.place.discard(file.place.name)
        elif file.place.revision(file.place.old) == file.step.old:
            file.place.rename(file.place.old, file.place.name)
    sync_folders({file.place.folder for file in files})


def _clean_up(root: Path, intent: JournalIntent, files: Sequence[_File]) -> None:
    for file in files:
        file.place.discard(file.place.new, file.place.old)
        if not file.step.new:
            remove_empty_above(root, file.step.path)
    remove_empty(root, reversed(intent.made))
