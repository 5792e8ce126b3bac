"""Settings of a process that serves indexes: allocator, garbage collector, open files, and the queue of updates."""

from __future__ import annotations

import errno
import gc
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from commonplace.domain.errors import UnavailableError

if TYPE_CHECKING:
    from ctypes import CDLL


# A queue of index updates that one thread runs in order. Callers wait with a timeout.


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
            for waiting in updates:
                self._run_together([waiting])

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


# Settings of the C library's allocator for long-running processes.
#
# By default every thread that allocates gets its own arena, up to eight per processor, and memory freed in one arena
# is not available to others. Large short-lived blocks, such as those of Tantivy's writers, cause fragmentation. After
# an hour of mixed load two servers used 328 and 323 MB by default, and 216 and 209 MB with these settings, at the same
# processor time (docs/reliability.md). With C libraries other than glibc, nothing is set.


# Option numbers of glibc's `mallopt`, from <malloc.h>.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8

ARENAS = 2
MMAP_THRESHOLD = 1 << 17
"""Minimum size in bytes of a block that is mapped separately, and unmapped when it is freed."""
TRIM_THRESHOLD = 16 * MMAP_THRESHOLD
"""Maximum number of free bytes at the end of the heap."""


@cache
def tune_allocator() -> None:
    """Set the allocator for the life of the process. Earlier allocations are not moved."""
    library = _library()
    if library is not None:
        for option, value in (
            (_ARENA_MAX, ARENAS),
            (_MMAP_THRESHOLD, MMAP_THRESHOLD),
            (_TRIM_THRESHOLD, TRIM_THRESHOLD),
        ):
            library.mallopt(option, value)


def trim_heap() -> None:
    """Return free pages of the heaps to the system (`malloc_trim`)."""
    trim = _trimming()
    if trim:
        trim(0)


@cache
def _trimming() -> Callable[[int], int] | None:
    library = _library()
    return None if library is None else library.malloc_trim


@cache
def _library() -> CDLL | None:
    """The C library if it is glibc, else None."""
    import ctypes  # noqa: PLC0415 - only writes and servers need it

    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None


# Excludes permanent objects from Python's garbage collector.


def freeze_objects() -> None:
    """Exclude all current objects from garbage collection (`gc.freeze`) for the life of the process.

    Modules, schemas and tables are never freed, and scanning them takes 50 ms or more during a call.
    """
    gc.freeze()


# Detects errors caused by the process's limit of open files, so that no index or file counts as damaged or missing.


MIN_FREE_FILES = 24
"""Number of files that must be available; opening and writing an index needs about this number at once."""
_ERRORS = {errno.EMFILE, errno.ENFILE}
_SAID = ("TooManyOpenFiles", "Too many open files")
"""Texts of this error in Tantivy's messages."""


def raise_if_file_limit(error: BaseException) -> None:
    """Raise the error of the limit if the limit is the cause of an error; otherwise return.

    Raises:
        UnavailableError: the limit is the cause.
    """
    if is_file_limit(error) or _are_few_left():
        raise file_limit_error() from error


def file_limit_error() -> UnavailableError:
    """The error for the limit."""
    return UnavailableError(
        "This process may open no more files now.",
        kind="index",
        hint="Try again when fewer connections are open; the limit is that of `ulimit -n`.",
    )


def is_file_limit(error: BaseException) -> bool:
    """Whether an error, or one of its causes, is that of the limit."""
    return any(_is_shortage(other_error) for other_error in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _ERRORS
    return any(said in str(error) for said in _SAID)


def _are_few_left() -> bool:
    """Whether fewer than `MIN_FREE_FILES` files can be opened now. SQLite does not say why it cannot open a file."""
    held: list[int] = []
    try:
        for _ in range(MIN_FREE_FILES):
            held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))  # noqa: PERF401 - `held` has all at an error
    except OSError as error:
        return error.errno in _ERRORS
    finally:
        for descriptor in held:
            with suppress(OSError):
                os.close(descriptor)
    return False
