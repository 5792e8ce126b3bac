"""Caches ancestors of the current commit, so that reading a page of an old commit does not walk the history again."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from commonplace.store.git.repository import GitRepository

MAX_KNOWN = 20_000
"""Maximum number of cached ancestors; the cache is cleared when it is exceeded."""


class AncestorCache:
    """Cached ancestors of a commit, which remain valid for its descendants. Thread-safe.

    Without the cache, each lookup in a history of n commits costs n reads. With it, a branch that grows costs a walk
    over its new commits only.

    Args:
        repository: The repository.
    """

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._tip = ""
        self._known: set[str] = set()

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors.

        Raises:
            GitError: the history cannot be read.
        """
        is_carried = self._advance(tip)
        if is_carried and self._is_known(tip, commit):
            return True
        found = self._repository.holds(tip, commit)
        if found and is_carried:
            self._add(tip, (commit,))
        return found

    def add(self, tip: str, commits: Iterable[str]) -> None:
        """Add commits that are known to be ancestors of `tip`."""
        if self._advance(tip):
            self._add(tip, commits)

    def _is_known(self, tip: str, commit: str) -> bool:
        with self._lock:
            return tip == self._tip and commit in self._known

    def _add(self, tip: str, commits: Iterable[str]) -> None:
        with self._lock:
            if tip == self._tip:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known.update(commits)

    def _advance(self, tip: str) -> bool:
        """Apply the cached ancestors to a newer tip. Returns false for an older tip, to which they do not apply."""
        before = self._tip
        if tip == before:
            return True
        is_there = bool(before) and self._repository.has_object(before)
        is_descendant = is_there and self._repository.holds(tip, before)
        if is_there and not is_descendant and self._repository.holds(before, tip):
            return False
        with self._lock:
            if self._tip == before:  # otherwise another thread was faster
                self._tip = tip
                if not is_descendant:
                    self._known.clear()
            return self._tip == tip
