"""A collection that follows a remote, as a value whose state a test sets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from commonplace.domain.cluster import ReplicaStatus
from commonplace.domain.errors import NotFoundError, UnavailableError

COMMIT = "ab" * 20


@dataclass
class FixedReplica:
    """A replica in a state of the test's choice; its methods fulfil `domain.cluster.Replica`."""

    url: str = "https://git.example.org/team/notes.git"
    now: ReplicaStatus = field(default_factory=lambda: ReplicaStatus(COMMIT, ready=True, age=2.25))
    refreshed: int = 0

    def status(self, begun_at: str = "") -> ReplicaStatus:
        return replace(self.now, commit=begun_at) if begun_at else self.now

    def follows(self, url: str) -> bool:
        return url == self.url

    def refresh(self, *, now: bool = False) -> None:
        self.refreshed += not now

    def wait_for(self, commit: str, timeout: float) -> None:
        if commit == "0" * 40:
            raise NotFoundError("The branch no longer contains this commit.", kind="commit")
        if commit != self.now.commit:
            raise UnavailableError(f"The commit did not arrive within {timeout:g} s.", kind="commit")
