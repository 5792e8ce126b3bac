"""Background work of a server: opening folders and keeping their indexes current.

Failures are retried, because a folder, a disk or file descriptors may become available later. Until then, callers get
an error that says that the index is being built.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.services.collections import Collection

log = logging.getLogger(__name__)

RETRY_SECONDS = (1, 2, 5, 10, 30)
"""Delays in seconds between attempts; the last one repeats."""
SWEEP_SECONDS = 5
"""Interval in seconds of the scans of a folder whose file system does not report every change."""
SWEEP_SHARE = 0.1
"""Maximum fraction of time spent sweeping: a large folder is swept less often."""


def retry_until(work: Callable[[], None], ending: threading.Event, what: str) -> threading.Thread | None:
    """Run `work`. If it fails, retry in a background thread until it succeeds or `ending` is set.

    Each new reason is logged once. An error in the settings is not retried.

    Args:
        work: May raise `KnowledgeError` and `OSError`.
        ending: Set when the work is no longer needed.
        what: Name of the failed work, for the log.

    Returns:
        The thread; None if there is nothing to retry.
    """
    last_reason = _attempted(work, what, "")
    if not last_reason:
        return None
    thread = threading.Thread(target=_try_again, args=(work, ending, what, last_reason), name="retry", daemon=True)
    thread.start()
    return thread


def _try_again(work: Callable[[], None], ending: threading.Event, what: str, last_reason: str) -> None:
    for pause in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
        if ending.wait(pause):
            return
        last_reason = _attempted(work, what, last_reason)
        if not last_reason:
            return


def _attempted(work: Callable[[], None], what: str, last_reason: str) -> str:
    """The reason of a failure that can be retried; "" otherwise."""
    try:
        work()
    except (KnowledgeError, OSError) as error:
        reason = _reason(error)
        if reason != last_reason:
            log.warning("%s: %s", what, reason, exc_info=log.isEnabledFor(logging.DEBUG))
        return "" if isinstance(error, ConfigError) else reason
    return ""


def watch_and_sync(collection: Collection, closing: ExitStack, folder: Path, seconds: int | None) -> None:
    """Watch a collection, and start to index the changes since it was last open. Returns at once.

    If the file system does not report every change, the folder is also scanned at intervals.

    Args:
        collection: The collection.
        closing: Stops the work when it is closed.
        folder: Folder of the collection's files.
        seconds: Interval of the scans; 0 for none, None to choose by file system.
    """
    from commonplace.index.process import tune_allocator
    from commonplace.store.disk.inotify import reports_changes

    tune_allocator()
    closing.enter_context(collection.index.watch())
    ending = threading.Event()
    failed = f"{collection.name}: indexing failed"
    first = threading.Thread(
        target=retry_until, args=(partial(_sync, collection), ending, failed), name="sync", daemon=True
    )
    first.start()
    if seconds is None:
        seconds = 0 if reports_changes(folder) else SWEEP_SECONDS
    if seconds:
        thread = threading.Thread(target=_sweep, args=(collection, seconds, ending), name="sweep", daemon=True)
        thread.start()
        closing.callback(thread.join)
    closing.callback(ending.set)


def _sweep(collection: Collection, seconds: float, ending: threading.Event) -> None:
    took = 0.0
    while not ending.wait(max(seconds, took / SWEEP_SHARE)):
        began = time.monotonic()
        try:
            _sync(collection)
        except (KnowledgeError, OSError) as error:
            shown = log.isEnabledFor(logging.DEBUG)
            log.warning("%s: indexing failed: %s", collection.name, _reason(error), exc_info=shown)
        took = time.monotonic() - began


def _sync(collection: Collection) -> None:
    report = collection.index.sync()
    row = (report.added, report.updated, report.removed)
    level = logging.INFO if any(row) else logging.DEBUG
    log.log(level, "%s: %d added, %d updated, %d removed", collection.name, *row)


def _reason(error: KnowledgeError | OSError) -> str:
    """The reason of a failure, without paths of this machine."""
    return error.advice if isinstance(error, KnowledgeError) else error.strerror or type(error).__name__
