"""Moving a branch from one commit to the next, only if it still is where the writer believes it to be.

The branch's lock is taken by Git's own rule (`<branch>.lock` must not exist), but as a second name of a finished file
that bears the transaction's token. A process that dies in between leaves a lock that is the same file as that one:
the next writer can tell it from the lock of a living Git command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.domain.errors import UnavailableError
from commonplace.store.disk.durable import Unsynced

WAIT_SECONDS = 2.0
"""How long another program's update of the same branch is waited for."""
_PAUSE = 0.005


class Advance:
    """One move of one branch: `write`, make durable, `perform`."""

    def __init__(self, common: Path, token: str, reference: str) -> None:
        self._reference = reference
        self._file = common / reference
        self._lock = common / f"{reference}.lock"
        self._beside = common / temporary_name(token)

    @property
    def folder(self) -> Path:
        """The folder in which names change."""
        return self._file.parent

    def write(self, target: str, unsynced: Unsynced) -> None:
        """Write what the branch shall say beside it."""
        self._beside.unlink(missing_ok=True)
        unsynced.create(self._beside, f"{target}\n".encode())

    def perform(self, expected: str, current: Callable[[str], str]) -> bool:
        """Move the branch if it is at `expected` ("" for a branch without a commit).

        Args:
            expected: Where it must be.
            current: Tells where a branch is, "" for nowhere.

        Returns:
            Whether it was there; if not, nothing was changed.

        Raises:
            UnavailableError: another program holds the branch's lock.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            there = current(self._reference) == expected
            if there:
                self._lock.rename(self._file)
            else:
                self._lock.unlink()
        except BaseException:
            self._lock.unlink(missing_ok=True)
            raise
        finally:
            self._beside.unlink(missing_ok=True)
        return there

    def retreat(self, target: str, expected: str, current: Callable[[str], str]) -> bool:
        """Move the branch back from `expected`, to no commit for ""; whether it was there.

        Raises:
            OSError, UnavailableError: it cannot be done now.
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
                self._file.unlink()
        finally:
            self._lock.unlink(missing_ok=True)
            self._beside.unlink(missing_ok=True)
        return there

    def discard(self) -> None:
        """Remove what `write` left when the branch is not to be moved."""
        self._beside.unlink(missing_ok=True)

    def _take_lock(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                link_or_copy(self._beside, self._lock)
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise _locked(self._reference) from None
                time.sleep(_PAUSE)
            else:
                return


def temporary_name(token: str) -> str:
    """The name of the file that becomes the branch."""
    return f"commonplace-{token}.ref"


def link_or_copy(beside: Path, lock: Path) -> None:
    """Take a lock by giving a finished file its name; without hard links, by a copy of it.

    Raises:
        FileExistsError: somebody has it.
    """
    try:
        os.link(beside, lock, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        with Unsynced() as unsynced:
            unsynced.create(lock, beside.read_bytes())


def discard_left_over(beside: Path, lock: Path) -> bool:
    """Remove a killed transaction's file, and the lock if it says the same; whether a lock was removed.

    What such a file says (a commit's id, an index with its checksum) nobody else would have written.
    """
    try:
        ours = lock.read_bytes() == beside.read_bytes()
    except FileNotFoundError:
        ours = False
    if ours:
        lock.unlink()
    beside.unlink(missing_ok=True)
    return ours


def _locked(reference: str) -> UnavailableError:
    return UnavailableError(
        f"Another Git program is updating {reference}, or was ended while it did.",
        kind="repository",
        hint=f"Try again; if no Git program is running, delete {reference}.lock in the repository's .git folder.",
    )


def append_to_log(log: Path, line: bytes, *, create: bool) -> None:
    """Add a line to a reflog; one that does not exist is made only if `create` says so.

    Raises:
        OSError: it cannot be written.
    """
    if create:
        log.parent.mkdir(parents=True, exist_ok=True)
    elif not log.exists():
        return
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        file.write(line)
