"""Checks of a folder's Git repository: problems that prevent serving or writing it."""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from commonplace.domain.diagnostics import Diagnostic
from commonplace.domain.documents import Severity
from commonplace.domain.errors import GitError
from commonplace.domain.words.amounts import amount
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.journal import Journal
from commonplace.store.folder.folder_store import key_of
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.identity import DEFAULT_AUTHOR, signature
from commonplace.store.git.layout import UntrustedRepositoryError
from commonplace.store.git.layout.discovery import DiscoveredRepository, find_repository
from commonplace.store.git.repository import GitRepository
from commonplace.store.git_command import try_git

STALE_SECONDS = 60.0
"""Age in seconds above which a Git lock is stale: no Git operation holds one that long."""
ASK_SECONDS = 10.0
"""Timeout in seconds for one git command."""

_FLUSHED = frozenset({"loose-object", "objects", "committed", "added", "all"})
"""Values of `core.fsync` with which Git flushes the objects of a commit."""
_LOCKED = ("index.lock", "HEAD.lock")
_SHARED = ("config.lock", "packed-refs.lock", "shallow.lock")


def git_command() -> Diagnostic:
    """Check the git command, which only remotes need."""
    try:
        outcome = try_git(Path.cwd(), ["--version"], timeout=ASK_SECONDS)
    except (GitError, OSError) as error:
        hint = "Install git: without it projects cannot be pulled or pushed, and a new repository cannot be made."
        return Diagnostic("git", Severity.WARNING, "git", str(error), hint)
    return Diagnostic("git", None, "git", outcome.output.strip() or outcome.reason)


def diagnose(folder: Path, state_dir: Path) -> Iterator[Diagnostic]:
    """Check one folder's repository, locks and interrupted writes.

    Args:
        folder: An existing folder.
        state_dir: Folder of the locks and journals of folders without Git.
    """
    real = folder.resolve()
    try:
        found = find_repository(real)
    except UntrustedRepositoryError as error:
        yield _untrusted(real.name, error)
        return
    if found is None:
        message = "It is not in a Git repository: writes are not committed, and there is no history."
        yield Diagnostic("git", None, real.name, message)
        yield from _own(real.name, state_dir / f"{key_of(Folder(real))}.lock")
        return
    try:
        repository = GitRepository(found.gitdir, found.work_tree)
        branch = repository.branch
    except UntrustedRepositoryError as error:
        yield _untrusted(real.name, error)
        return
    except GitError as error:
        command = _git(found, "fsck")
        yield Diagnostic(
            "git", Severity.ERROR, real.name, f"The repository cannot be opened: {error}", error.hint, command
        )
        return
    yield _state(real, repository, branch)
    yield from _settings(real.name, found, repository)
    yield from _stale(real, found.gitdir, repository.common)
    yield from _own(real.name, found.gitdir / "commonplace.lock")


def _untrusted(name: str, error: UntrustedRepositoryError) -> Diagnostic:
    return Diagnostic("git", Severity.ERROR, name, str(error), error.hint, error.command)


def _state(real: Path, repository: GitRepository, branch: str) -> Diagnostic:
    name = real.name
    if not branch:
        hint = "Check out a branch, or go on reading."
        return Diagnostic("git", Severity.INFO, name, "HEAD is detached, so nothing can be committed.", hint)
    reason = GitWriter(repository).refusal()
    if reason and os.access(real, os.W_OK | os.X_OK):  # a read-only folder is no defect; it is reported elsewhere
        return Diagnostic(
            "git", Severity.WARNING, name, f"Nothing can be written: {reason}.", "It can be read meanwhile."
        )
    commit = f"commit {repository.head[:10]}" if repository.head else "no commit yet"
    return Diagnostic("git", None, name, f"A Git repository on {branch.removeprefix('refs/heads/')}, {commit}.")


