"""One repository as the rest of the store sees it: a thin, typed layer over pygit2.

Objects of libgit2 are not for several threads at once, so every thread has its own handle.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pygit2
from pygit2.enums import ConfigLevel, FileStatus, Option, RepositoryOpenFlag

from commonplace.domain.errors import GitError
from commonplace.store.git.layout.discovery import common_folder
from commonplace.store.git.layout.inspection import inspect_repository
from commonplace.store.git.layout.ownership import require_owned
from commonplace.store.git.objects import MODE_GITLINK, TreeEntry
from commonplace.store.git.staging.skip_worktree import skipped_paths
from commonplace.store.git_command import redacted
from commonplace.store.names import checked_ref, checked_tree_path, is_ref

# `layout.ownership` asks whose repository it is, by Git's rule.
pygit2.option(Option.SET_OWNER_VALIDATION, 0)

CACHED_BYTES = 1_000_000
"""Bytes of commits and trees that libgit2 keeps, over all handles; in memory they take two to three times as many.

By itself it keeps 256 MB: a server that makes commits then grows by 5 KB with each, for weeks.
"""
pygit2.option(Option.SET_CACHE_MAX_SIZE, CACHED_BYTES)

MAX_OBJECT_BYTES = 500_000_000
"""Bytes of an object that is read, by its own header and as it lies on the disk."""
MAX_SYMBOLIC = 6
"""Symbolic refs in a row that are followed: HEAD, and five more as Git does."""

_Value = TypeVar("_Value")


class GitRepository:
    """A repository with a work tree, or a bare one."""

    def __init__(self, gitdir: Path, work_tree: Path | None = None) -> None:
        """Open it.

        Args:
            gitdir: Where its own files are.
            work_tree: Where it was found; None for a bare one.

        Raises:
            UntrustedRepositoryError: it leads elsewhere, or belongs to another user.
            GitError: it is damaged or of a kind that libgit2 cannot read.
        """
        self.gitdir = gitdir
        """HEAD and the index are here; with a linked work tree, just those."""
        self.common = trusted_folder(gitdir, work_tree)
        """Branches and objects are here, for all work trees of the repository."""
        self.root = work_tree or gitdir
        """The work tree, or the repository itself when it is bare."""
        self.objects = self.common / "objects"
        self._local = threading.local()
        self._rules: pygit2.Repository | None = None
        self._rules_lock = threading.Lock()
        workdir = guarded(lambda: self.handle.workdir)
        self.is_at_root = bool(workdir) and Path(workdir or "").resolve() == self.root
        """Whether Git takes `root` for the work tree too."""

    @property
    def handle(self) -> pygit2.Repository:
        """This thread's handle."""
        handle: pygit2.Repository | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._local.handle = self._opened()
        return handle

    @contextmanager
    def rules(self) -> Generator[pygit2.Repository]:
        """The one handle for what needs the whole index in memory (attributes, filters, ignore rules), locked."""
        with self._rules_lock:
            if self._rules is None:
                self._rules = self._opened()
            yield self._rules

    def _opened(self) -> pygit2.Repository:
        """A handle on this very repository, wherever libgit2 might look for another one."""
        handle = guarded(lambda: pygit2.Repository(str(self.root), RepositoryOpenFlag.NO_SEARCH))
        if Path(handle.path).resolve() != self.gitdir:
            raise GitError(
                "The repository was replaced by another one.", kind="repository", hint="Start the server again."
            )
        return handle

    @property
    def branch(self) -> str:
        """The full name of the current branch (which may have no commit yet), "" for a detached HEAD."""
        return self._followed("HEAD")[0]

    @property
    def head(self) -> str:
        """Id of the current commit, "" before the first one."""
        return self._followed("HEAD")[1]

    def tip(self, reference: str) -> str:
        """Id of the commit that a branch is at, "" for none, also when no branch can be called so."""
        return self._followed(reference)[1] if is_ref(reference) else ""

    def _followed(self, reference: str) -> tuple[str, str]:
        """The last ref that a symbolic one leads to, "" for HEAD itself, and the id there, "" for no commit.

        Raises:
            GitError: one of them names no ref, or there are too many.
        """
        at = reference
        for _ in range(MAX_SYMBOLIC):
            target = guarded(lambda at=at: self._target(at))
            if target is None or isinstance(target, pygit2.Oid):
                return ("" if at == "HEAD" else at), str(target or "")
            at = checked_ref(target)
        raise GitError(
            f"The symbolic refs from {reference} on lead nowhere.",
            kind="repository",
            hint="git symbolic-ref HEAD refs/heads/main puts HEAD back on a branch.",
        )

    def _target(self, reference: str) -> pygit2.Oid | str | None:
        try:
            return self.handle.lookup_reference(_lasting(reference)).target
        except (KeyError, pygit2.InvalidSpecError):
            if reference == "HEAD":
                raise
            return None

    def has_object(self, identifier: str) -> bool:
        """Whether the object is there."""
        return guarded(lambda: identifier in self.handle.odb)

    def content(self, identifier: str) -> bytes:
        """The raw content of an object."""
        return guarded(lambda: self.handle.odb.read(self._sized(identifier))[1])

    def tree_of(self, commit: str) -> str:
        """The id of a commit's tree, "" for no commit."""
        return str(self.commit(commit).tree_id) if commit else ""

    def commit(self, identifier: str) -> pygit2.Commit:
        """A commit."""
        return guarded(lambda: self.handle[self._sized(identifier)].peel(pygit2.Commit))

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """What a commit's tree has at a path."""
        if not commit:
            return None
        try:
            found = self.commit(commit).tree[path]
        except KeyError:
            return None
        return TreeEntry(int(found.filemode), str(found.id))

    def entries(self, tree: str) -> list[tuple[str, TreeEntry]]:
        """What a tree holds, by name; nothing for ""."""
        found = guarded(lambda: self.handle[self._sized(tree)]) if tree else None
        if not isinstance(found, pygit2.Tree):
            return []
        return [(os.fsdecode(entry.raw_name or b""), TreeEntry(int(entry.filemode), str(entry.id))) for entry in found]

    def size(self, identifier: str) -> int:
        """Bytes of an object's content."""
        return guarded(lambda: self.handle.odb.read_header(identifier)[1])

    def child(self, tree: str, name: str) -> str:
        """The id of what a tree has by a name, "" for nothing, also when the "tree" is none.

        A submodule is nothing: its id is that of a commit in another repository.
        """
        found = guarded(lambda: self.handle[tree])
        try:
            entry = found[_lasting(name)] if isinstance(found, pygit2.Tree) else None
        except KeyError:
            return ""
        return str(entry.id) if entry and entry.filemode != MODE_GITLINK else ""

    def find(self, prefix: str) -> pygit2.Commit | pygit2.Blob | None:
        """The commit or blob whose id begins so, None for none.

        Raises:
            ValueError: several objects' ids begin so.
            GitError: the object is damaged or too large.
        """
        try:
            identifier = str(self.handle.expand_id(prefix))
        except KeyError:
            return None
        found = guarded(lambda: self.handle[self._sized(identifier)]) if self.has_object(identifier) else None
        return found if isinstance(found, pygit2.Commit | pygit2.Blob) else None

    def _sized(self, identifier: str) -> str:
        """The id itself, once the object is known to fit into memory.

        Raises:
            GitError: it is said to be, or its file is, larger than `MAX_OBJECT_BYTES`.
        """
        loose = self.objects / identifier[:2] / identifier[2:]
        with suppress(OSError):
            if loose.lstat().st_size > MAX_OBJECT_BYTES:
                raise _too_large(identifier)
        if self.handle.odb.read_header(identifier)[1] > MAX_OBJECT_BYTES:
            raise _too_large(identifier)
        return identifier

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one before it."""
        return tip == commit or (bool(tip) and guarded(lambda: self.handle.descendant_of(tip, commit)))

    def setting(self, name: str) -> str:
        """A value of Git's configuration as it is now, "" when it is not set."""
        config = self.handle.config
        try:
            return str(config[name]) if name in config else ""
        except (KeyError, ValueError, pygit2.GitError):  # a value of an odd type, or an unreadable file
            return ""

    def own_settings(self, name: str) -> list[str]:
        """All values of a setting in the user's own configuration, not the repository's."""
        levels = {ConfigLevel.GLOBAL, ConfigLevel.XDG}
        found = guarded(lambda: list(self.handle.config))
        return [entry.value or "" for entry in found if entry.name == name and entry.level in levels]

    def remotes(self) -> list[str]:
        """The names of the configured remotes."""
        return [str(name) for name in guarded(lambda: list(self.handle.remotes.names()))]

    def dirty(self) -> dict[str, int]:
        """Paths that differ between work tree, index and last commit, with Git's flags for how.

        Untracked ones too; ignored ones not, nor those that a sparse checkout leaves out (libgit2 has them deleted).
        """
        if not self.is_at_root:
            raise GitError(
                "Its work tree lies elsewhere.", kind="repository", hint="Run git config --unset core.worktree."
            )
        found = guarded(lambda: self.handle.status(untracked_files="all", ignored=False))
        for path in found:
            checked_tree_path(path.rstrip("/"))
        gone = FileStatus.WT_DELETED
        left_out = self.sparse_paths([path for path, flags in found.items() if flags & gone])
        return {path: flags & ~gone for path, flags in found.items() if flags & ~gone or path not in left_out}

    def sparse_paths(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths that are in the repository and not in the work tree, because the checkout is sparse."""
        asked = [path for path in paths if not os.path.lexists(self.root / path)]
        if not asked or not self.is_set("core.sparsecheckout", otherwise=False):
            return set()
        skipped = skipped_paths(self.gitdir / "index")
        return {path for path in asked if os.fsencode(path) in skipped}

    def changed_by(self, commit: str) -> list[str]:
        """Paths that a commit changed against its first parent."""
        found = self.commit(commit)
        before = next((self.commit(str(parent)).tree for parent in found.parent_ids), None)
        diff = guarded(lambda: before.diff_to_tree(found.tree) if before else found.tree.diff_to_tree(swap=True))
        return [delta.new_file.path or delta.old_file.path for delta in diff.deltas]

    def is_set(self, name: str, *, otherwise: bool) -> bool:
        """A yes-or-no value of Git's configuration."""
        text = self.setting(name).lower()
        return text in {"true", "yes", "on", "1"} if text else otherwise


def trusted_folder(gitdir: Path, work_tree: Path | None) -> Path:
    """Where a repository's branches and objects are, once all that leads there has been looked at.

    Args:
        gitdir: Real and absolute.
        work_tree: Where it was found; None for a bare one.

    Raises:
        UntrustedRepositoryError: it leads elsewhere, or belongs to another user.
        GitError: it cannot be looked at.
    """
    places = [gitdir] if work_tree is None else [work_tree, work_tree / ".git", gitdir]
    require_owned(work_tree or gitdir, places)
    common = common_folder(gitdir, work_tree)
    if common != gitdir:
        require_owned(work_tree or gitdir, [common])
    try:
        inspect_repository(gitdir, common)
    except OSError as error:
        raise GitError(
            f"The repository cannot be looked at: {error.strerror}.",
            kind="repository",
            hint="Let this user enter and read its .git folder.",
        ) from error
    return common


def _too_large(identifier: str) -> GitError:
    return GitError(
        f"The object {identifier[:10]} is larger than {MAX_OBJECT_BYTES:,} bytes.",
        kind="repository",
        hint="Run git fsck in the repository to see what is damaged.",
    )


def guarded(act: Callable[[], _Value]) -> _Value:
    """The value of a call into pygit2, with its failures told as the product's.

    Raises:
        GitError: libgit2 refused, or the repository lacks what it says it has.
    """
    try:
        return act()
    except (pygit2.GitError, KeyError, ValueError, OSError, MemoryError) as error:  # libgit2 is out of memory
        reason = redacted(str(error)) or type(error).__name__
        raise GitError(
            f"The repository cannot be read: {reason}.",
            kind="repository",
            hint="Run git fsck in it to see what is damaged.",
        ) from error


def _lasting(name: str) -> str:
    """The one text that stands for all that are equal to it.

    pygit2 1.21 never lets go of the name of a branch or of a tree's entry that it was asked for: of a server that asks
    for thousands of them with every commit, an hour made megabytes, in the middle of what comes and goes.
    """
    return sys.intern(name)
