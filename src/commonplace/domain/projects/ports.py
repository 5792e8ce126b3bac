"""What the use cases of projects need beside a store: its folders, its remote and a log of calls."""

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
    """How the store stands to Git and to its remote."""

    branch: str
    last_commit: str
    """The subject, "" before the first commit."""
    uncommitted: tuple[str, ...]
    """One line for each file that is not as the last commit has it, as `git status --short` shows it."""
    remote: str
    """`origin/main (up to date)`, `origin/main (n ahead, m behind)` or `No remote configured`."""
    rescued: tuple[str, ...]
    """Branches that keep local commits which gave way to the remote's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """What a synchronisation on request did."""

    files: int
    """Files committed."""
    message: str
    """Of their commit, "" for none."""
    pushed: bool
    """Whether the remote has every commit now."""
    error: str
    """Why not, "" when it has."""

    @property
    def told(self) -> str:
        """What was done, in a sentence for people."""
        if self.pushed:
            return "Storage synchronized successfully"
        return f"{amount(self.files, 'file')} committed; not pushed: {self.error}"


class ProjectFolders(Protocol):
    """The folders of the store, read without following links."""

    def subfolders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, sorted, hidden ones left out; none where there is no such one."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is such a folder."""
        ...

    def documents(self, path: str) -> Mapping[str, FileStat]:
        """Facts by name of the Markdown files directly in a folder, hidden ones left out, in no particular order."""
        ...

    def files(self, path: str) -> list[str]:
        """Paths of all regular files below a folder, hidden ones included."""
        ...


class Upstream(Protocol):
    """The store's remote; every call but `status` and `sync` returns without waiting for the network."""

    def start(self) -> None:
        """Keep the store and its remote in step from now on, in the background; a second time it does nothing."""
        ...

    def wait_started(self) -> None:
        """Start, and return when the first fetch is over, or has taken as long as a caller should wait."""
        ...

    def committed(self) -> None:
        """Say that there is a new commit to push."""
        ...

    def status(self) -> StorageStatus:
        """How things stand, by what is known here; the remote is not asked."""
        ...

    def sync(self, progress: Progress | None = None) -> SyncOutcome:
        """Commit every change made by hand, bring in what the remote has, and push.

        Args:
            progress: Told after each of these three steps.

        Raises:
            GitError, StorageError, ReadOnlyError: the commit failed. A failed push is told in the outcome.
        """
        ...


class ActivityLog(Protocol):
    """Where calls are noted."""

    def record(self, entry: JsonObject) -> None:
        """Note one call; returns at once and never fails."""
        ...
