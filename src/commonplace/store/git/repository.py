"""A Git repository: a thin, typed layer over pygit2.

libgit2 objects are not thread-safe, so every thread has its own handle.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import pygit2
from pygit2.enums import ConfigLevel, ObjectType, Option, RepositoryOpenFlag, SortMode
from pygit2.references import References
from pygit2.remotes import RemoteCollection

from commonplace.domain.errors import GitError
from commonplace.store.git import gitdir_files
from commonplace.store.git.index_entries import skipped_paths
from commonplace.store.git.layout import common_folder, inspect_repository, object_folders, require_owned
from commonplace.store.git.objects import MAX_MESSAGE_BYTES, MODE_GITLINK, TreeEntry, object_database
from commonplace.store.git_command import redacted
from commonplace.store.names import checked_ref, is_ref

# `layout.ownership` checks the owner by Git's rule.
pygit2.option(Option.SET_OWNER_VALIDATION, 0)

CACHED_BYTES = 1_000_000
"""Size in bytes of libgit2's cache of commits and trees for all handles; it uses two to three times as much memory.

With libgit2's default of 256 MB, a server that commits would grow by 5 KB per commit for weeks.
"""
pygit2.option(Option.SET_CACHE_MAX_SIZE, CACHED_BYTES)

MAX_OBJECT_BYTES = 500_000_000
"""Maximum size in bytes of an object: by its header, and of its file."""
MAX_SYMBOLIC = 6
"""Maximum number of chained symbolic refs: HEAD and five more, as in Git."""

REPLACED = "info/commonplace-replaced"
"""File below `objects` that names the packs whose objects `store.remotes` has gathered into another one."""

_WITH_MESSAGE = frozenset({ObjectType.COMMIT, ObjectType.TAG})
_Value = TypeVar("_Value")


class GitRepository:
    """A repository with a work tree, or a bare one."""

    def __init__(self, gitdir: Path, work_tree: Path | None = None) -> None:
        """Open a repository.

        Args:
            gitdir: Folder of the repository's own files.
            work_tree: The work tree; None for a bare repository.

        Raises:
            UntrustedRepositoryError: the repository leads elsewhere, or belongs to another user.
            GitError: the repository is damaged or of a kind that libgit2 cannot read.
        """
        self.gitdir = gitdir
        """Folder of HEAD and the index; each linked work tree has its own."""
        self.common = trusted_folder(gitdir, work_tree)
        """Folder of branches and objects, shared by all work trees."""
        self.root = work_tree or gitdir
        """The work tree, or the repository itself if it is bare."""
        self.objects = self.common / "objects"
        self._objects_path = os.fspath(self.objects)
        self._object_folders = tuple(map(os.fspath, object_folders(self.objects)))
        self._local = threading.local()
        self._rules: pygit2.Repository | None = None
        self._rules_lock = threading.Lock()
        self._gathered: int = self._last_gathering()
        workdir = guarded(lambda: self.handle.workdir)
        self.is_at_root = bool(workdir) and Path(workdir or "").resolve() == self.root
        """Whether `root` is also Git's work tree."""

    @property
    def handle(self) -> pygit2.Repository:
        """This thread's handle."""
        handle: pygit2.Repository | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._local.handle = self._opened()
        return handle

    @contextmanager
    def rules(self) -> Generator[pygit2.Repository]:
        """The shared handle for calls that load the whole index into memory (attributes, line ends), under a lock."""
        with self._rules_lock:
            if self._rules is None:
                self._rules = self._opened()
            yield self._rules

    def _last_gathering(self) -> int:
        """Time of the last gathering of packs in nanoseconds; 0 if there was none."""
        try:
            return os.stat(f"{self._objects_path}/{REPLACED}").st_mtime_ns  # noqa: PTH116 - a Path is slower
        except OSError:
            return 0

    def _renew(self) -> None:
        """Drop all handles after a gathering, because libgit2 never closes a replaced pack. Calls that run go on."""
        last = self._last_gathering()
        if last != self._gathered:
            self._gathered, self._local = last, threading.local()
            with self._rules_lock:
                self._rules = None

    def _opened(self) -> pygit2.Repository:
        """A handle of exactly this repository, without libgit2's search."""
        handle = guarded(lambda: pygit2.Repository(str(self.root), RepositoryOpenFlag.NO_SEARCH))
        if Path(handle.path).resolve() != self.gitdir:
            raise GitError(
                "The repository was replaced by another one.", kind="repository", hint="Start the server again."
            )
        self.attach_objects(handle)
        # pygit2's collections (branches, remotes, ...) refer back to the handle. Without them, its last user frees it,
        # and its descriptors, instead of the garbage collector.
        for name in ("branches", "references", "remotes", "submodules"):
            delattr(handle, name)
        return handle

    def attach_objects(self, handle: pygit2.Repository) -> None:
        """Make a handle read this repository's objects through `object_database`."""
        guarded(lambda: handle.set_odb(object_database(self._object_folders, MAX_OBJECT_BYTES)))

    @property
    def branch(self) -> str:
        """Full name of the current branch (which may have no commit yet); "" for a detached HEAD."""
        return self._followed("HEAD")[0]

    @property
    def head(self) -> str:
        """Id of the current commit; "" before the first one."""
        return self._followed("HEAD")[1]

    def tip(self, reference: str) -> str:
        """Id of the commit that a branch is at; "" if there is none or the name is invalid."""
        return self._followed(reference)[1] if is_ref(reference) else ""

    def _followed(self, reference: str) -> tuple[str, str]:
        """The last ref of a chain of symbolic ones ("" for HEAD itself), and its commit's id ("" for none).

        Raises:
            GitError: a name in the chain is invalid, or the chain is too long.
        """
        self._renew()
        at = reference
        for _ in range(MAX_SYMBOLIC):
            target = guarded(lambda at=at: self._target(at))
            if target is None or isinstance(target, pygit2.Oid):
                return ("" if at == "HEAD" else at), str(target or "")
            at = checked_ref(target)
        raise GitError(
            f"The chain of symbolic refs from {reference} has no end.",
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
        """Whether the object exists."""
        return guarded(lambda: identifier in self.handle.odb)

    def content(self, identifier: str) -> bytes:
        """The raw content of an object."""
        return guarded(lambda: self.handle.odb.read(self._sized(identifier))[1])

    def tree_of(self, commit: str) -> str:
        """Id of a commit's tree; "" for no commit."""
        return str(self.commit(commit).tree_id) if commit else ""

    def commit(self, identifier: str) -> pygit2.Commit:
        """A commit, or the one that a tag names."""
        commit = guarded(lambda: self.handle[self._sized(identifier)].peel(pygit2.Commit))
        return commit if str(commit.id) == identifier else self._sized_commit(commit)

    def walk(
        self, head: str, order: SortMode, *, hidden: Iterable[str] = (), first_parent: bool = False
    ) -> Iterator[pygit2.Commit]:
        """The commits reachable from `head`.

        Args:
            head: Id of a commit.
            order: Order of the commits.
            hidden: Ids of commits to exclude, with all commits reachable from them; "" is ignored.
            first_parent: Whether only the first parent of a merge is followed.

        Raises:
            GitError: `head` is not a commit, or a commit in the history is damaged; raised during iteration, too.
        """
        self.commit(head)  # checks the object's size, which libgit2 does not
        walker = guarded(lambda: self.handle.walk(head, order))
        for known_text in filter(None, hidden):
            guarded(partial(walker.hide, known_text))
        if first_parent:
            walker.simplify_first_parent()
        while commit := guarded(lambda: next(walker, None)):
            yield self._sized_commit(commit)

    def _sized_commit(self, commit: pygit2.Commit) -> pygit2.Commit:
        """A commit, after a check that it is not too large."""
        if self.size(str(commit.id)) > MAX_MESSAGE_BYTES:
            raise _too_large(str(commit.id), MAX_MESSAGE_BYTES)
        return commit

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """The entry of a commit's tree at a path; None if there is none."""
        if not commit:
            return None
        candidate = object_at(self.commit(commit), path)
        return None if candidate is None else guarded(lambda: TreeEntry(int(candidate.filemode), str(candidate.id)))

    def entries(self, tree: str) -> list[tuple[str, TreeEntry]]:
        """Entries of a tree by name; none for ""."""

        def tree_entries() -> list[tuple[str, TreeEntry]]:
            inner = self.handle[self._sized(tree)]
            entries = inner if isinstance(inner, pygit2.Tree) else ()
            return [
                (os.fsdecode(entry.raw_name or b""), TreeEntry(int(entry.filemode), str(entry.id))) for entry in entries
            ]

        return guarded(tree_entries) if tree else []

    def size(self, identifier: str) -> int:
        """Size of an object's content in bytes."""
        return guarded(lambda: self.handle.odb.read_header(identifier)[1])

    def child(self, tree: str, name: str) -> TreeEntry | None:
        """A tree's entry by name; None if there is none, or if `tree` is not a tree.

        The result for a submodule is None: its id is that of a commit in another repository.
        """

        def entry() -> TreeEntry | None:
            inner = self.handle[tree]
            try:
                entry = inner[_lasting(name)] if isinstance(inner, pygit2.Tree) else None
            except KeyError:
                return None
            if entry is None or entry.filemode == MODE_GITLINK:
                return None
            return TreeEntry(int(entry.filemode), str(entry.id))

        return guarded(entry)

    def find(self, prefix: str) -> pygit2.Commit | pygit2.Blob | None:
        """The commit or blob whose id begins with a prefix; None if there is none.

        Raises:
            ValueError: the prefix is ambiguous.
            GitError: the object is damaged or too large.
        """
        try:
            identifier = str(self.handle.expand_id(prefix))
        except KeyError:
            return None
        blob = guarded(lambda: self.handle[self._sized(identifier)]) if self.has_object(identifier) else None
        return blob if isinstance(blob, pygit2.Commit | pygit2.Blob) else None

    def _sized(self, identifier: str) -> str:
        """The id itself, after a check that the object fits into memory.

        Raises:
            GitError: the object's size or that of its file exceeds `MAX_OBJECT_BYTES`, or a commit or tag exceeds
                `MAX_MESSAGE_BYTES`.
        """
        loose = f"{self._objects_path}/{identifier[:2]}/{identifier[2:]}"
        with suppress(OSError):
            if os.lstat(loose).st_size > MAX_OBJECT_BYTES:  # called often, and a Path is slower
                raise _too_large(identifier, MAX_OBJECT_BYTES)
        kind, size = self.handle.odb.read_header(identifier)
        most = MAX_MESSAGE_BYTES if kind in _WITH_MESSAGE else MAX_OBJECT_BYTES
        if size > most:
            raise _too_large(identifier, most)
        return identifier

    def holds(self, tip: str, commit: str) -> bool:
        """Whether a commit is `tip` or one of its ancestors."""
        return tip == commit or (bool(tip) and guarded(lambda: self.handle.descendant_of(tip, commit)))

    def setting(self, name: str) -> str:
        """The current value of a setting in Git's configuration; "" if it is not set."""
        try:
            return str(self.handle.config[name])
        except (KeyError, ValueError, pygit2.GitError):  # not set, a value of an unexpected type, or an unreadable file
            return ""

    def own_settings(self, name: str) -> list[str]:
        """All values of a setting in the user's own configuration, without the repository's."""
        levels = {ConfigLevel.GLOBAL, ConfigLevel.XDG}
        entries = guarded(lambda: list(self.handle.config))
        return [entry.value or "" for entry in entries if entry.name == name and entry.level in levels]

    def remotes(self) -> list[str]:
        """Names of the configured remotes."""
        return [str(name) for name in guarded(lambda: list(RemoteCollection(self.handle).names()))]

    def references(self) -> list[str]:
        """Full names of all references."""
        return list(self.targets())

    def targets(self) -> dict[str, str]:
        """Id of the object that each reference names, by its full name; "" for a symbolic reference."""
        self._renew()

        def targets() -> dict[str, str]:
            references = ((reference.name, reference.target) for reference in References(self.handle).iterator())
            return {name: "" if isinstance(target, str) else str(target) for name, target in references}

        return guarded(targets)

    def remove_reference(self, name: str) -> None:
        """Remove a reference that exists, loose or packed."""
        with gitdir_files.written_by_libgit2(self.common, "packed-refs"):
            guarded(self.handle.lookup_reference(name).delete)

    def sparse_paths(self, paths: Iterable[str]) -> set[str]:
        """The paths that the index contains but a sparse checkout omits from the work tree."""
        requested_paths = [path for path in paths if not os.path.lexists(self.root / path)]
        if not requested_paths or not self.is_set("core.sparsecheckout", otherwise=False):
            return set()
        skipped = skipped_paths(self.gitdir / "index")
        return {path for path in requested_paths if os.fsencode(path) in skipped}

    def is_set(self, name: str, *, otherwise: bool) -> bool:
        """A boolean of Git's configuration."""
        text = self.setting(name).lower()
        return text in {"true", "yes", "on", "1"} if text else otherwise


def trusted_folder(gitdir: Path, work_tree: Path | None) -> Path:
    """The folder of a repository's branches and objects, after all checks of ownership and content.

    Args:
        gitdir: Real and absolute.
        work_tree: The work tree; None for a bare repository.

    Raises:
        UntrustedRepositoryError: the repository leads elsewhere, or belongs to another user.
        GitError: the repository cannot be read.
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
            f"The repository cannot be read: {error.strerror}.",
            kind="repository",
            hint="Give this user permission to read its .git folder.",
        ) from error
    return common


def _too_large(identifier: str, most: int) -> GitError:
    return GitError(
        f"The object {identifier[:10]} is larger than {most:,} bytes.",
        kind="repository",
        hint="Run git fsck in the repository to see what is damaged.",
    )


def object_at(commit: pygit2.Commit, path: str) -> pygit2.Object | None:
    """The object in a commit's tree at a path; None if there is none.

    Raises:
        GitError: a tree on the path is damaged.
    """

    def entry() -> pygit2.Object | None:
        try:
            return commit.tree[path]
        except KeyError:
            return None

    return guarded(entry)


def guarded(act: Callable[[], _Value]) -> _Value:
    """The result of a call into pygit2, with its errors converted.

    Raises:
        GitError: libgit2 failed, or the repository lacks an object.
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
    """The interned text.

    pygit2 1.21 leaks a reference to the name in each lookup of a branch or tree entry. If names are interned, equal
    names are leaked only once; otherwise a busy server leaks megabytes per hour.
    """
    return sys.intern(name)


# The documents that Git tracks; they are served even if Git's ignore files exclude them.


_Stamp = tuple[int, int, int]


class TrackedFiles:
    """The files of a folder that are in Git's index; reloaded when the index changes.

    Args:
        repository: The repository.
        prefix: Path from the work tree's top to the folder: "" or a path with a trailing slash.
    """

    def __init__(self, repository: GitRepository, prefix: str) -> None:
        self._repository = repository
        self._prefix = prefix
        self._known: tuple[_Stamp, frozenset[str] | None] | None = None

    def __call__(self) -> frozenset[str] | None:
        """Paths of the files and of the folders above them; None if the index cannot be read."""
        stamp = self._stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._read())
        return self._known[1]

    def _stamp(self) -> _Stamp:
        try:
            status = os.lstat(self._repository.gitdir / "index")
        except OSError:
            return (0, 0, 0)
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> frozenset[str] | None:
        try:
            index = self._repository.handle.index
            index.read(force=False)
            paths = [str(getattr(entry, "path")) for entry in cast("Iterable[object]", index)]  # noqa: B009 - untyped
        except (pygit2.GitError, OSError, GitError):
            return None
        belows: set[str] = set()
        for path in paths:
            if not path.startswith(self._prefix):
                continue
            below = path[len(self._prefix) :]
            while below and below not in belows:
                belows.add(below)
                below = below.rpartition("/")[0]
        return frozenset(belows)
