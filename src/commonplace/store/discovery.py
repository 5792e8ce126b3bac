"""Detects what a folder is, opens the store for it, and checks its Git repository.

A folder without Git has an empty history.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, CommitSpan, Revision
from commonplace.domain.documents import Severity
from commonplace.domain.errors import ConfigError, GitError, NotFoundError, StorageError
from commonplace.domain.findings import Diagnostic
from commonplace.domain.ports import Store
from commonplace.domain.words.amounts import amount
from commonplace.store.disk.folder import Folder, ServedFolder
from commonplace.store.disk.ignore_rules import IgnoreRules
from commonplace.store.disk.journal import Journal
from commonplace.store.folder.folder_store import FolderStore, WriteMode, key_of
from commonplace.store.folder.proposal_branches import PROPOSALS_LOCK
from commonplace.store.folder.retention import FolderTrash, Retention
from commonplace.store.folder.transaction_writer import TransactionWriter
from commonplace.store.folder.writer_lock import WriterLock
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import DEFAULT_AUTHOR, signature
from commonplace.store.git.layout import DiscoveredRepository, UntrustedRepositoryError, find_repository
from commonplace.store.git.past.history import GitHistory
from commonplace.store.git.past.past_commits import BareStore
from commonplace.store.git.past.revision_walk import RenameFinder
from commonplace.store.git.repository import GitRepository, TrackedFiles
from commonplace.store.git.shared_modes import private_mode, sharing_command, unwritable
from commonplace.store.git_command import try_git

_log = logging.getLogger(__name__)


class NoHistory:
    """`domain.ports.History` of a folder without Git, or with a repository that cannot be read: empty."""

    def __init__(self, absence: str = "it is not in a Git repository") -> None:
        """Create an empty history; the argument is the attribute of this name."""
        self.absence = absence
        """Why there are no commits, as a clause about the folder."""

    @property
    def available(self) -> bool:
        """Return false."""
        return False

    @property
    def is_shallow(self) -> bool:
        """Return false."""
        return False

    def log(
        self, address: Address | None, *, limit: int, offset: int = 0, after: str = "", below: str | None = None
    ) -> list[Commit]:
        """No commits."""
        del address, limit, offset, after, below
        return []

    def count(self) -> int:
        """0."""
        return 0

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """No commits."""
        del address
        return iter(())

    def read(self, address: Address, revision: str) -> bytes:
        """Raises NotFoundError: there are no versions."""
        del revision
        raise self._without_versions(address)

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Raises NotFoundError: there are no versions."""
        del old, new
        raise self._without_versions(address)

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """An empty dict."""
        del addresses
        return {}

    def named(self, name: str) -> Sequence[Address] | None:
        """An empty tuple."""
        del name
        return ()

    def latest(self, is_meant: Callable[[Address], bool], *, after: str = "") -> Iterator[tuple[Commit, bool]] | None:
        """No commits."""
        del is_meant, after
        return iter(())

    def last_touching(self, among: Collection[Address]) -> Sequence[tuple[Commit, bool]] | None:
        """An empty tuple."""
        del among
        return ()

    def touched_since(self, commit: str) -> set[Address] | None:
        """None: there are no commits."""
        del commit
        return None

    def differing(self, commit: str) -> set[Address]:
        """An empty set: there are no commits."""
        del commit
        return set()

    def address_at(self, address: Address, commit: str) -> Address | None:
        """None: there are no commits."""
        del address, commit

    def has(self, address: Address, commit: str) -> bool:
        """False: there are no commits."""
        del address, commit
        return False

    def renames(self, commit: str) -> Mapping[Address, Address]:
        """An empty dict."""
        del commit
        return {}

    def changed(self, commit: str, *, limit: int = 0) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
        """Raises NotFoundError: there are no commits."""
        del limit
        raise NotFoundError(f"There is no commit {commit[:64]!r} of the folder: {self.absence}.", kind="revision")

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """All documents, because there are no commits."""
        return set(revisions)

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        """No renames."""
        del addresses
        return {}

    def working_changes(self, revisions: Mapping[Address, Revision]) -> tuple[set[Address], set[Address]]:
        """All documents, and none that are gone, because there are no commits."""
        return set(revisions), set()

    def head(self) -> str:
        """An empty string: there is no commit."""
        return ""

    def _without_versions(self, address: Address) -> NotFoundError:
        return NotFoundError(
            f"{address} has no earlier versions in its folder: {self.absence}.",
            kind="revision",
            hint="Run git init in the folder to have a history; commonplace doctor says what a repository lacks.",
            path=address.path,
        )


