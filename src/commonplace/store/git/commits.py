"""Commits of exactly the given paths; other staged or changed files are not included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pygit2

from commonplace.domain.changes import CURRENT_CLIENT, Author
from commonplace.domain.errors import GitError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.git.identity import Signature, clean_message, person_of, signature, with_trailer
from commonplace.store.git.objects import EMPTY_TREE, KnownTrees, NewObjects, TreeEntry, changed_tree
from commonplace.store.git.refs import RefUpdate, append_to_logs
from commonplace.store.git.repository import GitRepository

MAX_COMMIT_ATTEMPTS = 10
"""Maximum number of attempts if other programs commit on the same branch at the same time."""


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """Message and people of a commit."""

    message: str
    author: Signature
    committer: Signature

    def content(self, tree: str, parent: str) -> bytes:
        """The commit object's content."""
        lines = [b"tree " + tree.encode(), *([b"parent " + parent.encode()] if parent else [])]
        people = [b"author " + bytes(self.author), b"committer " + bytes(self.committer)]
        return b"\n".join([*lines, *people, b"", self.message.encode("utf-8", "replace")])


def commit_message(
    repository: GitRepository, message: str, author: Author | None, *, sign_off: bool = False
) -> CommitMessage:
    """A commit's message and people, from the environment and the repository's configuration."""
    committer = signature("committer", repository.setting, author if author and author.commits else None)
    client = CURRENT_CLIENT.get()
    program = person_of(client.name) if client and client.credit != "none" else None
    if program and client and client.credit == "author" and author is None:
        author, program = program, None
    text = clean_message(message)
    if program:
        text = with_trailer(text, "Co-authored-by", program)
    if sign_off:
        text = with_trailer(text, "Signed-off-by", committer.author)
    return CommitMessage(text, signature("author", repository.setting, author), committer)


def message_of_commit(commit: pygit2.Commit) -> CommitMessage:
    """Message and people of an existing commit."""
    return CommitMessage(commit.message, _signature_of(commit.author), _signature_of(commit.committer))


class BranchUpdate(Protocol):
    """The change of a branch in a transaction: a new commit, or a move to an existing one."""

    @property
    def reference(self) -> str:
        """The branch's full name."""
        ...

    @property
    def commit(self) -> str:
        """The branch's new commit; "" if it does not move."""
        ...

    @property
    def changed(self) -> Mapping[str, TreeEntry | None]:
        """The new commit's changed entries, by path; None for a removed file."""
        ...

    @property
    def before(self) -> Mapping[str, str]:
        """Ids of the replaced blobs, by path, if known; "" for none."""
        ...

    def write(self, unsynced: Unsynced) -> None:
        """Write everything under temporary names."""
        ...

    def place(self) -> set[Path]:
        """Rename the durable objects to their final names; returns the folders whose names have changed."""
        ...

    def publish(self) -> set[Path]:
        """Move the branch; returns the folders whose names have changed."""
        ...

    def roll_back(self) -> bool:
        """Move the branch back if it was moved. Returns whether it does not contain the commit now.

        Raises:
            OSError, KnowledgeError: this is not possible now.
        """
        ...

    def discard(self) -> None:
        """Remove the temporary files after a failed transaction."""
        ...


