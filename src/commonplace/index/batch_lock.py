"""The lock of one batch, across threads and processes. The kernel releases it when its holder exits."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.domain.errors import UnavailableError

LOCK_SECONDS = 60.0
"""Timeout in seconds for acquiring the lock."""
MAX_LOCK_PAUSE = 0.005
"""Maximum interval in seconds between two attempts."""


class BatchLock:
    """A lock file that one thread of one process holds for a batch.

    Args:
        path: The lock file; created if missing. Its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock for the duration of a `with` block.

        Raises:
            UnavailableError: acquiring the lock timed out after `LOCK_SECONDS`.
            OSError: the lock file cannot be created.
        """
        deadline = time.monotonic() + LOCK_SECONDS
        if not self._threads.acquire(timeout=LOCK_SECONDS):
            raise _busy()
        try:
            descriptor = _lock(self._path, deadline)
            try:
                yield
            finally:
                with suppress(OSError):  # the file has no content
                    os.close(descriptor)
        finally:
            self._threads.release()


def _lock(path: Path, deadline: float) -> int:
    """The lock file, open and locked. It may have been deleted and recreated while others held the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with ExitStack() as closing:
            closing.callback(os.close, descriptor)
            _wait(descriptor, deadline)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                closing.pop_all()
                return descriptor


def _wait(descriptor: int, deadline: float) -> None:
    pause = MAX_LOCK_PAUSE / 10
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _busy() from None
            time.sleep(pause)
            pause = min(2 * pause, MAX_LOCK_PAUSE)
        else:
            return


def _busy() -> UnavailableError:
    return UnavailableError(
        f"Another process has been indexing this collection for {LOCK_SECONDS:g} seconds.",
        kind="collection",
        hint="Try again; if it persists, find a commonplace process that hangs and end it.",
    )
