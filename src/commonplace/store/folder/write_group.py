"""Makes the writes of several threads durable together; each write has its own commit and its own outcome.

A thread evaluates its transaction while it holds the writer lock, adds the write to the group and releases the lock.
The last of the waiting threads applies the group, so that all writes share its flushes. Until then nothing of the group
is on disk; a transaction that uses a path of the group therefore applies the group first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from commonplace.domain.errors import KnowledgeError, UnavailableError
from commonplace.store.disk.file_swap import FileChange
from commonplace.store.git.commits import PlannedCommit

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