class NewCommit:
    """A new commit on the current branch: `prepare`, `write`, then `publish`."""

    def __init__(self, repository: GitRepository, trees: KnownTrees, objects: NewObjects, reference: str) -> None:
        """Create an empty commit.

        Args:
            repository: The repository.
            trees: Cache of trees, which new ones are added to.
            objects: Objects of the transaction, including the new blobs.
            reference: The branch.
        """
        self.reference = reference
        self.commit = ""
        """Id of the commit; "" if there is nothing to commit."""
        self._repository = repository
        self._objects = objects
        self._trees = trees
        self._advance = RefUpdate(repository.common, objects.token, reference)
        self.changed: Mapping[str, TreeEntry | None] = {}
        """Changed entries, by path."""
        self.before: Mapping[str, str] = {}
        """Ids of the replaced blobs, by path; "" for none."""
        self._words: CommitMessage | None = None
        self._parent = ""

    def prepare(self, changed: Mapping[str, TreeEntry | None], words: CommitMessage) -> None:
        """Create trees and the commit on top of the branch's current commit."""
        self.changed = changed
        self._words = words
        self._parent = self._repository.tip(self.reference)
        base = self._repository.tree_of(self._parent)
        tree = changed_tree(self._objects, self._trees, base, changed)
        differs = tree != (base or EMPTY_TREE)
        self.commit = self._objects.add("commit", words.content(tree, self._parent)) if differs else ""

    def write(self, unsynced: Unsynced) -> None:
        """Write objects and the branch's new value under temporary names."""
        if self.commit:
            self._objects.write(unsynced)
            self._advance.write(self.commit, unsynced)

    def place(self) -> set[Path]:
        """Rename the durable objects to their final names; returns the folders whose names have changed."""
        return self._objects.place()

    def publish(self) -> set[Path]:
        """Move the branch to the commit; returns the folders whose names have changed.

        Raises:
            GitError: the branch keeps moving, or is no longer the current one.
            UnavailableError: another program holds the branch's lock.
        """
        folders: set[Path] = set()
        for _ in range(MAX_COMMIT_ATTEMPTS):
            if not self.commit or self._words is None:
                return folders
            if self._repository.branch != self.reference:
                raise _switched(self.reference)
            if self._advance.perform(self._parent, self._repository.tip):
                self._record(self._words)
                return folders | {self._advance.folder}
            self.prepare(self.changed, self._words)
            folders |= self.settle()
        raise _restless(self.reference)

    def settle(self) -> set[Path]:
        """Write, sync and place the objects in one step."""
        with Unsynced() as unsynced:
            self.write(unsynced)
            unsynced.sync()
        return self.place()

    def roll_back(self) -> bool:
        """Move the branch back if it was moved. Returns whether it does not contain the commit now."""
        return roll_back_branch(self._repository, self._advance, self.reference, (self.commit, self._parent))

    def discard(self) -> None:
        """Remove the temporary files after a failed transaction."""
        self._objects.discard()
        self._advance.discard()

    def _record(self, words: CommitMessage) -> None:
        """Append to the reflogs."""
        repository = self._repository
        wanted = repository.is_set("core.logallrefupdates", otherwise=True)
        line = _log_line(self._parent, self.commit, words)
        append_to_logs(repository.gitdir, repository.common, self.reference, line, create=wanted)


def roll_back_branch(repository: GitRepository, advance: RefUpdate, reference: str, move: tuple[str, str]) -> bool:
    """Move a branch from a commit back to its parent. Returns whether it does not contain the commit now.

    Args:
        repository: The repository.
        advance: The transaction's update of the branch.
        reference: The branch.
        move: The commit and its parent, each "" for none.

    Raises:
        OSError, KnowledgeError: this is not possible now.
    """
    commit, before = move
    if not commit or not repository.has_object(commit):
        return True
    tip = repository.tip(reference)
    if tip != commit:
        return not repository.holds(tip, commit)
    return advance.roll_back(before, commit, repository.tip)


def _log_line(parent: str, commit: str, words: CommitMessage) -> bytes:
    kind = "commit" if parent else "commit (initial)"
    subject = words.message.partition("\n")[0]
    line = f"{parent or '0' * 40} {commit} ".encode() + bytes(words.committer)
    return line + f"\t{kind}: {subject}\n".encode("utf-8", "replace")


def _signature_of(person: pygit2.Signature) -> Signature:
    return Signature(Author(person.name, person.email), person.time, person.offset)


def _switched(reference: str) -> GitError:
    return GitError(
        f"The repository was switched from {reference} to another branch during the write. Nothing was changed.",
        kind="repository",
        hint="Try again.",
    )


def _restless(reference: str) -> GitError:
    return GitError(
        f"Other programs kept committing on {reference} during the write. Nothing was changed.",
        kind="repository",
        hint="Try again.",
    )
