"""Creates and opens the bare repository of a replica's clone."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.domain.errors import GitError, StorageError
from commonplace.store.git.refs import set_ref
from commonplace.store.git.repository import GitRepository, guarded

BRANCH = "refs/heads/replica"
"""The only branch of a clone."""
REMOTE = "origin"
_DISK_PROBLEMS = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS))
SHOWN_ID = 12
"""Characters of a commit's id in messages."""


def readable_repository(path: Path) -> GitRepository:
    """The repository at a path.

    Raises:
        GitError: the repository, its HEAD or the commit of its branch cannot be read.
    """
    repository = GitRepository(path)
    if not repository.setting(f"remote.{REMOTE}.url"):
        raise GitError("Its configuration names no remote.", kind="repository")
    _ = repository.head
    if tip := repository.tip(BRANCH):
        repository.content(repository.tree_of(tip))
    return repository


@contextmanager
def cache_errors(name: str) -> Generator[None]:
    """Convert an OSError of the block, in which nothing is changed, to the error of `cache_error`."""
    try:
        yield
    except OSError as error:
        raise cache_error(name, error.strerror or type(error).__name__) from error


def cache_error(name: str, reason: str) -> StorageError:
    """The error for callers if the clone of a remote cannot be written: not their call is wrong, but the cache.

    Args:
        name: Name of the remote.
        reason: What the system says.
    """
    return StorageError(
        f"This server's clone of {name} cannot be written: {reason}. Nothing was changed.",
        kind="collection",
        hint="Free space in the server's cache_dir, make it writable, or set another one. The call itself is valid.",
    )


def disk_problem(output: str) -> str:
    """The problem of this machine's disk in a program's output; "" if none. Lines from the remote are ignored."""
    own = [line for line in output.splitlines() if not line.startswith("remote:")]
    return next((problem for problem in _DISK_PROBLEMS if any(problem in line for line in own)), "")


def set_branch(repository: GitRepository, commit: str, name: str) -> None:
    """Move the clone's branch to a commit.

    Raises:
        StorageError: the clone cannot be written.
        UnavailableError: another program holds the branch's lock.
    """
    try:
        set_ref(repository.common, BRANCH, commit)
    except StorageError as error:
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else ""
        raise cache_error(name, reason or "the disk refused it") from error


def common_commit(repository: GitRepository, commit: str) -> str:
    """A commit while the branch has it, else the last one of its history that the branch has.

    Returns:
        "" if there is none, or a part of the history cannot be read.
    """
    tip = repository.tip(BRANCH)
    if not tip or tip == commit:
        return commit
    if not repository.has_object(commit) or not repository.has_object(tip):
        return ""
    with suppress(GitError):
        return str(guarded(lambda: repository.handle.merge_base(tip, commit)) or "")
    return ""


def make_repository(path: Path, url: str) -> None:
    """Create an empty bare repository in a folder, replacing the remains of another one.

    HEAD is written last: a repository without HEAD counts as missing, so a killed process leaves no partial one. `git
    init` is not used, because it copies templates, with hooks.
    """
    path.mkdir(parents=True, exist_ok=True)
    for name in ("objects", "refs"):
        shutil.rmtree(path / name, ignore_errors=True)
    for name in ("packed-refs", "shallow"):
        (path / name).unlink(missing_ok=True)
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (path / name).mkdir(parents=True)
    config = path / "config"
    config.unlink(missing_ok=True)
    config.touch(0o600)  # the URL may contain credentials
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    config.write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote "{REMOTE}"]\n\turl = "{quoted}"\n',
        encoding="utf-8",
        errors="surrogateescape",
    )
    made = path / f"HEAD.{secrets.token_hex(6)}"
    made.write_text(f"ref: {BRANCH}\n", encoding="utf-8")
    made.replace(path / "HEAD")
