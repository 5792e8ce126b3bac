"""A queue of index updates that one thread runs in order, while callers wait for a limited time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

log = logging.getLogger(__name__)


class OtherProcesses(Protocol):
    """Processes that serve the same folders, and wait for each other's updates."""

    def begin(self) -> None:
        """Tell them that an update begins."""
        ...

    def end(self) -> None:
        """Tell them that an update has ended."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the updates that they have begun. Returns whether all ended."""
        ...


class _Sharing:
    others: OtherProcesses | None = None


def share_updates(others: OtherProcesses) -> None:
    """Tell other processes of this process's updates, and wait for theirs. Called before an index is opened."""
    _Sharing.others = others


class UpdateQueue:
    """Runs the updates of one index in order.

    Args:
        name: The index's name, for the log.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._pending: set[Future[None]] = set()
        self._threads: set[int] = set()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="update", initializer=self._note_thread)

    def run(self, update: Callable[[], None], timeout: float) -> None:
        """Run an update after all earlier ones.

        Args:
            update: The update; its exceptions are logged.
            timeout: Seconds to wait for the update, which continues in any case.

        Raises:
            RuntimeError: the queue is closed.
        """
        with self._lock:
            future = self._executor.submit(update)
            self._pending.add(future)
        if _Sharing.others:
            _Sharing.others.begin()
        future.add_done_callback(self._done)
        wait((future,), max(timeout, 0.0))

    def settled(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for every earlier update. Returns whether all are done.

        Returns true at once in the thread that runs updates.
        """
        if threading.get_ident() in self._threads:
            return True
        if self._pending:
            with self._lock:
                pending = tuple(self._pending)
            if wait(pending, timeout).not_done:
                return False
        return _Sharing.others is None or _Sharing.others.wait(timeout)

    def close(self) -> None:
        """Wait for the last update."""
        self._executor.shutdown()

    def _note_thread(self) -> None:
        self._threads.add(threading.get_ident())

    def _done(self, future: Future[None]) -> None:
        with self._lock:
            self._pending.discard(future)
        if _Sharing.others:
            _Sharing.others.end()
        error = future.exception()
        if error:
            log.error("%s: the index could not take in a change; the next scan will", self._name, exc_info=error)
