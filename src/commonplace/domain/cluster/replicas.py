"""The port of replicas: what services and faces ask of a collection that follows a remote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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


class Replica(Protocol):
    """A collection that follows the branch of a remote."""

    def status(self) -> ReplicaStatus:
        """How far the replica is, without asking the remote."""
        ...

    def follows(self, url: str) -> bool:
        """Whether a URL, in any of the forms that Git hosts have, names the remote."""
        ...

    def refresh(self) -> None:
        """Read the remote soon. Returns at once."""
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
