"""The Git side of a write: whether committing is possible, the commit, and the index update."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pygit2.enums import RepositoryState

from commonplace.domain.changes import FileStat
from commonplace.domain.errors import ReadOnlyError
from commonplace.store.disk.durable import sync_folders
from commonplace.store.disk.folder import file_stat
from commonplace.store.disk.journal import JournalIntent
from commonplace.store.git import gitdir_files, index_entries, refs
from commonplace.store.git.commits import (
    BranchUpdate,
    CommitMessage,
    NewCommits,
    PartialChange,
    PlannedCommit,
    message_of_commit,
    settle,
    with_trailer,
)
from commonplace.store.git.index_entries import IndexEntries
from commonplace.store.git.index_file import IndexEntry
from commonplace.store.git.layout import is_submodule
from commonplace.store.git.objects import (
    MODE_EXECUTABLE,
    MODE_FILE,
    MODE_GITLINK,
    TreeEntry,
    discard_unplaced,
    id_of,
)
from commonplace.store.git.past.revision_walk import MAX_COMPARED_BYTES, MOVED_TRAILER, TRAILER_ARROW, renames_of
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeCache, TreeDiff, entry_at
from commonplace.store.git.worktree import GitAttributes, GitIgnoreRules, stored_form
from commonplace.store.names import BRANCHES, checked_ref

_BUSY = {
    RepositoryState.MERGE: "merge",
    RepositoryState.REVERT: "revert",
    RepositoryState.REVERT_SEQUENCE: "revert",
    RepositoryState.CHERRYPICK: "cherry-pick",
    RepositoryState.CHERRYPICK_SEQUENCE: "cherry-pick",
    RepositoryState.BISECT: "bisect",
    RepositoryState.REBASE: "rebase",
    RepositoryState.REBASE_INTERACTIVE: "rebase",
    RepositoryState.REBASE_MERGE: "rebase",
    RepositoryState.APPLY_MAILBOX: "am",
    RepositoryState.APPLY_MAILBOX_OR_REBASE: "rebase",
}
"""The command of Git by the state in which it leaves a repository before it is finished."""

MAX_TOGETHER = 64
"""Maximum number of commits of one transaction."""
MAX_STATED_MOVES = 1_000
"""Maximum number of moves that the message of a commit states."""
_KEPT_ENTRIES = 30_000
"""Maximum number of tree entries that are cached between writes."""


class GitWriter:
    """Creates commits in one repository's work tree."""

    def __init__(self, repository: GitRepository) -> None:
        self.repository = repository
        self.index = IndexEntries(repository.gitdir)
        self._trees = TreeCache(repository.content, _KEPT_ENTRIES)

    def refusal(self) -> str:
        """The reason why nothing can be committed now; "" if committing is possible."""
        repository = self.repository
        if reason := _kind_refusal(repository):
            return reason
        if not all(os.access(folder, os.W_OK | os.X_OK) for folder in (repository.gitdir, repository.common)):
            return "its .git folder may not be written by this user"
        if busy := _BUSY.get(RepositoryState(repository.handle.state())):
            return _unfinished(busy)
        if not repository.branch.startswith(BRANCHES):
            return "its repository is on no branch (detached HEAD); run git switch"
        return ""

    def committed(self, paths: Sequence[str]) -> list[str]:
        """Blob ids of files in the current commit; "" for none."""
        head = self.repository.head
        return (
            TreeDiff(self.repository).blobs(self.repository.tree_of(head), paths)
            if head and paths
            else [""] * len(paths)
        )

    def plan(self, token: str, commits: Sequence[PlannedCommit | None]) -> NewCommits:
        """New commits, each on top of the one before, before anything is written. They change different paths.

        Ignored files that are not tracked are excluded.

        Raises:
            ReadOnlyError: a file is in a nested repository.
            GitError: a file's attributes require an unsupported feature.
        """
        planned = NewCommits(self.repository, self._trees, token, self.repository.branch)
        for commit in commits:
            if commit is not None:
                self._add(planned, commit)
        return planned

    def _add(self, commits: NewCommits, planned: PlannedCommit) -> None:
        repository = self.repository
        changed: dict[str, TreeEntry | None] = {}
        before: dict[str, str] = {}
        partial: dict[str, PartialChange] = {}
        attributes, ignored = GitAttributes(repository), GitIgnoreRules(repository)
        for path, content in planned.contents.items():
            _refuse_inner_repository(repository.root, path)
            self._refuse_submodule(commits, path)
            old = entry_at(commits.trees, commits.tree, path)
            before[path] = id_of(old)
            if content is None:
                changed[path] = None
            elif old is not None or not ignored.ignores(path):
                blob = commits.objects.add("blob", stored_form(repository, path, content, attributes))
                source = planned.moved_from.get(path, path) if old is None else path
                like = old if source == path else entry_at(commits.trees, commits.tree, source)
                if path in planned.partial:
                    partial[path] = PartialChange(source, *planned.partial[path])
                changed[path] = TreeEntry(self._mode(source, like), blob)
        commits.add(changed, self._with_moves(planned, changed, before), partial)
        commits.before.update(before)

    def _with_moves(
        self, planned: PlannedCommit, changed: Mapping[str, TreeEntry | None], before: Mapping[str, str]
    ) -> CommitMessage:
        """The commit's message, with a trailer for each move that histories would not find by the rule of Git."""
        removed = {path: before[path] for path, entry in changed.items() if entry is None}
        added = {path: entry.id for path, entry in changed.items() if entry and not before[path]}
        moves = {new: old for new, old in planned.moved_from.items() if new in added and removed.get(old)}
        message = planned.words.message
        for new, old in self._unseen(moves, removed, added, planned.contents):
            message = with_trailer(message, f"{MOVED_TRAILER}{old}{TRAILER_ARROW}{new}")
        return replace(planned.words, message=message)

    def _unseen(
        self,
        moves: Mapping[str, str],
        removed: Mapping[str, str],
        added: Mapping[str, str],
        contents: Mapping[str, bytes | None],
    ) -> list[tuple[str, str]]:
        """New and old path of the first moves that Git's rule does not find in a commit, by its blobs and contents."""
        if not moves:
            return []
        texts = {blob: contents[path] or b"" for path, blob in added.items()}

        def content(raw: bytes) -> bytes | None:
            blob = raw.hex()
            text = texts.get(blob)
            if (self.repository.size(blob) if text is None else len(text)) > MAX_COMPARED_BYTES:
                return None
            return self.repository.content(blob) if text is None else text

        first = dict(islice(moves.items(), MAX_STATED_MOVES))
        gone, new_files = (
            {os.fsencode(path): bytes.fromhex(blob) for path, blob in side.items() if blob} for side in (removed, added)
        )
        renames = renames_of(gone, new_files, content)
        return [(new, old) for new, old in first.items() if renames.get(os.fsencode(new)) != os.fsencode(old)]

    def refuse_sparse(self, paths: Sequence[str]) -> None:
        """Reject new files at paths that a sparse checkout omits, because their content is unseen.

        Raises:
            ReadOnlyError: one of the paths is omitted.
        """
        for path in sorted(self.repository.sparse_paths(paths)):
            raise ReadOnlyError(
                f"{path} cannot be written: it is in the repository, and this sparse checkout leaves it out.",
                kind="document",
                hint="Run git sparse-checkout add with its folder, and read it first.",
                path=path,
            )

    def update_index(
        self, token: str, commit: BranchUpdate, written: Mapping[str, FileStat], pending: Mapping[str, str]
    ) -> dict[str, str]:
        """Update the index after a commit, including the pending entries; returns those that remain pending.

        Args:
            token: Token of the transaction.
            commit: The transaction's commit or branch move.
            written: Metadata of each file after it was written, to detect later changes.
            pending: Entries left over from before: path to old blob id.
        """
        entries = {path: self._index_entry(path, entry, written.get(path)) for path, entry in commit.changed.items()}
        staged = self.index.ids(entries)
        older = {path: old for path, old in pending.items() if path not in entries}
        if self._update(token, entries | self._waiting(older)):
            return {}
        return {**commit.before, **staged, **pending}

    def repair_index(self, token: str, pending: Mapping[str, str]) -> dict[str, str]:
        """Update pending entries to the current commit; returns those that remain pending."""
        waiting = self._waiting(pending)
        return {} if not waiting or self._update(token, waiting) else dict(pending)

    def _update(self, token: str, entries: Mapping[str, IndexEntry | None]) -> bool:
        return self.index.update(self.repository.gitdir / index_entries.temporary_name(token), entries)

    def _waiting(self, pending: Mapping[str, str]) -> dict[str, IndexEntry | None]:
        """The current commit's entries for the pending paths, except paths that were staged again since."""
        if not pending:
            return {}
        staged, head = self.index.ids(pending), self.repository.head
        entries = {
            path: self.repository.entry(head, path) for path, old in pending.items() if staged.get(path, old) == old
        }
        return {path: self._index_entry(path, entry, None) for path, entry in entries.items()}

    def discard_left_over(self, token: str, reference: str) -> list[str]:
        """Remove the repository's files of a killed transaction; one line for each removed lock."""
        gitdir, common = self.repository.gitdir, self.repository.common
        discard_unplaced(self.repository.objects, token)
        index = index_entries.temporary_name(token)
        gitdir_files.unlink(gitdir, f"{index}.lock")
        locks = [(gitdir, index, "index.lock")]
        if reference:
            locks.append((common, refs.temporary_name(token), f"{checked_ref(reference)}.lock"))
        return [f"removed a stale {lock}" for base, file, lock in locks if refs.discard_left_over(base, file, lock)]

    def is_current(self, reference: str) -> bool:
        """Whether the work tree is on this branch."""
        return self.repository.branch == reference

    def is_committed(self, reference: str, commit: str) -> bool:
        """Whether the branch contains the commit."""
        repository = self.repository
        return self.is_written(commit) and repository.holds(repository.tip(reference), commit)

    def is_written(self, commit: str) -> bool:
        """Whether the commit exists, on a branch or not."""
        return bool(commit) and self.repository.has_object(commit)

    def roll_back(self, intent: JournalIntent) -> bool:
        """Remove the transaction's commits from their branch. Returns true if the branch does not contain them now.

        Raises:
            OSError, KnowledgeError: this is not possible now.
        """
        if not intent.commit or not self.is_committed(intent.reference, intent.commit):
            return True
        advance = refs.RefUpdate(self.repository.common, intent.token, intent.reference)
        return advance.roll_back(self._base(intent), intent.commit, self.repository.tip)

    def commit_again(self, intent: JournalIntent) -> None:
        """Create commits on the branch for the changes of unpublished commits, with the same messages and people."""
        if not intent.commit:
            return
        repository, trees = self.repository, TreeDiff(self.repository)
        renewed = NewCommits(repository, self._trees, intent.token, intent.reference)
        for commit in reversed(self._chain(intent)):
            tree = repository.tree_of(commit)
            paths = map(os.fsdecode, trees.differing(repository.tree_of(self._parent(commit)), tree))
            changed = {path: repository.entry(commit, path) for path in paths}
            renewed.add(changed, message_of_commit(repository.commit(commit)))
        settle(renewed)
        sync_folders(renewed.publish())

    def outdated(self, intent: JournalIntent) -> dict[str, str]:
        """Blob of each path before a transaction, "" for none; the index has it unless another one was staged."""
        if not intent.commit:
            return {}
        before = self._base(intent)
        return {path: id_of(self.repository.entry(before, path)) for path in intent.paths}

    def _base(self, intent: JournalIntent) -> str:
        """The commit that the branch was at before a transaction; "" for none."""
        return self._parent(intent.commit) if intent.base is None else intent.base

    def _parent(self, commit: str) -> str:
        return next((str(parent) for parent in self.repository.commit(commit).parent_ids), "")

    def _chain(self, intent: JournalIntent) -> list[str]:
        """The commits of a transaction, the last one first."""
        commits, base = [intent.commit], self._base(intent)
        while (parent := self._parent(commits[-1])) not in {base, ""} and len(commits) < MAX_TOGETHER:
            commits.append(parent)
        return commits

    @staticmethod
    def _refuse_submodule(commits: NewCommits, path: str) -> None:
        """Reject a path in a submodule that was not initialised, which has no `.git` in the work tree."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            entry = entry_at(commits.trees, commits.tree, folder)
            if entry is None:
                return
            if entry.mode == MODE_GITLINK:
                raise _inner_repository(path, folder, is_submodule=True)

    def _mode(self, path: str, old: TreeEntry | None) -> int:
        """The old mode if the file is tracked; otherwise executable if the file is and `core.filemode` is set."""
        if old is not None and old.mode in {MODE_FILE, MODE_EXECUTABLE}:
            return old.mode
        executable = os.access(self.repository.root / path, os.X_OK)
        return MODE_EXECUTABLE if executable and self.repository.is_set("core.filemode", otherwise=True) else MODE_FILE

    def _index_entry(self, path: str, entry: TreeEntry | None, written: FileStat | None) -> IndexEntry | None:
        return entry and IndexEntry(entry.id, entry.mode, _status(self.repository.root / path, written))


def _unfinished(command: str) -> str:
    """The refusal while a command of Git waits to be finished."""
    ends = "git bisect reset" if command == "bisect" else f"git {command} --continue or git {command} --abort"
    name = "git am" if command == "am" else f"a {command}"
    return f"{name} is in progress in its repository; {ends} ends it"


def _kind_refusal(repository: GitRepository) -> str:
    if not repository.is_at_root:
        return "its repository's work tree is another folder; if that is wrong, run git config --unset core.worktree"
    if is_submodule(repository.gitdir):
        return "it is a submodule; serve its own clone"
    return ""


def _refuse_inner_repository(root: Path, path: str) -> None:
    parts = path.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        if os.path.lexists(root / folder / ".git"):
            raise _inner_repository(path, folder, is_submodule=os.path.isfile(root / folder / ".git"))


def _inner_repository(path: str, folder: str, *, is_submodule: bool) -> ReadOnlyError:
    what = "a submodule" if is_submodule else "a Git repository of its own"
    return ReadOnlyError(
        f"{path} cannot be written: {folder} is {what}.",
        kind="document",
        hint="Serve a clone of its own." if is_submodule else "Serve that folder by itself.",
        path=path,
    )


def _status(file: Path, written: FileStat | None) -> os.stat_result | None:
    """Metadata of the file if it is still the one that was written. `ctime` is ignored, because renaming changes it."""
    if written is None:
        return None
    try:
        status = file.lstat()
    except OSError:
        return None
    now = file_stat(status)
    same = (now.inode, now.size, now.mtime_ns) == (written.inode, written.size, written.mtime_ns)
    return status if same else None
