"""The store of a bare repository: the documents of its current branch, read from Git objects. Read-only."""

from __future__ import annotations

from functools import lru_cache

from commonplace.domain.past import PastCommits
from commonplace.store.disk.ignore_rules import OwnRules, verdict
from commonplace.store.git.past.history import GitHistory
from commonplace.store.git.past.past_commits import CommitLookup, PastRules
from commonplace.store.git.past.renames import RenameFinder
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_store import TreeSource, TreeStore

MAX_FOLDERS = 10_000
"""Maximum number of folders whose ignore rules are cached."""
_REFUSAL = "it is a bare repository; serve a clone of it to write"


class BareStore(TreeStore):
    """`domain.ports.Store` of a bare repository.

    Args:
        repository: The repository.
        identity: A stable key of the repository on this machine.
        refusal: The reason why it cannot be written, and what to do instead.
    """

    def __init__(self, repository: GitRepository, identity: str, refusal: str = _REFUSAL) -> None:
        name = repository.gitdir.name.removesuffix(".git")
        hides = _CurrentRules(repository).hides
        source = TreeSource(repository=repository, commit=lambda: repository.head, hides=hides)
        renames = RenameFinder(repository, "", self._hidden)
        super().__init__(name, identity, source, GitHistory(repository, "", None, renames), refusal)
        self._past = CommitLookup(repository, name, identity, renames)

    @property
    def past(self) -> PastCommits | None:
        """The commits of the current branch."""
        return self._past


class _CurrentRules:
    """The ignore rules of the current commit. Thread-safe."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._at = lru_cache(MAX_FOLDERS)(self._read)

    def hides(self, path: str, is_folder: bool) -> bool:
        """Whether an entry is ignored, by its path; the folders above it are not considered."""
        rules = self._at(self._repository.head, path.rpartition("/")[0])
        return bool(rules) and bool(verdict(rules, path.split("/"), is_folder=is_folder))

    def _read(self, commit: str, folder: str) -> OwnRules:
        return PastRules(self._repository, commit, "").at(folder.split("/") if folder else [])
