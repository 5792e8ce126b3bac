"""The work tree as a whole: committing what was edited by hand, and moving it to another commit."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from pygit2.enums import FileStatus

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, FileStat
from commonplace.domain.errors import NotFoundError, ReadOnlyError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.swapping import Change, Seen, refusals
from commonplace.store.git.committing import wording
from commonplace.store.git.filters import is_ignored, stored_form
from commonplace.store.git.moving import Move
from commonplace.store.git.objects import EXECUTABLE, FILE, Entry
from commonplace.store.git.past.trees import Trees
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.writing import GitWriter
from commonplace.store.retention import Retention
from commonplace.store.writing import Writer

_REGULAR = {FILE, EXECUTABLE}
_LETTERS = (
    (FileStatus.INDEX_NEW, "A"),
    (FileStatus.INDEX_MODIFIED, "M"),
    (FileStatus.INDEX_DELETED, "D"),
    (FileStatus.INDEX_RENAMED, "R"),
    (FileStatus.INDEX_TYPECHANGE, "T"),
)
_WORK_LETTERS = (
    (FileStatus.WT_MODIFIED, "M"),
    (FileStatus.WT_DELETED, "D"),
    (FileStatus.WT_RENAMED, "R"),
    (FileStatus.WT_TYPECHANGE, "T"),
)


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The files of one repository; everything but `uncommitted` is called under the writer's lock."""

    folder: Folder
    git: GitWriter
    writer: Writer
    retention: Retention
    who: Author

    @property
    def repository(self) -> GitRepository:
        """Whose work tree it is."""
        return self.git.repository

    def uncommitted(self) -> list[str]:
        """One line for each path that is not as the last commit has it, as `git status --short` shows it."""
        return [f"{_letters(flags)} {path}" for path, flags in sorted(self.repository.dirty().items())]

    def require_committable(self) -> None:
        """Refuse while nothing may be committed or moved.

        Raises:
            ReadOnlyError: a merge or rebase is in progress, the repository is on no branch, or it may not be written.
        """
        if reason := self.git.refusal():
            raise ReadOnlyError(
                f"The store cannot be synchronised: {reason}.", kind="collection", hint="It can be read meanwhile."
            )

    def commit_all(self) -> tuple[int, str]:
        """Commit every file as it is now, and stop tracking what is now ignored; how many files, and the message.

        Raises:
            ReadOnlyError: as `require_committable`.
            StorageError: a file cannot be looked at.
        """
        self.require_committable()
        with refusals("the commit"):
            contents = dict(self._edited())
        if not contents:
            return 0, ""
        files = f"{len(contents)} files"
        message = f"Sync storage: {files} updated"
        words = wording(self.repository, message, self.who)
        plain = {path: None if found is None else found[1] for path, found in contents.items()}
        read = {path: found[0] for path, found in contents.items() if found is not None}
        self.writer.apply([], lambda token: self.git.plan(token, plain, words), read)
        return len(contents), message

    def move(self, commit: str) -> None:
        """Bring branch and files to another commit; what is not tracked stays as it is.

        What was edited since the last commit, in the moment before, goes to the trash.

        Raises:
            ConflictError, UnavailableError: a file or the branch was changed meanwhile; nothing was changed.
        """
        repository = self.repository
        old = repository.head
        trees = Trees(repository)
        before = repository.tree_of(old)
        paths = [os.fsdecode(path) for path in trees.differing(before, repository.tree_of(commit))]
        changed = {path: repository.entry(commit, path) for path in paths}
        changes = [change for path in paths if (change := self._change(path, old, changed[path]))]
        with self.retention.kept(changes):
            self.writer.apply(changes, lambda token: Move(repository, token, commit, changed))

    def _change(self, path: str, old: str, entry: Entry | None) -> Change | None:
        """What becomes of one file; None where it stays: it is not tracked, is a link, or says so already."""
        if entry is not None and entry.mode not in _REGULAR:
            return None
        content = None if entry is None else self.repository.content(entry.id)
        found = self._found(path)
        if found is None:
            return None if content is None else Change(path, None, content)
        status, now = found
        if self.repository.entry(old, path) is None or now == content:
            return None
        return Change(path, Seen(status, revision_of(now)), content, keep=True)

    def _edited(self) -> Iterator[tuple[str, tuple[FileStat, bytes] | None]]:
        """Path, facts and bytes of every file that a commit of all would change; None for one that it would remove."""
        repository = self.repository
        head = repository.head
        paths = {path for path in repository.dirty() if not path.endswith("/")} | set(self._newly_ignored(head))
        for path in sorted(paths):
            entry = repository.entry(head, path)
            if entry is not None and entry.mode not in _REGULAR:
                continue
            if is_ignored(repository, path):
                if entry is not None:
                    yield path, None
                continue
            found = self._found(path)
            if found is None and entry is not None and not self._is_there(path):
                yield path, None
            elif found and (entry is None or entry.id != revision_of(stored_form(repository, path, found[1]))):
                yield path, found

    def _newly_ignored(self, head: str) -> Iterator[str]:
        for path in Trees(self.repository).differing("", self.repository.tree_of(head)):
            name = os.fsdecode(path)
            if is_ignored(self.repository, name):
                yield name

    def _found(self, path: str) -> tuple[FileStat, bytes] | None:
        """Facts and bytes of the regular file at a path, which is no link."""
        try:
            if not stat.S_ISREG((self.repository.root / path).lstat().st_mode):
                return None
            return self.folder.load(Address(path))
        except (FileNotFoundError, NotADirectoryError, NotFoundError):
            return None

    def _is_there(self, path: str) -> bool:
        """Whether there is anything at a path; what may not be looked at is never taken for absent."""
        try:
            (self.repository.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def _letters(flags: int) -> str:
    if flags & FileStatus.WT_NEW:
        return "??"
    staged = next((letter for flag, letter in _LETTERS if flags & flag), " ")
    return staged + next((letter for flag, letter in _WORK_LETTERS if flags & flag), " ")
