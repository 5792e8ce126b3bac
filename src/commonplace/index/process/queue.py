"""A queue of index updates that one thread runs in order. Callers wait with a timeout."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)


Item = TypeVar("Item")
_Waiting = tuple[Sequence[Item], Future[None]]


class OtherProcesses(Protocol):
    """The other processes that serve the same folders. Each process waits for the updates of the others."""

    def begin(self) -> None:
        """Notify them that an update begins."""
        ...

    def end(self) -> None:
        """Notify them that an update has ended."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for the updates of the other processes. Returns whether all have ended."""
        ...


class _Sharing:
    others: OtherProcesses | None = None


def share_updates(others: OtherProcesses) -> None:
    """Notify other processes of this process's updates, and wait for theirs. Call it before an index is opened."""
    _Sharing.others = others


class UpdateQueue(Generic[Item]):
    """Runs the updates of one index in order. Updates that arrive while one is running are run together.

    Args:
        name: The index's name, for the log.
        update: Performs one or more updates, given all their items.
    """

    def __init__(self, name: str, update: Callable[[Sequence[Item]], None]) -> None:
        self._name = name
        self._update = update
        self._lock = threading.Lock()
        self._waiting: list[_Waiting[Item]] = []
        self._pending: set[Future[None]] = set()
        self._threads: set[int] = set()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="updates")
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="update", initializer=self._note_thread)

    def run(self, items: Sequence[Item], timeout: float) -> None:
        """Run an update after all earlier ones, or together with some of them.

        Args:
            items: The items to update. An exception of the update is logged.
            timeout: Timeout in seconds; the update continues afterwards.

        Raises:
            RuntimeError: the queue is closed.
        """
        future: Future[None] = Future()
        with self._lock:
            self._executor.submit(self._run_waiting)
            self._waiting.append((items, future))
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
        self._worker.shutdown()

    def _note_thread(self) -> None:
        self._threads.add(threading.get_ident())

    def _run_waiting(self) -> None:
        with self._lock:
            updates, self._waiting = self._waiting, []
        if updates and not self._run_together(updates):
            for one in updates:
                self._run_together([one])

    def _run_together(self, updates: Sequence[_Waiting[Item]]) -> bool:
        """Run several updates as one. Returns false if this failed, so that each must be run separately."""
        error = self._worker.submit(self._update, [item for items, _ in updates for item in items]).exception()
        if error is not None and len(updates) > 1:
            return False
        for _, future in updates:
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        return True

    def _done(self, future: Future[None]) -> None:
        with self._lock:
            self._pending.discard(future)
        if _Sharing.others:
            _Sharing.others.end()
        error = future.exception()
        if error:
            log.error("%s: the index could not take in a change; the next scan will", self._name, exc_info=error)
