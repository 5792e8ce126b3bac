"""Finds the files that differ between work tree, index and last commit, like `git status`, but by own matching.

Every regular file of the index is compared by its metadata, and by its content only if the metadata differs.
Submodules, untracked links and other repositories inside the work tree are skipped.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import cast

import pygit2
from pygit2.enums import FileStatus

from commonplace.domain.errors import GitError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.git.layout import gitdir_files
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_GITLINK, MODE_LINK, TreeEntry
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.staging.index_file import (
    DamagedIndexError,
    StagedFile,
    UnsupportedIndexError,
    parse_index,
)
from commonplace.store.git.trees.tree_diff import TreeDiff
from commonplace.store.git.worktree.filters import stored_form
from commonplace.store.git.worktree.ignored import GitIgnoreRules
from commonplace.store.names import checked_tree_path

PathFilter = Callable[[str], bool]
_MASK = 0xFFFFFFFF
_NO_FACTS = (-1, -1, -1)
_OWN = ".git"


def changed_files(
    repository: GitRepository, prefix: str = "", wanted: PathFilter = lambda _: True
) -> dict[str, FileStatus]:
    """The status of the files that differ between work tree, index and last commit, by path.

    Includes untracked files unless they are ignored. Excludes files that a sparse checkout omits.

    Args:
        repository: A repository with a work tree.
        prefix: Prefix of the files' paths: "" or a folder with a trailing slash.
        wanted: Returns whether to include a file.

    Raises:
        GitError: the repository, its index or an ignore file cannot be read.
    """
    if not repository.is_at_root:
        raise GitError(
            "Its work tree is another folder (core.worktree).",
            kind="repository",
            hint="If that is wrong, run git config --unset core.worktree.",
        )
    staged: dict[str, StagedFile] = {}
    for path, entry in _staged(repository):
        if path.startswith(prefix) and wanted(path) and entry.mode != MODE_GITLINK:
            staged[checked_tree_path(path)] = entry
    found: dict[str, FileStatus] = {}
    for path, flags in (
        *_staged_changes(repository, staged, prefix, wanted),
        *_work_changes(repository, staged),
        *((path, FileStatus.WT_NEW) for path in _untracked(repository, staged.keys(), prefix, wanted)),
    ):
        found[path] = found.get(path, FileStatus.CURRENT) | flags
    return found


def _staged(repository: GitRepository) -> Iterator[tuple[str, StagedFile]]:
    """The entries of the index; without metadata if only libgit2 can read the index."""
    try:
        yield from parse_index(gitdir_files.read(repository.gitdir, "index")).entries()
    except FileNotFoundError:
        return
    except (UnsupportedIndexError, DamagedIndexError):
        yield from guarded(lambda: _read_by_libgit2(repository))
    except OSError as error:
        raise GitError(f"The repository's index cannot be read: {error.strerror}.", kind="repository") from error


def _read_by_libgit2(repository: GitRepository) -> list[tuple[str, StagedFile]]:
    index = repository.handle.index
    index.read(force=False)
    entries = [(entry, 0) for entry in cast("list[pygit2.IndexEntry]", list(index))]
    entries += [(side, 1) for sides in index.conflicts or () for side in sides if side is not None]
    return [(str(one.path), StagedFile(str(one.id), int(one.mode), stage, _NO_FACTS)) for one, stage in entries]


def _staged_changes(
    repository: GitRepository, staged: Mapping[str, StagedFile], prefix: str, wanted: PathFilter
) -> Iterator[tuple[str, FileStatus]]:
    """The differences between the index and the last commit."""
    committed = _committed(repository, prefix)
    for path, entry in staged.items():
        before = committed.pop(path, None)
        if entry.stage:
            yield path, FileStatus.CONFLICTED
        elif before is None:
            yield path, FileStatus.INDEX_NEW
        elif before != TreeEntry(entry.mode, entry.id):
            yield path, FileStatus.INDEX_MODIFIED
    yield from ((path, FileStatus.INDEX_DELETED) for path in committed if wanted(path))


def _committed(repository: GitRepository, prefix: str) -> dict[str, TreeEntry]:
    """The files of the last commit below a prefix."""
    trees = TreeDiff(repository)
    above = os.fsencode(prefix)
    tree = trees.at(repository.tree_of(repository.head), above.rstrip(b"/"))
    return {
        os.fsdecode(above + path): entry
        for path, entry in (trees.files(tree) if tree else ())
        if entry.mode != MODE_GITLINK
    }


def _work_changes(repository: GitRepository, staged: Mapping[str, StagedFile]) -> Iterator[tuple[str, FileStatus]]:
    """The differences of tracked files between the work tree and the index."""
    try:
        written = (repository.gitdir / "index").lstat().st_mtime_ns
    except OSError:
        written = 0
    gone: list[str] = []
    for path, entry in staged.items():
        try:
            status = (repository.root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            gone.append(path)
            continue
        except OSError as error:
            raise _unreadable(path, error) from error
        if _has_changed(repository, path, entry, status, written):
            yield path, FileStatus.WT_MODIFIED
    left_out = repository.sparse_paths(gone)
    yield from ((path, FileStatus.WT_DELETED) for path in gone if path not in left_out)


def _has_changed(repository: GitRepository, path: str, entry: StagedFile, status: os.stat_result, written: int) -> bool:
    mode = _mode_of(repository, status, entry.mode)
    if mode != entry.mode:
        return True
    facts = status.st_mtime_ns, status.st_size & _MASK, status.st_ino & _MASK
    # A file that is not older than the index may have changed after the index was written, so its content is compared.
    if facts == entry.facts and status.st_mtime_ns < written:
        return False
    file = repository.root / path
    try:
        if mode == MODE_LINK:
            return revision_of(os.fsencode(file.readlink())) != entry.id
        content = gitdir_files.read(repository.root, path)
    except OSError:
        return True
    try:
        return revision_of(stored_form(repository, path, content)) != entry.id
    except GitError:  # a filter or an encoding that is not applied here
        return revision_of(content) != entry.id


def _mode_of(repository: GitRepository, status: os.stat_result, staged: int) -> int:
    """The mode that Git records for a file; 0 for an entry that is neither a regular file nor a link."""
    if stat.S_ISLNK(status.st_mode):
        return MODE_LINK
    if not stat.S_ISREG(status.st_mode):
        return 0
    if not repository.is_set("core.filemode", otherwise=True) and staged in {MODE_FILE, MODE_EXECUTABLE}:
        return staged
    return MODE_EXECUTABLE if status.st_mode & stat.S_IXUSR else MODE_FILE


def _untracked(repository: GitRepository, tracked: AbstractSet[str], prefix: str, wanted: PathFilter) -> Iterator[str]:
    """Regular files that Git neither tracks nor ignores."""
    rules = GitIgnoreRules(repository)
    top = prefix.rstrip("/")
    waiting = [top] if not top or not rules.ignores(top, is_folder=True) else []
    while waiting:
        folder = waiting.pop()
        for name, is_folder in _entries(repository, folder):
            path = f"{folder}/{name}" if folder else name
            if path in tracked or rules.ignores_entry(path.split("/"), is_folder=is_folder):
                continue
            if is_folder:
                waiting.append(path)
            elif wanted(path):
                yield checked_tree_path(path)


def _entries(repository: GitRepository, folder: str) -> list[tuple[str, bool]]:
    """Names of the entries of a folder, each with whether it is a folder; empty for another repository."""
    try:
        with os.scandir(repository.root / folder) as entries:
            found = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False) or entry.name == _OWN
            ]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except OSError as error:
        raise _unreadable(folder or repository.root.name, error) from error
    if folder and any(name == _OWN for name, _ in found):
        return []
    return [(name, is_folder) for name, is_folder in found if name != _OWN]


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be read: {error.strerror}.",
        kind="document",
        hint="Check the folder's permissions and its disk.",
        errno=error.errno or 0,
    )
