"""Moves the current branch to an existing commit, in one transaction with the changed files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from commonplace.domain.errors import UnavailableError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.git.commits import roll_back_branch
from commonplace.store.git.identity import signature
from commonplace.store.git.objects import TreeEntry
from commonplace.store.git.refs import RefUpdate, append_to_logs
from commonplace.store.git.repository import GitRepository


class BranchMove:
    """A branch update like `NewCommits`, but to an existing commit: `write`, then `publish`."""

    def __init__(
        self, repository: GitRepository, token: str, commit: str, changed: Mapping[str, TreeEntry | None]
    ) -> None:
        """Prepare the move.

        Args:
            repository: The repository.
            token: Token of the transaction.
            commit: Target of the branch.
            changed: Entries that differ between target and current commit, by path.
        """
        self.reference = repository.branch
        self.commit = commit
        self.changed = changed
        self.before: Mapping[str, str] = {path: _blob(repository.entry(repository.head, path)) for path in changed}
        """Ids of the replaced blobs, by path; "" for none."""
        self._repository = repository
        self.base = repository.tip(self.reference)
        """The commit that the branch was at; "" for none."""
        self._advance = RefUpdate(repository.common, token, self.reference)

    def write(self, unsynced: Unsynced) -> None:
        """Write the branch's new value under a temporary name."""
        self._advance.write(self.commit, unsynced)

    def place(self) -> list[Path]:
        """Do nothing, because the commit exists already; returns an empty list."""
        return []

    def publish(self) -> list[Path]:
        """Move the branch; returns the folders whose names have changed.

        Raises:
            UnavailableError: another program has moved the branch or switched to another one.
        """
        current = self._repository.branch == self.reference
        if not current or not self._advance.perform(self.base, self._repository.tip):
            raise UnavailableError(
                "Another Git program changed the branch meanwhile. Nothing was changed.",
                kind="repository",
                hint="Try again.",
            )
        self._record()
        return [self._advance.folder]

    def roll_back(self) -> bool:
        """Move the branch back if it was moved. Returns true if the branch does not contain the commit now."""
        if self._repository.tip(self.reference) == self.base:
            return True
        return roll_back_branch(self._repository, self._advance, self.reference, (self.commit, self.base))

    def discard(self) -> None:
        """Remove the temporary file after a failed transaction."""
        self._advance.discard()

    def _record(self) -> None:
        who = bytes(signature("committer", self._repository.setting))
        line = f"{self.base or '0' * 40} {self.commit} ".encode() + who + b"\tcommonplace: bring in the remote\n"
        repository = self._repository
        wanted = repository.is_set("core.logallrefupdates", otherwise=True)
        append_to_logs(repository.gitdir, repository.common, self.reference, line, create=wanted)


def _blob(entry: TreeEntry | None) -> str:
    return entry.id if entry else ""
