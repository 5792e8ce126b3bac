"""The port of replicas, which are collections that follow a remote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

AnsweredBy: TypeAlias = Literal["engine", "engine, in part", "own index", "own index, engine failing"]
"""The index that answered a search: the shared engine, completely or in part, or this server's own index.

"own index" means that the engine was behind; "own index, engine failing" that it failed.
"""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """State of a replica's index in a search cluster."""

    behind: float
    """Seconds since the shared index last contained the followed commit; 0 if it contains the commit now."""
    searches: Mapping[AnsweredBy, int]
    """Number of searches since the start of the process, by the index that answered them."""


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """State of a replica's writes to its remote."""

    waiting: int
    """Number of writes that wait for a push."""
    has_lease: bool
    """Whether this server pushed in the last ten seconds and has the lease. No server has it while nobody writes."""
    messages: tuple[str, ...] = ()
    """Commit messages of the writes that wait for a push."""


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """State of a replica."""

    commit: str
    """The commit that every answer contains at least; "" before the first fetch, and for a remote without commits."""
    ready: bool
    """Whether the replica can be searched, that is, it was fetched at least once and is indexed."""
    age: float | None
    """Seconds since the remote was last read; None if this process has not read it yet."""
    problem: str = ""
    """The reason why the last fetch or its indexing failed; "" if it succeeded."""
    shared_index: str | None = None
    """State of the index in a search cluster: "current", "behind" or its problem; None without a search cluster."""
    engine: EngineStatus | None = None
    """State of the index in a search cluster; None without a search cluster."""
    writer: WriterStatus | None = None
    """State of the writes; None for a read-only replica."""


class Replica(Protocol):
    """A collection that follows the branch of a remote."""

    def status(self, begun_at: str = "") -> ReplicaStatus:
        """The current state, without a request to the remote.

        Args:
            begun_at: The commit that an earlier status had, for the commit of an answer that was begun then: the same
                while the branch has it. After a forced push the last commit that the branch had before and has now; ""
                if there is none. "" for the present commit.
        """
        ...

    def follows(self, url: str) -> bool:
        """Whether a URL, in any of the forms of Git hosts, names the remote."""
        ...

    def refresh(self, *, now: bool = False) -> None:
        """Request a fetch from the remote soon. Returns at once.

        Args:
            now: Whether to fetch before returning, so that the next write sees the writes of other servers. Does
                nothing if the replica is read-only.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        ...

    def wait_for(self, commit: str, timeout: float) -> None:
        """Wait until answers contain a commit.

        Args:
            commit: Id of the commit, 40 hex digits.
            timeout: Timeout in seconds.

        Raises:
            NotFoundError: kind "commit": the remote was read, and its branch no longer contains the commit.
            UnavailableError: kind "commit": the wait timed out.
        """
        ...

    def take_writes(self, body: bytes) -> dict[str, list[dict[str, str]]] | None:
        """Push the writes that another server forwards.

        Args:
            body: The writes in the form of `store.replica.handed_writes`.

        Returns:
            The results as JSON; None if the writes are for another remote, or this replica is read-only.

        Raises:
            InvalidInputError: the body does not have this form.
        """
        ...
