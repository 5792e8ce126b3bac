"""Commits of exactly the given paths, with their author and time, and moves of the branch to an existing commit."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import pygit2

from commonplace.domain.changes import (
    COMMITTER,
    CREDITS_COMMITTER,
    CURRENT_CLIENT,
    WRITER,
    Author,
    ClientProgram,
    StatedMessage,
    clean_name,
    person_of,
    plain_message,
    trailer_gap,
)
from commonplace.domain.errors import GitError, UnavailableError
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.git.objects import (
    EMPTY_TREE,
    KnownTrees,
    NewObjects,
    RawTree,
    TreeEntry,
    changed_tree,
    id_of,
)
from commonplace.store.git.refs import RefUpdate, append_to_logs
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import entry_at

# Commits of exactly the given paths; other staged or changed files are not included.


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
    """A commit's message and people. Every commit of every face is by whom this says.

    Lines of a caller's message that look like trailers of this program are made none (`plain_message`).

    The author is `author`, else the person who calls (`WRITER`), else whoever the environment and the repository's
    configuration name.
    """
    author = author or WRITER.get()
    committer = signature("committer", repository.setting, author if author and author.commits else COMMITTER.get())
    client = CURRENT_CLIENT.get()
    author, program = _credited(author, client)
    writer = signature("author", repository.setting, author)
    text, stated = (message.text, message.trailers) if isinstance(message, StatedMessage) else (message, ())
    text = clean_message(plain_message(text))
    for line in _trailers(stated, writer, committer, program, client):
        text = with_trailer(text, line)
    if sign_off:
        text = with_trailer(text, f"Signed-off-by: {person_line(committer)}")
    return CommitMessage(text, writer, committer)


def _credited(author: Author | None, client: ClientProgram | None) -> tuple[Author | None, Author | None]:
    """The author of a commit, and the program that is credited beside the author; None for neither."""
    program = person_of(client.name) if client and client.credit != "none" else None
    is_author = client and client.credit == "author" and author is None
    return (program, None) if is_author else (author, program)


def _trailers(
    stated: Sequence[str],
    writer: Signature,
    committer: Signature,
    program: Author | None,
    client: ClientProgram | None,
) -> Iterator[str]:
    """The trailers of a commit in order: what the program states, who is credited, and through what it was written."""
    for line in stated:
        if line != CREDITS_COMMITTER:
            yield line
        elif person_line(committer) != person_line(writer):
            yield f"Co-authored-by: {person_line(committer)}"
    if program:
        yield f"Co-authored-by: {program.name} <{program.email}>"
    if client:
        yield from client.trailers(writer.author.name)


def person_line(person: Signature) -> str:
    """Name and e-mail as they stand in a trailer."""
    return f"{person.author.name} <{person.author.email}>"


def message_of_commit(commit: pygit2.Commit) -> CommitMessage:
    """Message and people of an existing commit."""
    return CommitMessage(commit.message, _signature_of(commit.author), _signature_of(commit.committer))


class BranchUpdate(Protocol):
    """The change of a branch in a transaction: new commits, or a move to an existing one."""

    @property
    def reference(self) -> str:
        """The branch's full name."""
        ...

    @property
    def commit(self) -> str:
        """The branch's new commit; "" if it does not move."""
        ...

    @property
    def base(self) -> str:
        """The commit that the branch was at; "" for none."""
        ...

    @property
    def changed(self) -> Mapping[str, TreeEntry | None]:
        """The changed entries, by path; None for a removed file."""
        ...

    @property
    def before(self) -> Mapping[str, str]:
        """Ids of the replaced blobs, by path, if known; "" for none."""
        ...

    def write(self, unsynced: Unsynced) -> None:
        """Write everything under temporary names."""
        ...

    def place(self) -> list[Path]:
        """Rename the durable objects to their final names; returns the folders whose names have changed, in order."""
        ...

    def publish(self) -> list[Path]:
        """Move the branch; returns the folders whose names have changed, in order."""
        ...

    def roll_back(self) -> bool:
        """Move the branch back if it was moved. Returns true if the branch does not contain the new commits now.

        Raises:
            OSError, KnowledgeError: this is not possible now.
        """
        ...

    def discard(self) -> None:
        """Remove the temporary files after a failed transaction."""
        ...


class _PlannedTrees:
    """The cached trees, and the unwritten trees, which are retained when the cache is cleared."""

    def __init__(self, trees: KnownTrees) -> None:
        self._trees = trees
        self._planned: dict[str, RawTree] = {}

    def tree(self, identifier: str) -> RawTree:
        """Entries of a tree, read-only; none for ""."""
        planned = self._planned.get(identifier)
        return self._trees.tree(identifier) if planned is None else planned

    def keep(self, identifier: str, tree: RawTree) -> None:
        """Add a tree."""
        self._planned[identifier] = tree
        self._trees.keep(identifier, tree)


