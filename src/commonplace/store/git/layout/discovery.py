"""Finds the repository of a folder, and follows `.git` elsewhere only if the target names the folder in return.

Git has three kinds of work trees with a repository elsewhere: linked ones (`git worktree add`), submodules, and those
of `--separate-git-dir`. For the first, the repository names the work tree in `worktrees/NAME/gitdir`; for the others in
`core.worktree`, which the user sets for `--separate-git-dir`. A `.git` that leads to a repository which does not name
this folder could be an attack, and is rejected.
"""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.errors import StorageError
from commonplace.store.git.layout import UntrustedRepositoryError, untrusted
from commonplace.store.git.layout.configuration import named_path
from commonplace.store.git.layout.inspection import read_small, repository_settings

_PREFIX = "gitdir:"


@dataclass(frozen=True, slots=True)
class DiscoveredRepository:
    """The repository of a folder."""

    gitdir: Path
    work_tree: Path | None
    """None if the folder is the repository itself, or is inside it."""


def find_repository(folder: Path) -> DiscoveredRepository | None:
    """The repository of a folder, found as in Git: upwards, within one file system.

    `GIT_CEILING_DIRECTORIES` applies. libgit2's own search is not used: pygit2 1.21 has a reference counting bug if
    nothing is found, which eventually ends the process.

    Raises:
        StorageError: kind "folder": the folder may not be entered.
        UntrustedRepositoryError: `.git` is a link to something that is not a repository of this folder.
    """
    try:
        return _found_from(folder)
    except OSError as error:
        raise StorageError(
            f"The folder {folder.name!r} cannot be looked at: {error.strerror}.",
            kind="folder",
            hint="Let this user enter and read it, or name another folder.",
        ) from error


def common_folder(gitdir: Path, work_tree: Path | None) -> Path:
    """The folder of a repository's branches and objects: `gitdir` itself except for a linked work tree.

    Args:
        gitdir: Real and absolute.
        work_tree: The work tree; None for a bare repository.

    Raises:
        UntrustedRepositoryError: the repository does not name the work tree, or the other way round.
    """
    direct = work_tree is None or gitdir == work_tree / ".git"
    named = read_small(gitdir, "commondir")
    if named is None:
        if not direct and not _names_work_tree(gitdir, work_tree):
            raise _one_ended(work_tree)
        return gitdir
    common = Path(os.path.realpath(gitdir / _path(named)))
    linked = not direct and gitdir.parent == common / "worktrees" and _is_named_back(gitdir, work_tree)
    if not linked or not _is_gitdir(common):
        raise _one_ended(work_tree)
    return common


def is_submodule(gitdir: Path) -> bool:
    """Whether a repository is a submodule of another one."""
    return any(above.name == "modules" and _is_gitdir(above.parent) for above in gitdir.parents)


def _found_from(folder: Path) -> DiscoveredRepository | None:
    ceilings = {Path(text) for text in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if text}
    device = folder.stat().st_dev
    for place in (folder, *folder.parents):
        if place != folder and (place in ceilings or place.stat().st_dev != device):
            return None
        gitdir = _gitdir_of(place)
        if gitdir is not None:
            return DiscoveredRepository(gitdir, place)
        if _is_gitdir(place):
            return DiscoveredRepository(place, None)
    return None


def _gitdir_of(work_tree: Path) -> Path | None:
    """The repository at `.git` or at the target of `.git`; None if there is none."""
    dot_git = work_tree / ".git"
    try:
        mode = dot_git.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return dot_git if _is_gitdir(dot_git) else None
    if stat.S_ISLNK(mode):
        target = Path(os.path.realpath(dot_git))
        if target.is_dir():
            return target if _is_gitdir(target) else None
        if not target.exists():
            return None
        raise _one_ended(work_tree)
    if not stat.S_ISREG(mode):
        return None
    text = read_small(work_tree, ".git") or ""
    named = work_tree / _path(text.removeprefix(_PREFIX))
    return Path(os.path.realpath(named)) if text.startswith(_PREFIX) and named.is_dir() else None


def _is_gitdir(folder: Path) -> bool:
    return os.path.lexists(folder / "HEAD") and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _names_work_tree(gitdir: Path, work_tree: Path | None) -> bool:
    """Whether `core.worktree` of a repository is this folder."""
    values = [value for name, value in repository_settings(gitdir, gitdir) if name == "core.worktree"]
    if work_tree is None or not values:
        return False
    return Path(os.path.realpath(named_path(values[-1], gitdir))) == work_tree


def _is_named_back(gitdir: Path, work_tree: Path | None) -> bool:
    """Whether the entry of a linked work tree names the `.git` of this folder."""
    named = gitdir / _path(read_small(gitdir, "gitdir") or "")
    return work_tree is not None and named.name == ".git" and Path(os.path.realpath(named.parent)) == work_tree


def _path(text: str) -> str:
    """The path in a one-line file; "" if it contains a NUL byte."""
    return "" if "\0" in text else text.strip()


def _one_ended(work_tree: Path | None) -> UntrustedRepositoryError:
    if work_tree is None:
        return untrusted(
            "It has a commondir that leads to another repository.", "Give the folder of that repository itself."
        )
    place = shlex.quote(str(work_tree))
    return untrusted(
        f"The .git of {work_tree.name} leads to a repository that does not name this folder as its work tree.",
        "If you made it so, run in the folder: git config core.worktree PATH with its full path, for a separate git "
        "dir or a link; git worktree repair for a linked work tree that was moved.",
        f"git -C {place} config core.worktree {place}",
    )
