"""The writer lock of one folder, across threads and processes. The kernel releases it when its holder exits."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.domain.errors import StorageError, UnavailableError

WAIT_SECONDS = 30.0
"""Default timeout in seconds for acquiring the lock."""
_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.003


class WriterLock:
    """A lock file, and a lock for the threads of this process.

    The kernel releases the file lock when the process ends in any way. The file itself remains and has no meaning.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = _thread_lock(path)

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._threads.owner == threading.get_ident()

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
        deadline = time.monotonic() + wait
        if self.is_mine:
            raise RuntimeError("a transaction was begun inside another one of the same folder")
        if not self._threads.lock.acquire(timeout=max(wait, 0.0)):
            raise _busy(wait)
        try:
            self._threads.owner = threading.get_ident()
            descriptor = _opened(self._path)
            try:
                lock_file(descriptor, deadline, wait)
                yield
            finally:
                with suppress(OSError):  # the file has no content
                    os.close(descriptor)
        finally:
            self._threads.owner = 0
            self._threads.lock.release()


class _ThreadLock:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner = 0


_registry: dict[str, _ThreadLock] = {}
_registry_lock = threading.Lock()


def _thread_lock(path: Path) -> _ThreadLock:
    """One lock per lock file and process; stores opened twice on one folder share it."""
    with _registry_lock:
        return _registry.setdefault(str(path), _ThreadLock())


def _opened(path: Path) -> int:
    """Open the lock file, for writing if permitted: some network file systems only lock writable files."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except PermissionError:
        with suppress(OSError):
            return os.open(path, os.O_RDONLY | flags)
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
