"""Moves a branch from one commit to another, if it has not moved meanwhile.

The branch is locked by Git's own rule (`<branch>.lock` must not exist), but the lock is a hard link to a complete file
with the transaction's token in its name. If the process is killed, the next writer finds that both files have the same
content, and thus that the lock is not that of a running Git command.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from commonplace.domain.errors import UnavailableError
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.git import gitdir_files
from commonplace.store.git.shared_modes import share
from commonplace.store.names import checked_ref

WAIT_SECONDS = 2.0
"""Timeout in seconds for another program's update of the same branch."""
_PAUSE = 0.005

_log = logging.getLogger(__name__)


class RefUpdate:
    """One move of one branch: `write`, sync, `perform`."""

    def __init__(self, common: Path, token: str, reference: str) -> None:
        """Prepare the move.

        Args:
            common: Folder of the repository's branches.
            token: Token of the transaction.
            reference: The branch's full name.

        Raises:
            GitError: the name is not a valid ref.
        """
        self._common = common
        self._reference = checked_ref(reference)
        self._lock = f"{reference}.lock"
        self._beside = temporary_name(token)

    @property
    def folder(self) -> Path:
        """The folder in which names change."""
        return (self._common / self._reference).parent

    def write(self, target: str, unsynced: Unsynced) -> None:
        """Write the branch's new value under a temporary name."""
        gitdir_files.unlink(self._common, self._beside)
        with gitdir_files.opened_parent(self._common, self._beside) as (folder, name):
            descriptor = unsynced.create(name, f"{target}\n".encode(), dir_fd=folder, of_git=True)
            share(self._common, descriptor)

    def perform(self, expected: str, current: Callable[[str], str]) -> bool:
        """Move the branch if it is at `expected` ("" for a branch without a commit).

        Args:
            expected: The commit that the branch must be at.
            current: Returns the commit that a branch is at; "" for none.

        Returns:
            Whether the branch was at `expected`; if not, nothing was changed.

        Raises:
            UnavailableError: another program holds the branch's lock.
        """
        self._take_lock()
        with ExitStack() as closing:
            closing.callback(self.discard)
            unlock = closing.enter_context(ExitStack())
            unlock.callback(gitdir_files.unlink, self._common, self._lock)
            there = current(self._reference) == expected
            if there:
                gitdir_files.rename(self._common, self._lock, self._reference)
                unlock.pop_all()
        return there

    def roll_back(self, target: str, expected: str, current: Callable[[str], str]) -> bool:
        """Move the branch back from `expected`; with target "", delete it. Returns whether it was at `expected`.

        Raises:
            OSError, UnavailableError: this is not possible now.
        """
        with Unsynced() as unsynced:
            self.write(target or expected, unsynced)
            unsynced.sync()
        if target:
            return self.perform(expected, current)
        self._take_lock()
        try:
            there = current(self._reference) == expected
            if there:
                gitdir_files.unlink(self._common, self._reference)
        finally:
            gitdir_files.unlink(self._common, self._lock)
            self.discard()
        return there

    def discard(self) -> None:
        """Remove the temporary file if the branch is not to be moved."""
        gitdir_files.unlink(self._common, self._beside)

    def _take_lock(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                gitdir_files.link_or_copy(self._common, self._beside, self._lock)
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise _locked(self._reference) from None
                time.sleep(_PAUSE)
            else:
                return


def set_ref(common: Path, reference: str, target: str) -> None:
    """Write a ref that no other program moves, regardless of its old value and without a reflog entry.

    libgit2 is not used, because it would follow a link in the place of the ref.

    Args:
        common: Folder of the repository's branches.
        reference: Full name of the ref.
        target: A commit.

    Raises:
        GitError: the name is not a valid ref.
        UnavailableError: another program holds the ref's lock.
        StorageError: the ref cannot be written.
    """
    move = RefUpdate(common, secrets.token_hex(6), reference)
    with storage_errors(f"to write {reference}"):
        with Unsynced() as unsynced:
            move.write(target, unsynced)
            unsynced.sync()
        move.perform("", lambda _: "")


def remove_ref(common: Path, reference: str) -> None:
    """Remove a ref that was written by `set_ref`.

    Raises:
        GitError: the name is not a valid ref.
        StorageError: the ref cannot be removed.
    """
    with storage_errors(f"to remove {reference}"):
        gitdir_files.unlink(common, checked_ref(reference))


def temporary_name(token: str) -> str:
    """Name of the temporary file that becomes the branch."""
    return f"commonplace-{token}.ref"


def discard_left_over(base: Path, beside: str, lock: str) -> bool:
    """Remove a killed transaction's file, and the lock if it has the same content; returns whether it had.

    No other program would have written the same content (a commit's id, an index with its checksum).

    Args:
        base: The repository's folder that contains both files.
        beside: Name of the transaction's file.
        lock: Name of the lock file.

    Raises:
        OSError: the files cannot be read or removed.
    """
    try:
        ours = gitdir_files.read(base, lock) == gitdir_files.read(base, beside)
    except (FileNotFoundError, NotADirectoryError):
        ours = False
    if ours:
        gitdir_files.unlink(base, lock)
    gitdir_files.unlink(base, beside)
    return ours


def _locked(reference: str) -> UnavailableError:
    return UnavailableError(
        f"Another Git program is updating {reference}, or was ended while it did.",
        kind="repository",
        hint=f"Try again; if no Git program is running, delete {reference}.lock in the repository's .git folder.",
    )


def append_to_logs(gitdir: Path, common: Path, reference: str, line: bytes, *, create: bool) -> None:
    """Append a line to the reflogs of a branch and of HEAD. Errors are only logged: a commit is valid without reflogs.

    Args:
        gitdir: Folder of HEAD.
        common: Folder of the branches.
        reference: The branch's full name.
        line: The line, with its line end.
        create: Whether to create missing logs.
    """
    for place, name in ((common, checked_ref(reference)), (gitdir, "HEAD")):
        try:
            gitdir_files.append(place, f"logs/{name}", line, create=create)
        except OSError as error:
            _log.warning("the reflog of %s could not be written: %s", name, error.strerror)