@dataclass(frozen=True, slots=True)
class PlannedCommit:
    """The commit of one write."""

    contents: Mapping[str, bytes | None]
    """New bytes by path; None for a removed file."""
    words: CommitMessage
    moved_from: Mapping[str, str] = field(default_factory=dict[str, str])
    """Old path of each new file whose mode comes from another file."""
    partial: Mapping[str, tuple[bytes, bytes]] = field(default_factory=dict[str, tuple[bytes, bytes]])
    """Old and new text, as Git stores them, of files of which only this change is committed, by path."""


@dataclass(frozen=True, slots=True)
class PartialChange:
    """A change of a file of which the parent commit has another text."""

    source: str
    """Path of the file in the parent commit."""
    before: bytes
    after: bytes


@dataclass(slots=True)
class _NewCommit:
    changed: Mapping[str, TreeEntry | None]
    words: CommitMessage
    partial: Mapping[str, PartialChange]
    commit: str = ""
    parent: str = ""


class NewCommits:
    """New commits on the current branch, each on top of the one before: `add` each, then `write`, `place`, `publish`.

    The commits change different paths.
    """

    def __init__(self, repository: GitRepository, trees: KnownTrees, token: str, reference: str) -> None:
        """Create the update without commits.

        Args:
            repository: The repository.
            trees: Cache of trees; new trees are added.
            token: Token of the transaction.
            reference: The branch.
        """
        self.reference = reference
        self.objects = NewObjects(repository.objects, token, repository.has_object)
        """Objects of the transaction, including the blobs of its files."""
        self.base = repository.tip(reference)
        """The commit that the branch was at when the first commit was planned; "" for none."""
        self.before: dict[str, str] = {}
        """Ids of the replaced blobs, by path; "" for none."""
        self.trees: KnownTrees = _PlannedTrees(trees)
        """The trees of the repository and of these commits."""
        self._repository = repository
        self._advance = RefUpdate(repository.common, token, reference)
        self._planned: list[_NewCommit] = []
        self._tip = self.base
        self.tree = repository.tree_of(self.base)
        """Id of the last commit's tree; "" without a commit."""

    @property
    def commit(self) -> str:
        """Id of the last commit; "" if there is nothing to commit."""
        return self._tip if any(commit.commit for commit in self._planned) else ""

    @property
    def changed(self) -> Mapping[str, TreeEntry | None]:
        """Changed entries of all commits, by path."""
        return {path: entry for commit in self._planned for path, entry in commit.changed.items()}

    @property
    def ids(self) -> Sequence[str]:
        """Id of each commit; "" if nothing differs. `publish` changes them if another program has moved the branch."""
        return [commit.commit for commit in self._planned]

    def add(
        self,
        changed: Mapping[str, TreeEntry | None],
        words: CommitMessage,
        partial: Mapping[str, PartialChange] = MappingProxyType({}),
    ) -> None:
        """Plan a commit on top of the others.

        Args:
            changed: New entries by path; None for a removed file.
            words: Message and people.
            partial: Changes that are made in the text of the parent commit, by path.
        """
        planned = _NewCommit(changed, words, partial)
        self._plan(planned)
        self._planned.append(planned)

    def write(self, unsynced: Unsynced) -> None:
        """Write objects and the branch's new value under temporary names."""
        if self.commit:
            self.objects.write(unsynced)
            self._advance.write(self.commit, unsynced)

    def place(self) -> list[Path]:
        """Rename the durable objects to their final names; returns the folders whose names have changed, in order."""
        return self.objects.place()

    def publish(self) -> list[Path]:
        """Move the branch to the last commit; returns the folders whose names have changed, in order.

        Raises:
            GitError: the branch has moved in `MAX_COMMIT_ATTEMPTS` attempts, or is no longer the current one.
            UnavailableError: another program holds the branch's lock.
        """
        for _ in range(MAX_COMMIT_ATTEMPTS):
            if not self.commit:
                return []
            if self._repository.branch != self.reference:
                raise _switched(self.reference)
            if self._advance.perform(self.base, self._repository.tip):
                self._record()
                return [self._advance.folder]
            self._plan_again()
            settle(self)
        raise _restless(self.reference)

    def roll_back(self) -> bool:
        """Move the branch back if it was moved. Returns true if the branch does not contain the commits now."""
        return roll_back_branch(self._repository, self._advance, self.reference, (self.commit, self.base))

    def discard(self) -> None:
        """Remove the temporary files after a failed transaction."""
        self.objects.discard()
        self._advance.discard()

    def _plan(self, planned: _NewCommit) -> None:
        """Create trees and the commit on top of the last one."""
        planned.changed = {**planned.changed, **dict(self._partial_entries(planned))}
        tree = changed_tree(self.objects, self.trees, self.tree, planned.changed)
        planned.parent, planned.commit = self._tip, ""
        if tree != (self.tree or EMPTY_TREE):
            content = planned.words.content(tree, self._tip)
            planned.commit = self._tip = self.objects.add("commit", content)
            self.tree = tree

    def _partial_entries(self, planned: _NewCommit) -> Iterator[tuple[str, TreeEntry]]:
        """The entries of partial changes on top of the last commit."""
        if not planned.partial:
            return
        from commonplace.domain.merge import with_change  # noqa: PLC0415 - few writes need it, no start does

        for path, part in planned.partial.items():
            entry, base = planned.changed[path], entry_at(self.trees, self.tree, part.source)
            if entry and base:
                text = with_change(part.before, part.after, self._repository.content(base.id))
                yield path, TreeEntry(entry.mode, self.objects.add("blob", text))

    def _plan_again(self) -> None:
        """Plan all commits on top of the branch's current commit."""
        self.base = self._tip = self._repository.tip(self.reference)
        self.tree = self._repository.tree_of(self.base)
        for planned in self._planned:
            self._plan(planned)

    def _record(self) -> None:
        """Append to the reflogs, a line for each commit."""
        repository = self._repository
        create = repository.is_set("core.logallrefupdates", otherwise=True)
        lines = b"".join(
            _log_line(commit.parent, commit.commit, commit.words) for commit in self._planned if commit.commit
        )
        append_to_logs(repository.gitdir, repository.common, self.reference, lines, create=create)


