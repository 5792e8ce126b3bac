"""The port of replicas: what services and faces ask of a collection that follows a remote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

AnsweredBy: TypeAlias = Literal["engine", "engine, in part", "own index", "own index, engine failing"]
"""What answered a search: the shared engine, wholly or not, or this server's own index, ahead of it or in its place."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """How a replica uses the index in a search cluster."""

    behind: float
    """Seconds since the shared index contained the commit that is followed; 0 if it contains it now."""
    searches: Mapping[AnsweredBy, int]
    """Number of searches since the start of the process, by what answered them."""


@dataclass(frozen=True, slots=True)
class WriterStatus:
    """How a replica writes to its remote."""

    waiting: int
    """Number of writes that wait for a push."""
    has_lease: bool
    """Whether this server pushed in the last ten seconds and has the lease. No server has it while nobody writes."""


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """How far a replica is."""

    commit: str
    """The commit that every answer has at least; "" before the first, and for a remote without commits."""
    ready: bool
    """Whether the replica can be searched: it was fetched once and is indexed."""
    age: float | None
    """Seconds since the remote was last read; None if this process has not read it yet."""
    problem: str = ""
    """Why the remote could not be read or indexed the last time; "" if it could."""
    shared_index: str | None = None
    """Whether the index in a search cluster is "current", "behind", or what is wrong with it; None without one."""
    engine: EngineStatus | None = None
    """None without a search cluster."""
    writer: WriterStatus | None = None
    """None for a replica that does not write."""


class Replica(Protocol):
    """A collection that follows the branch of a remote."""

    def status(self, begun_at: str = "") -> ReplicaStatus:
        """How far the replica is, without asking the remote.

        Args:
            begun_at: The commit that an earlier status had, for the commit of an answer that was begun then: the same
                while the branch has it. After a forced push the last commit that the branch had before and has now; ""
                if there is none. "" for the present commit.
        """
        ...

    def follows(self, url: str) -> bool:
        """Whether a URL, in any of the forms that Git hosts have, names the remote."""
        ...

    def refresh(self, *, now: bool = False) -> None:
        """Read the remote soon. Returns at once.

        Args:
            now: Read it now and return afterwards, so that the next write sees what other servers have written. Does
                nothing if the replica does not write.

        Raises:
            UnavailableError: the remote cannot be read now.
            StorageError: the clone cannot be written.
        """
        ...

    def wait_for(self, commit: str, timeout: float) -> None:
        """Wait until answers contain a commit.

        Args:
            commit: Its id, 40 hex digits.
            timeout: Seconds.

        Raises:
            NotFoundError: kind "commit": the remote was read, and its branch no longer contains the commit.
            UnavailableError: kind "commit": the commit did not arrive in time.
        """
        ...

    def take_writes(self, body: bytes) -> dict[str, list[dict[str, str]]] | None:
        """Push the writes that another server hands over.

        Args:
            body: The writes, as that server sent them.

        Returns:
            The results as JSON; None if they are for another remote, or this replica does not write.

        Raises:
            InvalidInputError: the body has another form.
        """
        ...