def _settings(name: str, found: DiscoveredRepository, repository: GitRepository) -> Iterator[Diagnostic]:
    words = {word.strip() for word in repository.setting("core.fsync").lower().split(",")}
    method = repository.setting("core.fsyncmethod").lower()
    if method == "writeout-only" or not (
        words & _FLUSHED or repository.is_set("core.fsyncobjectfiles", otherwise=False)
    ):
        message = (
            "Git does not wait for the disk when you commit yourself (core.fsync). Commits of commonplace are flushed"
            " regardless of this setting."
        )
        hint = "To make Git flush its commits too, at the cost of some milliseconds each:"
        yield Diagnostic("fsync", Severity.INFO, name, message, hint, _git(found, "config core.fsync committed"))
    else:
        yield Diagnostic("fsync", None, name, "Git flushes commits to the disk (core.fsync).")
    yield from _identity(name, repository)


def _identity(name: str, repository: GitRepository) -> Iterator[Diagnostic]:
    """Report the default name or address that commits will have if Git's configuration has none."""
    people = [signature(role, repository.setting).author for role in ("author", "committer")]
    unknown = [one for one in people if one.name == DEFAULT_AUTHOR.name or one.email == DEFAULT_AUTHOR.email]
    if unknown:
        shown = f"{unknown[0].name} <{unknown[0].email}>"
        message = f"Git does not know your name and address: commits are by {shown}."
        command = 'git config --global user.name "Your Name" && git config --global user.email you@example.org'
        yield Diagnostic("identity", Severity.INFO, name, message, "Tell Git who you are:", command)


def _stale(folder: Path, gitdir: Path, common: Path) -> Iterator[Diagnostic]:
    """Stale Git locks of a killed process. Git refuses to work while they exist.

    A linked work tree has its own index and HEAD; it shares branches and configuration with the main one. Commits of
    commonplace do not wait for `index.lock`. Once it is removed, the index must be updated before the user commits.
    """
    name = folder.name
    locks = {gitdir / lock for lock in _LOCKED} | {common / lock for lock in _SHARED}
    for place in (gitdir, common):
        locks.update((place / "refs").rglob("*.lock"))
    for lock in sorted(locks):
        try:
            age = time.time() - lock.stat().st_mtime
        except OSError:
            continue
        shown = lock.relative_to(gitdir if lock.is_relative_to(gitdir) else common).as_posix()
        if 0 <= age < STALE_SECONDS:
            message = f"Git is at work: {shown} is {age:.0f} seconds old."
            if waiting := _waiting(gitdir) if lock == gitdir / "index.lock" else "":
                hint = "When that git has ended, before you commit with git:"
                command = f"commonplace status -C {shlex.quote(str(folder))}"
                yield Diagnostic("lock", Severity.WARNING, name, message + waiting, hint, command)
            else:
                yield Diagnostic("lock", Severity.INFO, name, message)
        else:
            message = f"A killed git left {shown}, and Git refuses to work while it is there."
            hint, command = "If no git is running in this repository:", f"rm {shlex.quote(str(lock))}"
            if lock == gitdir / "index.lock":
                message += _waiting(gitdir)
                hint = "If no git is running in this repository, run both, before you commit with git:"
                command += f" && commonplace status -C {shlex.quote(str(folder))}"
            yield Diagnostic("lock", Severity.WARNING, name, message, hint, command)


def _waiting(gitdir: Path) -> str:
    """A sentence about the acknowledged writes that Git's index does not have yet; "" if there are none."""
    try:
        count = len(Journal(gitdir / "commonplace.journal").read().pending)
    except OSError:
        return ""
    if not count:
        return ""
    return f" Git's index lacks what commonplace has committed of {amount(count, 'file')}: git commit would revert it."


def _own(name: str, lock: Path) -> Iterator[Diagnostic]:
    """Check whether another process is writing. The kernel releases the lock of a dead process."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = "Another process of commonplace is writing here now."
        yield Diagnostic("lock", Severity.INFO, name, message, "If this persists, end the process that hangs.")
    else:
        yield Diagnostic("lock", None, name, "The writer lock is free.")
    finally:
        os.close(descriptor)


def _git(found: DiscoveredRepository, rest: str) -> str:
    return f"git -C {shlex.quote(str(found.work_tree or found.gitdir))} {rest}"