def settle(commits: NewCommits) -> None:
    """Write and place the objects of commits, and make them durable."""
    with Unsynced() as unsynced:
        commits.write(unsynced)
        unsynced.sync()
    sync_folders(commits.place(), unless_ordered=True)


def roll_back_branch(repository: GitRepository, advance: RefUpdate, reference: str, move: tuple[str, str]) -> bool:
    """Move a branch back from new commits. Returns true if the branch does not contain the last of them now.

    Args:
        repository: The repository.
        advance: The transaction's update of the branch.
        reference: The branch.
        move: The last new commit, and the commit that the branch was at before; each "" for none.

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


# Moves the current branch to an existing commit, in one transaction with the changed files.


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
        self.before: Mapping[str, str] = {path: id_of(repository.entry(repository.head, path)) for path in changed}
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
        create = repository.is_set("core.logallrefupdates", otherwise=True)
        append_to_logs(repository.gitdir, repository.common, self.reference, line, create=create)


# Author and committer of a commit, with the time: from the environment, Git's configuration, or the default.


DEFAULT_AUTHOR = Author("commonplace", "commonplace@localhost")
ConfigReader = Callable[[str], str]
"""Returns a value of Git's configuration; "" if it is not set."""

_RAW_DATE = re.compile(r"@?(\d{1,11}) ([+-])(\d\d)(\d\d)")


@dataclass(frozen=True, slots=True)
class Signature:
    """Author or committer of a commit, with the time."""

    author: Author
    when: int
    """Time in Unix seconds."""
    offset: int
    """Time zone in minutes east of UTC."""

    def __bytes__(self) -> bytes:
        sign, (hours, minutes) = "-" if self.offset < 0 else "+", divmod(abs(self.offset), 60)
        text = f"{self.author.name} <{self.author.email}> {self.when} {sign}{hours:02}{minutes:02}"
        return text.encode("utf-8", "replace")


def signature(role: str, setting: ConfigReader, author: Author | None = None) -> Signature:
    """The signature of a role.

    Args:
        role: "author" or "committer".
        setting: Git's configuration.
        author: A person who takes precedence over environment and configuration; None for nobody.
    """
    name, email = (author.name, author.email) if author else ("", "")
    environment = f"GIT_{role.upper()}"
    person = Author(
        _first(
            name,
            os.environ.get(f"{environment}_NAME"),
            setting(f"{role}.name"),
            setting("user.name"),
            DEFAULT_AUTHOR.name,
        ),
        _first(
            email,
            os.environ.get(f"{environment}_EMAIL"),
            setting(f"{role}.email"),
            setting("user.email"),
            DEFAULT_AUTHOR.email,
        ),
    )
    when, offset = _date(os.environ.get(f"{environment}_DATE", "")) or _now()
    return Signature(person, when, offset)


def clean_message(message: str) -> str:
    """A commit message in the form that Git stores: no outer blank lines, one final line end."""
    return message.replace("\r\n", "\n").strip() + "\n"


def with_trailer(message: str, line: str) -> str:
    """A cleaned message with a trailer (`Signed-off-by: …`), in its last paragraph if that consists of trailers."""
    if line in message.splitlines():
        return message
    return f"{message}{trailer_gap(message)}{line}\n"


def _first(*candidates: str | None) -> str:
    cleaned = (clean_name(candidate or "") for candidate in candidates)
    return next(candidate for candidate in cleaned if candidate)


def _now() -> tuple[int, int]:
    now = int(time.time())
    return now, time.localtime(now).tm_gmtoff // 60


def _date(text: str) -> tuple[int, int] | None:
    """Parse Git's own form (`<seconds> <+hhmm>`) or ISO 8601; None for any other."""
    if raw := _RAW_DATE.fullmatch(text.strip()):
        seconds, sign, hours, minutes = raw.groups()
        offset = int(hours) * 60 + int(minutes)
        return int(seconds), -offset if sign == "-" else offset
    try:
        moment = datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        return None
    offset = moment.utcoffset()
    return int(moment.timestamp()), int(offset.total_seconds()) // 60 if offset else 0