# Detects what a folder is, and opens the store for it.


def open_store(
    path: Path, *, commit: Literal["auto", "manual"], state_dir: Path, cache_dir: Path | None = None
) -> Store:
    """Open the store of a folder.

    Args:
        path: The folder, which may be inside a Git repository or be a bare repository.
        commit: "auto" commits every write; "manual" leaves commits to the user.
        state_dir: Folder of the locks and journals of folders without Git; created by the first write.
        cache_dir: Folder of the indexes, in which commits that were read are stored; None to store none.

    Raises:
        ConfigError: no such folder, `auto` without Git, or the folder is inside a repository's own files.
        GitError: `auto`, and the repository cannot be read.
        StorageError: kind "folder": the folder may not be entered.
        UntrustedRepositoryError: its repository leads elsewhere, or belongs to another user.
    """
    if not os.path.isdir(path):
        raise ConfigError(f"There is no folder {path.name!r}.", hint="Give the path of a folder that exists.")
    folder = Folder(path.resolve())
    discovered_repository = find_repository(folder.path)
    if discovered_repository is None:
        if commit == "auto":
            raise ConfigError(
                f"{folder.path.name} is not in a Git repository, so writes cannot be committed.",
                hint="Run git init in it, or use --commit manual.",
            )
        return _plain(folder, state_dir, NoHistory())
    try:
        repository = GitRepository(discovered_repository.gitdir, discovered_repository.work_tree)
    except UntrustedRepositoryError:
        raise
    except GitError as error:
        if commit == "auto":
            raise GitError(f"{folder.path.name}: {error}", kind="repository", hint=error.hint) from error
        _log.warning("%s is served without its history: %s", folder.path.name, error)
        return _plain(folder, state_dir, NoHistory(f"its Git repository could not be read ({str(error).rstrip('.')})"))
    stored = cache_dir / key_of(folder) if cache_dir else None
    if discovered_repository.work_tree is None:
        return _bare(folder, repository, stored)
    return _in_repository(folder, repository, (state_dir, stored), commits=commit == "auto")


def _bare(folder: Folder, repository: GitRepository, cache_dir: Path | None) -> Store:
    if folder.path != repository.gitdir or not repository.handle.is_bare:
        raise ConfigError(
            f"{folder.path.name} lies inside a Git repository's own files.", hint="Give the folder of the documents."
        )
    return BareStore(repository, key_of(folder), cache_dir=cache_dir)


def _plain(folder: Folder, state_dir: Path, history: NoHistory) -> FolderStore:
    lock = WriterLock(state_dir / f"{key_of(folder)}.lock", folder.path)  # another user has another state folder
    journal = Journal(state_dir / f"{key_of(folder)}.journal")
    writer = TransactionWriter(folder.path, lock, journal, None)
    return FolderStore(folder, writer, history, WriteMode(retention_of(folder, None, state_dir)))


def _in_repository(
    folder: Folder, repository: GitRepository, folders: tuple[Path, Path | None], *, commits: bool
) -> FolderStore:
    state_dir, cache_dir = folders
    below = os.path.relpath(folder.path, repository.root)
    prefix = "" if below == "." else f"{below}/"
    gitdir = repository.gitdir
    git = GitWriter(repository)
    lock = WriterLock(gitdir / "commonplace.lock")
    journal = Journal(gitdir / "commonplace.journal", partial(private_mode, gitdir))
    writer = TransactionWriter(repository.root, lock, journal, git)
    terms = WriteMode(retention_of(Folder(repository.root), repository, state_dir), prefix, git, commits)
    rules = IgnoreRules(folder.path, TrackedFiles(repository, prefix))
    renames = RenameFinder(repository, prefix.rstrip("/"), rules.excludes)
    history = GitHistory(repository, prefix, ServedFolder(folder.path, rules.hides), renames, cache_dir)
    return FolderStore(folder, writer, history, terms)


