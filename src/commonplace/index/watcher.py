"""Noticing changes that others make: an editor, a branch switch, another server.

The file system's events are only a hint of where to look. What cannot be told from them (a folder that was moved,
very many events, a folder that was deleted and made again) is found by a scan.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.addresses import IGNORE_FILES, SKIPPED_FOLDERS, Address, parse_address
from commonplace.domain.errors import InvalidInputError, KnowledgeError

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

log = logging.getLogger(__name__)

DEBOUNCE_MS = 50
"""How long events are gathered at the most."""
STEP_MS = 5
IDLE_STEP_MS = 20
"""Between two looks at the queue while something is going on, and else: each look costs a little."""
BUSY_POLLS = 30
"""After an event, so many quiet looks of `POLL_MS` pass before it counts as idle."""
POLL_MS = 1000
"""Between two looks at the folder itself: it may have been deleted and made again."""
RETRY_SECONDS = 2.0
"""Between two attempts to watch, and between scans while watching is impossible."""
EVENT_THRESHOLD = 500
"""From here on a scan costs less, and misses nothing that the system's queue may have dropped."""
DELETED = 3
"""The watcher's number for a file or folder that is gone."""


@dataclass(slots=True)
class FileChanges:
    """What one round of events says."""

    documents: list[Address] = field(default_factory=list[Address])
    other_files: list[Address] = field(default_factory=list[Address])
    """Files that are no documents, new or gone; or folders that are gone."""
    scan: bool = False
    """Whether only a scan can tell what changed."""
    history: bool = False
    """Whether there may be a new commit, or another branch, or Git's index is no longer locked."""


class Watcher:
    """A thread that reports what changes in a folder.

    Args:
        root: The folder.
        report: Called from that thread, one round at a time.
    """

    def __init__(self, root: Path, report: Callable[[FileChanges], None]) -> None:
        # Loaded here: a command that reads or writes watches nothing, and what it needs not is a tenth of its time.
        from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError  # noqa: PLC0415

        self._notify = RustNotify
        self._failures = (OSError, WatchfilesRustInternalError)
        self._root = root
        self._report = report
        self._stop = threading.Event()
        self._watching = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin; on return every later change is seen, unless watching is impossible for now."""
        self._thread.start()
        self._watching.wait(timeout=RETRY_SECONDS)

    def stop(self) -> None:
        """End, after the round that is being reported."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        told = ""
        while not self._stop.is_set():
            try:
                with (
                    _held(self._root) as identity,
                    self._notify([str(self._root)], False, False, 0, True, True) as notify,
                ):
                    if told or self._watching.is_set():
                        log.info("%s: watching again", self._root.name)
                        self._handle(FileChanges(scan=True))
                    told = ""
                    self._watching.set()
                    self._follow(notify, identity)
            except self._failures as error:
                reason = type(error).__name__
                if told != reason:
                    log.warning("%s: cannot be watched now (%s); it is looked through instead", self._root.name, reason)
                told = reason
                self._watching.set()
                if self._stop.wait(RETRY_SECONDS):
                    return
                self._handle(FileChanges(scan=True))

    def _follow(self, notify: RustNotify, identity: tuple[int, int]) -> None:
        """Report events until the end, or until the folder is another one."""
        quiet = BUSY_POLLS
        while True:
            found = notify.watch(DEBOUNCE_MS, STEP_MS if quiet < BUSY_POLLS else IDLE_STEP_MS, POLL_MS, self._stop)
            if found == "stop":
                return
            if isinstance(found, str):
                quiet += 1
            else:
                quiet = 0
                self._handle(_changes(self._root, found))
            if _identity(self._root.stat()) != identity:
                raise FileNotFoundError

    def _handle(self, changes: FileChanges) -> None:
        if changes == FileChanges():
            return
        try:
            self._report(changes)
        except KnowledgeError as error:
            log.warning(
                "%s: a change could not be taken in; the next scan tries again: %s",
                self._root.name,
                error.advice,
                exc_info=log.isEnabledFor(logging.DEBUG),
            )


def _changes(root: Path, events: set[tuple[int, str]]) -> FileChanges:
    # Git is busy in its own folder, and most events of a repository that is written to come from there.
    git = f"{root}/.git/"
    served = [event for event in events if not event[1].startswith(git)]
    # Whatever else it does, a new commit or a switch of branches changes the log of HEAD. When the lock of Git's index
    # goes, the store can bring entries up to date that waited for it: it does so when its history is asked.
    history = any(path == f"{git}logs/HEAD" or (kind, path) == (DELETED, f"{git}index.lock") for kind, path in events)
    changes = FileChanges(scan=len(events) > EVENT_THRESHOLD, history=history)
    for kind, path in sorted(served, key=lambda event: event[1]):
        if path.endswith(IGNORE_FILES):
            changes.scan = True
        address = _address(root, path)
        if address is None:
            continue
        if address.is_document:
            changes.documents.append(address)
        elif kind != DELETED and os.path.isdir(path):
            changes.scan = True
        else:
            changes.other_files.append(address)
    return changes


def _address(root: Path, path: str) -> Address | None:
    """The address of a path in the folder; None for what is never served."""
    try:
        address = parse_address(Path(path).relative_to(root).as_posix())
    except (InvalidInputError, ValueError):
        return None
    return None if SKIPPED_FOLDERS.intersection(address.path.split("/")) else address


@contextmanager
def _held(folder: Path) -> Generator[tuple[int, int]]:
    """What a folder is known by; open for the length of a `with` block, or a new folder could get the same number."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _identity(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
