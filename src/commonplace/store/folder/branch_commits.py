"""New commits of a proposal's branch, before and while the branch is moved to the last of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.domain.errors import UnavailableError
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.git.commits import CommitMessage
from commonplace.store.git.objects import FILE_MODES, MODE_FILE, NewObjects, TreeEntry, changed_tree
from commonplace.store.git.refs import RefUpdate
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeCache, entry_at

TOKEN_PREFIX = "proposal"  # noqa: S105 - no secret
"""Beginning of the tokens of these writes, so that what a killed process left is recognized."""
_CACHED_ENTRIES = 1 << 30
"""New trees must stay in the cache until they are written, so it has no limit; it lives as long as one write."""


@dataclass(frozen=True, slots=True)
class BranchPart:
    """A commit of a proposal's branch before it is made."""

    contents: Mapping[str, bytes | None]
    """New bytes by path from the repository's root; None for a removed file."""
    message: str
    part: str = ""
    """`BASE`, `REST`, or "" for a change."""
    moved_from: Mapping[str, str] | None = None
    """Old path of each new file that takes the place of a removed one."""
    accepted: str = ""
    edited: str = ""
    """The files whose text was edited before it was accepted, for people."""


class RefMove(NamedTuple):
    """A ref that is to be moved, made or removed."""

    reference: str
    expected: str
    """The commit that it must be at; "" for a ref that must not exist."""
    target: str = ""
    """The new commit; "" to remove it."""


class BranchCommits:
    """New commits of a branch.

    Args:
        repository: The repository.
        reference: Full name of the branch.
    """

    def __init__(self, repository: GitRepository, reference: str) -> None:
        token = new_token()
        self._repository = repository
        self._objects = NewObjects(repository.objects, token, repository.has_object)
        self._trees = TreeCache(repository.content, _CACHED_ENTRIES)
        self._move = RefUpdate(repository.common, token, reference)
        self._made: dict[str, str] = {}
        """Tree by id of the new commits."""

    def add(self, parent: str, part: BranchPart, words: CommitMessage) -> str:
        """Add a commit; returns its id."""
        tree = self._made[parent] if parent in self._made else self._repository.tree_of(parent)
        changed: dict[str, TreeEntry | None] = {}
        for path, content in part.contents.items():
            source = (part.moved_from or {}).get(path, path)
            like = entry_at(self._trees, tree, path) or entry_at(self._trees, tree, source)
            mode = like.mode if like and like.mode in FILE_MODES else MODE_FILE
            changed[path] = None if content is None else TreeEntry(mode, self._objects.add("blob", content))
        new = changed_tree(self._objects, self._trees, tree, changed) if changed else tree
        commit = self._objects.add(
            "commit", words.content(new or changed_tree(self._objects, self._trees, "", {}), parent)
        )
        self._made[commit] = new
        return commit

    def place(self) -> None:
        """Make the commits durable, without a ref that names them."""
        with Unsynced() as unsynced:
            self._objects.write(unsynced)
            unsynced.sync()
        sync_folders(self._objects.place(), unless_ordered=True)

    def publish(self, expected: str, tip: str) -> None:
        """Make the commits durable, and move the branch.

        Raises:
            UnavailableError: the branch is not at `expected`, or another program moves it. Nothing was changed.
        """
        with Unsynced() as unsynced:
            self._objects.write(unsynced)
            self._move.write(tip, unsynced)
            unsynced.sync()
        sync_folders(self._objects.place(), unless_ordered=True)
        if not self._move.perform(expected, self._repository.tip):
            raise changed_proposal()
        sync_folders([self._move.folder])

    def discard(self) -> None:
        """Remove temporary files."""
        with suppress(OSError):
            self._objects.discard()
            self._move.discard()


def changed_proposal() -> UnavailableError:
    """The error for a branch that is not where it was."""
    return UnavailableError(
        "Another program changed the proposal meanwhile. Nothing was written.",
        kind="proposal",
        hint="Read it again, and repeat the call.",
        retry_after=1,
    )


def new_token() -> str:
    """A token for the temporary names of one write."""
    return TOKEN_PREFIX + secrets.token_hex(6)