def retention_of(root: Folder, repository: GitRepository | None, state_dir: Path) -> Retention:
    """The retention of the bytes that writes below a root delete or replace.

    Args:
        root: The work tree, or the folder without Git.
        repository: The repository of the work tree; None without Git.
        state_dir: As for `open_store`.
    """
    return Retention(root, repository, FolderTrash(state_dir / "trash", key_of(root)))


# Checks of a folder's Git repository: problems that prevent serving or writing it.


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
        discovered_repository = find_repository(real)
    except UntrustedRepositoryError as error:
        yield _untrusted(real.name, error)
        return
    if discovered_repository is None:
        message = "It is not in a Git repository: writes are not committed, and there is no history."
        yield Diagnostic("git", None, real.name, message)
        yield from _own(real.name, state_dir / f"{key_of(Folder(real))}.lock")
        return
    try:
        repository = GitRepository(discovered_repository.gitdir, discovered_repository.work_tree)
        branch = repository.branch
    except UntrustedRepositoryError as error:
        yield _untrusted(real.name, error)
        return
    except GitError as error:
        command = _git(discovered_repository, "fsck")
        yield Diagnostic(
            "git", Severity.ERROR, real.name, f"The repository cannot be opened: {error}", error.hint, command
        )
        return
    yield _state(real, repository, branch)
    yield _packs(real.name, repository.common, _git(discovered_repository, "gc"))
    yield from _settings(real.name, discovered_repository, repository)
    yield from _stale(real, discovered_repository.gitdir, repository.common)
    yield from _unwritable(real, repository, branch)
    yield from _own(real.name, discovered_repository.gitdir / "commonplace.lock")
    yield from _own(real.name, repository.common / PROPOSALS_LOCK, "lock of proposals")


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


def _unwritable(real: Path, repository: GitRepository, branch: str) -> Iterator[Diagnostic]:
    """Report the paths that this user may not write in a repository whose folders this user may write."""
    if not all(os.access(folder, os.W_OK | os.X_OK) for folder in (real, repository.gitdir, repository.common)):
        return  # it is read-only for this user, which is reported elsewhere
    denied = unwritable(repository.gitdir, repository.common, branch)
    if not denied:
        yield Diagnostic("permissions", None, real.name, "What a write changes in .git may be written by this user.")
        return
    shown = ", ".join(denied[:_SHOWN]) + (f" and {len(denied) - _SHOWN} more" if len(denied) > _SHOWN else "")
    message = f"This user may not write in .git: {shown}. Writes of commonplace and of Git fail there."
    hint = "The owner shares them, with a group that both are in (chgrp -R GROUP):"
    command = sharing_command(repository.root, repository.common)
    yield Diagnostic("permissions", Severity.WARNING, real.name, message, hint, command)


_SHOWN = 4
"""Number of paths that a message names."""
MAX_PACKS = 50
"""Number of packs above which Git itself gathers them (`gc.autoPackLimit`); each costs a reader a descriptor."""
MAX_LOOSE = 6_700
"""Number of loose objects above which Git itself packs them (`gc.auto`)."""


def diagnose_clones(folder: Path) -> Iterator[Diagnostic]:
    """The packs of the clones of remotes, which a server gathers in the background; `folder` is that of all clones."""
    for clone in sorted(folder.glob("*/*.git")):
        # Unlike `gc`, this drops no object, because readers of an older commit may still need it.
        command = f"git -C {shlex.quote(str(clone))} repack --geometric=2 -d"
        yield _packs(f"clone {clone.stem}", clone, command)


