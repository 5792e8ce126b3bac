"""What a server does beside its first answers: it opens its folders, and keeps their indexes current until it ends.

What fails here is tried again: a folder, a disk or the files of this process may be there in a moment, and whoever
calls meanwhile would be told for ever that the index is being built.
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
"""Between two attempts; the last one for all that follow."""
SWEEP_SECONDS = 5
"""Between two looks through a folder whose file system does not tell of every change."""
SWEEP_SHARE = 0.1
"""Maximum fraction of time spent sweeping: a large folder is swept less often."""


def retry_until(work: Callable[[], None], ending: threading.Event, what: str) -> threading.Thread | None:
    """Do something; where it fails, again and again in a thread of its own, until it succeeds or the end has come.

    Each new reason why it failed is logged once. A mistake in the settings stays one, and is not tried again.

    Args:
        work: May raise `KnowledgeError` and `OSError`.
        ending: Set when nobody needs it any more.
        what: What has failed, for the log.

    Returns:
        The thread, None where nothing is left to try.
    """
    told = _attempted(work, what, "")
    if not told:
        return None
    thread = threading.Thread(target=_try_again, args=(work, ending, what, told), name="retry", daemon=True)
    thread.start()
    return thread


def _try_again(work: Callable[[], None], ending: threading.Event, what: str, told: str) -> None:
    for pause in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
        if ending.wait(pause):
            return
        told = _attempted(work, what, told)
        if not told:
            return


def _attempted(work: Callable[[], None], what: str, told: str) -> str:
    """Why an attempt failed that may be made again; "" for one after which there is nothing to try."""
    try:
        work()
    except (KnowledgeError, OSError) as error:
        reason = _reason(error)
        if reason != told:
            log.warning("%s: %s", what, reason, exc_info=log.isEnabledFor(logging.DEBUG))
        return "" if isinstance(error, ConfigError) else reason
    return ""


def watch_and_sync(collection: Collection, closing: ExitStack, folder: Path, seconds: int | None) -> None:
    """Watch a collection, and begin to take in what changed since it was last open; returns at once.

    Where the system does not tell of every change, its files are also looked through again and again.

    Args:
        collection: Which one.
        closing: Ends it.
        folder: Where its files are.
        seconds: Between two looks; 0 for never, None for as often as its file system needs it.
    """
    from commonplace.index.process.allocator import tune_allocator
    from commonplace.store.disk.mounts import reports_changes

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
    told = (report.added, report.updated, report.removed)
    level = logging.INFO if any(told) else logging.DEBUG
    log.log(level, "%s: %d added, %d updated, %d removed", collection.name, *told)


def _reason(error: KnowledgeError | OSError) -> str:
    """Why it failed, without a path of this machine."""
    return error.advice if isinstance(error, KnowledgeError) else error.strerror or type(error).__name__
