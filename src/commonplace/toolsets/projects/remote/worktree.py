"""The files of a store in their work tree: commits of manual edits, and moves to another commit.

Other files may exist beside those of the store. They are never committed, and never changed.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pygit2.enums import FileStatus

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author, FileStat, RetainedCopy, record_retained, recording_retained
from commonplace.domain.errors import ConflictError, NotFoundError, ReadOnlyError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.file_swap import FileChange, SeenFile, storage_errors
from commonplace.store.disk.folder import Folder
from commonplace.store.folder.retention import Retention
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import BranchMove, PlannedCommit, commit_message
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, TreeEntry
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git.worktree import GitIgnoreRules, changed_files, stored_form
from commonplace.store.names import checked_tree_path
from commonplace.toolsets.projects.rules.registry import (
    ACTIVITY_FILE,
    IGNORE_FILE,
    PROJECTS_KEY,
    ignores_log,
    is_in_project,
    is_stored,
)

_MAX_NAMED = 3
"""Maximum number of files that an error names."""
log = logging.getLogger(__name__)

_REGULAR = {MODE_FILE, MODE_EXECUTABLE}
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
    """The files of one repository. Everything except `uncommitted` needs the writer lock."""

    folder: Folder
    git: GitWriter
    writer: TransactionWriter
    retention: Retention
    who: Author

    @property
    def repository(self) -> GitRepository:
        """The repository of the work tree."""
        return self.git.repository

    def uncommitted(self) -> list[str]:
        """One line for each file of the store that differs from the last commit, as `git status --short` prints it."""
        dirty = changed_files(self.repository, includes=self._is_own)
        return [f"{_letters(flags)} {path}" for path, flags in sorted(dirty.items())]

    def require_committable(self) -> None:
        """Check that committing and moving are possible.

        Raises:
            ReadOnlyError: a merge or rebase is in progress, the repository is not on a branch, or it is not writable.
        """
        if reason := self.git.refusal():
            raise ReadOnlyError(
                f"The store cannot be synchronised: {reason}.", kind="collection", hint="It can be read meanwhile."
            )

    def commit_all(self) -> tuple[int, str]:
        """Commit the store's current files, and stop tracking those that are now ignored.

        Returns:
            Number of files, and the commit message.

        Raises:
            ReadOnlyError: as from `require_committable`.
            StorageError: a file cannot be read.
        """
        self.require_committable()
        with storage_errors("the commit"):
            contents = dict(self._edited())
        if not contents:
            return 0, ""
        files = f"{len(contents)} files"
        message = f"Sync storage: {files} updated"
        words = commit_message(self.repository, message, self.who)
        plain = {path: None if found_content is None else found_content[1] for path, found_content in contents.items()}
        read = {path: found_content[0] for path, found_content in contents.items() if found_content is not None}
        staged = self.writer.staged_blobs({path: content is None for path, content in plain.items()})
        with recording_retained() as copies, self.retention.kept([], staged):
            self.writer.apply([], lambda token: self.git.plan(token, [PlannedCommit(plain, words)]), read)
        _log_kept(copies)
        return len(contents), message

    def move(self, commit: str) -> None:
        """Move branch and files to another commit.

        Untracked files stay. Edits made since the last commit go to the trash.

        Raises:
            ConflictError: a file was changed meanwhile, or a file outside the store has uncommitted changes and would
                be replaced; nothing was changed.
            UnavailableError: the branch was changed meanwhile; nothing was changed.
        """
        repository = self.repository
        old = repository.head
        trees = TreeDiff(repository)
        before = repository.tree_of(old)
        paths = [checked_tree_path(os.fsdecode(path)) for path in trees.differing(before, repository.tree_of(commit))]
        self._refuse_uncommitted(old, paths)
        changed = {path: repository.entry(commit, path) for path in paths}
        changes = [change for path in paths if (change := self._change(path, old, changed[path]))]
        staged = self.writer.staged_blobs({path: entry is None for path, entry in changed.items()})
        with recording_retained() as copies, self.retention.kept(changes, staged):
            self.writer.apply(changes, lambda token: BranchMove(repository, token, commit, changed))
        _log_kept(copies)

    def _refuse_uncommitted(self, old: str, paths: Sequence[str]) -> None:
        """Reject replacing uncommitted changes of other files. The store's own files were committed before."""
        others = [path for path in paths if not self._is_own(path) and self.repository.entry(old, path)]
        dirty = changed_files(self.repository, includes=set(others).__contains__) if others else {}
        if changed := [path for path in others if path in dirty]:
            shown = ", ".join(changed[:_MAX_NAMED]) + (" and others" if len(changed) > _MAX_NAMED else "")
            raise ConflictError(
                f"The remote has changed {shown}, which also has uncommitted changes here",
                kind="document",
                hint="Commit or discard them with git.",
            )

    def _change(self, path: str, old: str, entry: TreeEntry | None) -> FileChange | None:
        """The change of one file; None if it is not tracked, is a link, or has the new content already."""
        if entry is not None and entry.mode not in _REGULAR:
            return None
        content = None if entry is None else self.repository.content(entry.id)
        found_pair = self._found(path)
        if found_pair is None:
            return None if content is None else FileChange(path, None, content)
        status, now = found_pair
        if self.repository.entry(old, path) is None or now == content:
            return None
        return FileChange(path, SeenFile(status, revision_of(now)), content, keep=True)

    def _edited(self) -> Iterator[tuple[str, tuple[FileStat, bytes] | None]]:
        """Path, metadata and bytes of each of the store's files that differs from the last commit; None if deleted."""
        repository = self.repository
        head = repository.head
        rules = GitIgnoreRules(repository)
        for path in sorted({*changed_files(repository, includes=self._is_managed), *self._newly_ignored(head, rules)}):
            entry = repository.entry(head, path)
            if entry is not None and entry.mode not in _REGULAR:
                continue
            if rules.ignores(path):
                if entry is not None:
                    yield path, None
            elif path != ACTIVITY_FILE:
                yield from self._edit(path, entry)

    def _edit(self, path: str, entry: TreeEntry | None) -> Iterator[tuple[str, tuple[FileStat, bytes] | None]]:
        """The row of `_edited` for a file that no rule ignores."""
        pair = self._found(path)
        if pair is None and entry is not None and not self._is_there(path):
            yield path, None
        elif pair and (entry is None or entry.id != revision_of(stored_form(self.repository, path, pair[1]))):
            yield path, pair

    def _newly_ignored(self, head: str, rules: GitIgnoreRules) -> Iterator[str]:
        for path, _ in TreeDiff(self.repository).files(self.repository.tree_of(head)):
            name = os.fsdecode(path)
            below = name.startswith(f"{PROJECTS_KEY}/")
            if (below or self._is_managed(name)) and rules.ignores(name):
                yield name

    def _is_managed(self, path: str) -> bool:
        return path == ACTIVITY_FILE or self._is_own(path)

    def _is_own(self, path: str) -> bool:
        """Whether a file belongs to the store.

        An ignore file belongs to the store if it excludes the store's log. Any other file in a project's folder belongs
        to the store if it is already committed.
        """
        if path != IGNORE_FILE and (is_stored(path) or not is_in_project(path)):
            return is_stored(path)
        entry = self.repository.entry(self.repository.head, path)
        if path != IGNORE_FILE:
            return entry is not None
        if entry is not None:
            return entry.mode in _REGULAR and ignores_log(self.repository.content(entry.id))
        found_pair = self._found(path)
        return found_pair is not None and ignores_log(found_pair[1])

    def _found(self, path: str) -> tuple[FileStat, bytes] | None:
        """Metadata and bytes of the regular file at a path; None for a link or no file."""
        try:
            if not stat.S_ISREG((self.repository.root / path).lstat().st_mode):
                return None
            return self.folder.load(Address(path))
        except (FileNotFoundError, NotADirectoryError, NotFoundError):
            return None

    def _is_there(self, path: str) -> bool:
        """Whether the path exists. A path that may not be accessed is never treated as absent."""
        try:
            (self.repository.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True


def _log_kept(copies: Sequence[RetainedCopy]) -> None:
    """Log and record text that no commit contains."""
    record_retained(copies)
    for copy in copies:
        if copy.staged:
            log.warning("%s had staged text that no commit has: git cat-file blob %s", copy.address, copy.revision)
        elif copy.place != "commit":
            log.warning(
                "%s was edited while the remote's text was brought in; commonplace restore --at %s has the edit",
                copy.address,
                copy.revision,
            )


def _letters(flags: int) -> str:
    if flags & FileStatus.WT_NEW:
        return "??"
    staged = next((letter for flag, letter in _LETTERS if flags & flag), " ")
    return staged + next((letter for flag, letter in _WORK_LETTERS if flags & flag), " ")
