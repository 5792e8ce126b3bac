"""A write of a replica that waits for the remote, and the result of one that was forwarded to another server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from commonplace.domain.errors import KnowledgeError
from commonplace.store.git.commits import CommitMessage
from commonplace.store.git.objects import MODE_EXECUTABLE, TreeEntry


@dataclass(slots=True)
class PendingWrite:
    """A commit that waits for the remote."""

    contents: Mapping[str, bytes | None]
    """The new bytes of each path; None for a removed file."""

    changed: Mapping[str, TreeEntry | None]
    """The new entry of each path; None for a removed file."""
    before: Mapping[str, str]
    """Id of the blob that the writer saw at each path; "" for none."""
    words: CommitMessage
    drafted: str = ""
    """Id of the commit in this clone; it changes if the commit is made again."""
    commit: str = ""
    """Id of the commit that the remote has or will have."""
    parent: str = ""
    is_forwarded: bool = False
    """Whether another server forwarded the write."""
    is_sent: bool = False
    """Whether another server has the write now and has not answered yet."""
    is_deferred: bool = False
    """Whether a file of the write has changed at the remote while `is_sent`: perhaps after that server pushed it."""
    is_uncertain: bool = False
    """Whether the write was forwarded to another server that did not answer, and may still push it."""
    is_settled: bool = False
    error: KnowledgeError | None = None
    """The reason why the remote does not have the write; None if there is no error."""

    @property
    def after(self) -> dict[str, str]:
        """Id of the new blob at each path; "" for none."""
        return {path: entry.id if entry else "" for path, entry in self.changed.items()}

    @property
    def new_executables(self) -> frozenset[str]:
        """Paths of the executable files that the write creates."""
        entries = self.changed.items()
        return frozenset(
            path for path, entry in entries if entry and entry.mode == MODE_EXECUTABLE and not self.before[path]
        )


class WriteOutcome(Protocol):
    """Result of a write that was forwarded to another server."""

    @property
    def commit(self) -> str:
        """The commit; "" if the remote does not have it."""
        ...

    @property
    def parent(self) -> str:
        """The commit's parent."""
        ...

    @property
    def error(self) -> KnowledgeError | None:
        """The reason why the remote does not have the write; None if it has."""
        ...


Forward: TypeAlias = Callable[[str, Sequence[PendingWrite]], "Sequence[WriteOutcome] | None"]
