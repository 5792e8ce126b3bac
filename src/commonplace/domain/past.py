"""Ports of past states: the commits of a folder, and the folder as of a commit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from commonplace.domain.addresses import Address
    from commonplace.domain.changes import Commit
    from commonplace.domain.ports import Index, Store


class PastCommits(Protocol):
    """The commits of a folder's current branch, and a read-only store of the files of each."""

    def commit(self, name: str) -> Commit:
        """The commit with this id (7 or more hex digits) or tag; a `^` after it means its first parent.

        Raises:
            NotFoundError: the current branch has no such commit.
            InvalidInputError: the name is neither an id nor a tag, or the id is ambiguous.
        """
        ...

    def before(self, name: str, steps: int) -> tuple[Commit, int]:
        """The first parent so many steps before a commit, or the first commit of all; and the steps that there are.

        The name and the errors are those of `commit`.
        """
        ...

    def latest(self, until: float) -> Commit | None:
        """The newest commit of the branch's first-parent line that is dated at or before a time in Unix seconds."""
        ...

    def came(self, commit: str) -> int:
        """The time in Unix seconds at which a commit of the branch came into it: its own, or that of its merge."""
        ...

    def is_later(self, commit: str, other: str) -> bool:
        """Whether a commit of the branch came into it after another one; of one merge, whether it is a descendant."""
        ...

    def latest_with(self, address: Address, *, within: int) -> str:
        """Id of the newest commit of the first-parent line that contains a file; "" if none of the newest `within`."""
        ...

    def store(self, commit: str) -> Store:
        """The files of a commit, except those that a current ignore file, or one of the commit, excludes."""
        ...

    def key(self, commit: str) -> str:
        """A file name for the state of a commit. It changes if the current ignore files change."""
        ...


@runtime_checkable
class StoreWithPast(Protocol):
    """A store whose folder may have commits."""

    @property
    def past(self) -> PastCommits | None:
        """The files of each commit; None without Git."""
        ...


class PastStates(Protocol):
    """The past states of a folder, each with an index."""

    @property
    def commits(self) -> PastCommits:
        """The commits."""
        ...

    def opened(self, commit: str) -> AbstractContextManager[tuple[Store, Index]]:
        """The files of a commit and their index, which does not change for the duration of a `with` block.

        Raises:
            GitError: the commit cannot be read.
            StorageError, UnavailableError: from the index.
        """
        ...

    def close(self) -> None:
        """Release all resources. The indexes remain usable for other processes."""
        ...