def _packs(name: str, gitdir: Path, command: str) -> Diagnostic:
    """The packs and loose objects of a repository, and the command that gathers them if there are many.

    Args:
        name: Name of the folder.
        gitdir: The folder with `objects`.
        command: The command.
    """
    counted = [_entries(gitdir / "objects" / folder) for folder in ("pack", "17")]
    count, loose = sum(element.endswith(".pack") for element in counted[0]), 256 * len(counted[1])
    report = f"{amount(count, 'pack')} and about {amount(loose, 'loose object')}"
    if count <= MAX_PACKS and loose <= MAX_LOOSE:
        return Diagnostic("packs", None, name, f"The repository has {report}.")
    message = f"The repository has {report}: old commits are read more slowly, and a pack costs each process a file."
    return Diagnostic("packs", Severity.INFO, name, message, "Gather them when nothing writes:", command)


def _entries(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _settings(
    name: str, discovered_repository: DiscoveredRepository, repository: GitRepository
) -> Iterator[Diagnostic]:
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
        yield Diagnostic(
            "fsync", Severity.INFO, name, message, hint, _git(discovered_repository, "config core.fsync committed")
        )
    else:
        yield Diagnostic("fsync", None, name, "Git flushes commits to the disk (core.fsync).")
    yield from _identity(name, repository)


def _identity(name: str, repository: GitRepository) -> Iterator[Diagnostic]:
    """Report the default name or address that commits will have if Git's configuration has none."""
    people = [signature(role, repository.setting).author for role in ("author", "committer")]
    unknown = [
        author for author in people if author.name == DEFAULT_AUTHOR.name or author.email == DEFAULT_AUTHOR.email
    ]
    if unknown:
        shown = f"{unknown[0].name} <{unknown[0].email}>"
        message = f"Git does not know your name and address: commits are by {shown}."
        command = 'git config --global user.name "Your Name" && git config --global user.email you@example.org'
        yield Diagnostic("identity", Severity.INFO, name, message, "Tell Git who you are:", command)


def _ages_of_locks(gitdir: Path, common: Path) -> Iterator[tuple[Path, float]]:
    """The lock files that Git may have left, and their ages in seconds."""
    locks = {gitdir / lock for lock in _LOCKED} | {common / lock for lock in _SHARED}
    for place in (gitdir, common):
        locks.update((place / "refs").rglob("*.lock"))
    for lock in sorted(locks):
        with suppress(OSError):
            yield lock, time.time() - lock.stat().st_mtime


def _stale(folder: Path, gitdir: Path, common: Path) -> Iterator[Diagnostic]:
    """Stale Git locks of a killed process. Git refuses to work while they exist.

    A linked work tree has its own index and HEAD; it shares branches and configuration with the main one. Commits of
    commonplace do not wait for `index.lock`. Once it is removed, the index must be updated before the user commits.
    """
    name = folder.name
    for lock, age in _ages_of_locks(gitdir, common):
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
    except (OSError, StorageError):
        return ""
    if not count:
        return ""
    return f" Git's index lacks what commonplace has committed of {amount(count, 'file')}: git commit would revert it."


def _own(name: str, lock: Path, what: str = "writer lock") -> Iterator[Diagnostic]:
    """Check whether another process holds a lock of this program. The kernel releases the lock of a dead process."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"{_holder(descriptor)} has the {what} now."
        yield Diagnostic("lock", Severity.INFO, name, message, "If this persists, end the process that hangs.")
    else:
        yield Diagnostic("lock", None, name, f"The {what} is free.")
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """The process that holds the lock of an open file, where the system tells, as the subject of a sentence."""
    with suppress(OSError, ValueError, IndexError):
        status = os.fstat(descriptor)
        place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == place and int(fields[4]) > 0:
                if int(fields[4]) == os.getpid():
                    return f"This process ({fields[4]})"
                program = Path(f"/proc/{fields[4]}/comm").read_text().strip()
                return f"Process {fields[4]} ({program})"
    return "Another process of commonplace"


def _git(repository: DiscoveredRepository, rest: str) -> str:
    return f"git -C {shlex.quote(str(repository.work_tree or repository.gitdir))} {rest}"
