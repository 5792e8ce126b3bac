"""A queue of index updates that one thread runs in order, while callers wait for a limited time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

log = logging.getLogger(__name__)


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
        future.add_done_callback(self._done)
        wait((future,), max(timeout, 0.0))

    def settled(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for every earlier update. Returns whether all are done.

        Returns true at once in the thread that runs updates.
        """
        if not self._pending or threading.get_ident() in self._threads:
            return True
        with self._lock:
            pending = tuple(self._pending)
        return not wait(pending, timeout).not_done

    def close(self) -> None:
        """Wait for the last update."""
        self._executor.shutdown()

    def _note_thread(self) -> None:
        self._threads.add(threading.get_ident())

    def _done(self, future: Future[None]) -> None:
        with self._lock:
            self._pending.discard(future)
        error = future.exception()
        if error:
            log.error("%s: the index could not take in a change; the next scan will", self._name, exc_info=error)
