"""The writer lock of one folder, across threads and processes. The kernel releases it when its holder exits."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.domain.timings import timed
from commonplace.store.disk.durable import close_descriptor
from commonplace.store.disk.own_files import open_own, unshared
from commonplace.store.git.shared_modes import private_mode

WAIT_SECONDS = 30.0
"""Default timeout in seconds for acquiring the lock."""
MAX_HELD_SECONDS = 0.1
"""Seconds of uninterrupted use after which the threads of one process release the file to other processes briefly."""
_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.003
_LET_OTHERS = 0.004
"""Length in seconds of the pause for other processes; longer than the interval at which they try to lock."""


class WriterLock:
    """A lock file, and a lock for the threads of this process.

    The kernel releases the file lock when the process ends in any way. The file itself remains and has no meaning.
    """

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        """Create the lock.

        Args:
            path: The lock file.
            folder: A folder that is locked in addition, for writers with other lock files, such as those of another
                user; None if all writers have this one. Some network file systems lock no folder.
        """
        self._path = path
        self._folder = folder
        self._threads = _thread_lock(path)

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._threads.owner == threading.get_ident()

    @property
    def waiting(self) -> int:
        """Number of threads of this process that wait for the lock."""
        return self._threads.waiting

    @contextmanager
    def held(self, wait: float = WAIT_SECONDS) -> Generator[None]:
        """Hold the lock for the duration of a `with` block.

        Args:
            wait: Timeout in seconds; 0 tries once.

        Raises:
            UnavailableError: acquiring the lock timed out.
            RuntimeError: this thread holds the lock already; transactions do not nest.
            StorageError: the lock file cannot be created.
        """
        with self._turn(wait) as deadline:
            self._threads.finish()
            descriptors = self._locked(deadline, wait)
            try:
                yield
            finally:
                _close(descriptors)

    @contextmanager
    def joined(self, finish: Callable[[], None], wait: float = WAIT_SECONDS) -> Generator[None]:
        """Hold the lock for the duration of a `with` block; the last of the waiting threads calls `finish`.

        Args:
            finish: Completes the work of all threads that have held the lock since its last call. Called while the
                lock is held; must not raise.
            wait: Timeout in seconds, as for `held`.
        """
        threads = self._threads
        with self._turn(wait) as deadline:
            if threads.finishes != finish:
                threads.finish()
            if not threads.descriptors:
                threads.descriptors = self._locked(deadline, wait)
                threads.finishes = finish
            try:
                yield
            finally:
                if not threads.waiting or threads.is_overdue:
                    threads.finish()

    def finish_left(self) -> None:
        """Complete the work that `joined` left to another thread, unless a thread holds the lock now."""
        if self._threads.lock.acquire(blocking=False):
            try:
                self._threads.owner = threading.get_ident()
                self._threads.finish()
            finally:
                self._threads.owner = 0
                self._threads.lock.release()

    @contextmanager
    def _turn(self, wait: float) -> Generator[float]:
        """Hold the lock among the threads of this process; yields the time of `time.monotonic` at which `wait` ends."""
        deadline = time.monotonic() + wait
        if self.is_mine:
            raise RuntimeError("a transaction was begun inside another one of the same folder")
        threads = self._threads
        with threads.counting:
            threads.waiting += 1
        try:
            with timed("lock"):
                acquired = threads.lock.acquire(timeout=max(wait, 0.0))
        finally:
            with threads.counting:
                threads.waiting -= 1
        if not acquired:
            raise _busy(wait)
        try:
            threads.owner = threading.get_ident()
            yield deadline
        finally:
            threads.owner = 0
            threads.lock.release()

    def _locked(self, deadline: float, wait: float) -> tuple[int, ...]:
        """Locked descriptors of the file, and of the folder."""
        self._threads.let_others()
        descriptors = [_opened(self._path)]
        with ExitStack() as closing:
            closing.callback(_close, descriptors)
            lock_file(descriptors[0], deadline, wait)
            if self._folder is not None:
                with suppress(OSError):
                    descriptors.append(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                    lock_file(descriptors[1], deadline, wait)
            closing.pop_all()
        return tuple(descriptors)


class _ThreadLock:
    """The lock among the threads of this process, and the work that its holders left to the next one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner = 0
        self.counting = threading.Lock()
        self.waiting = 0
        """Number of threads that wait for `lock`."""
        self.descriptors: Sequence[int] = ()
        """Descriptors of what is locked and stays so from one thread to the next; empty if nothing is."""
        self.finishes: Callable[[], None] | None = None
        self._since = 0.0
        """Time of `time.monotonic` since which this process has used the file without a pause for other processes."""
        self._released = 0.0

    @property
    def is_overdue(self) -> bool:
        """Whether other processes have waited for `MAX_HELD_SECONDS`."""
        return time.monotonic() - self._since > MAX_HELD_SECONDS

    def finish(self) -> None:
        """Complete the work that was left, and unlock the file."""
        descriptors, finish = self.descriptors, self.finishes
        self.descriptors, self.finishes = (), None
        if descriptors:
            try:
                if finish:
                    finish()
            finally:
                _close(descriptors)
                self._released = time.monotonic()

    def let_others(self) -> None:
        """Pause for other processes if this process has used the file for too long without a pause."""
        now = time.monotonic()
        if now - self._released > _LONGEST_PAUSE:
            self._since = now
        elif self.is_overdue:
            time.sleep(_LET_OTHERS)
            self._since = time.monotonic()


_registry: dict[str, _ThreadLock] = {}
_registry_lock = threading.Lock()


def _thread_lock(path: Path) -> _ThreadLock:
    """One lock per lock file and process; stores opened twice on one folder share it."""
    with _registry_lock:
        return _registry.setdefault(str(path), _ThreadLock())


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in reversed(descriptors):
        close_descriptor(descriptor)


def _opened(path: Path) -> int:
    """Open the lock file, for writing if permitted: some network file systems only lock writable files."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open_own(path, os.O_RDWR | flags, private_mode(path.parent))
    except PermissionError:
        with suppress(OSError):
            return os.open(path, os.O_RDONLY | flags)
        if os.path.lexists(path):
            raise unshared(path) from None
        raise _unlockable("Permission denied") from None
    except OSError as error:
        raise _unlockable(error.strerror or type(error).__name__) from error


def lock_file(descriptor: int, deadline: float, wait: float) -> None:
    """Lock an open descriptor; closing it releases the lock.

    Args:
        descriptor: Descriptor of a file or folder.
        deadline: Time of `time.monotonic`.
        wait: The timeout in seconds, for the message.

    Raises:
        UnavailableError: acquiring the lock timed out.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _busy(wait) from None
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return


def _busy(wait: float) -> UnavailableError:
    return UnavailableError(
        f"Another process was writing to this collection for {wait:g} seconds.",
        kind="collection",
        hint="Try again; if it persists, find another commonplace process that hangs and end it.",
    )


def _unlockable(reason: str) -> StorageError:
    return StorageError(
        f"The writer lock cannot be created: {reason}. Nothing was changed.",
        kind="collection",
        hint="Check the permissions of the repository's .git folder, or without Git of the state folder (state_dir).",
    )
