"""Ports of the project services besides a store: folders, remote, and activity log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from commonplace.domain.changes import FileStat
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress
from commonplace.domain.words.amounts import amount


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
