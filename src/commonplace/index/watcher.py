"""Detects outside changes (by an editor, a branch switch or another server), and notifies listeners of each change."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.domain.addresses import IGNORE_FILES, SKIPPED_FOLDERS, Address, parse_address
from commonplace.domain.errors import InvalidInputError, KnowledgeError, StorageError, UnavailableError

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify


# Detects outside changes: by an editor, a branch switch or another server.
#
# The file system's events only name the paths to check. Changes that events do not describe (a moved folder, very many
# events, a deleted and recreated folder) are found by a scan.


log = logging.getLogger(__name__)

DEBOUNCE_MS = 50
"""Maximum debounce of events in milliseconds."""
STEP_MS = 5
"""Polling interval of the event queue in milliseconds, up to `BUSY_POLLS` rounds after an event."""
IDLE_STEP_MS = 20
"""Polling interval in milliseconds later than `BUSY_POLLS` rounds after an event."""
BUSY_POLLS = 30
"""Number of rounds of `POLL_MS` without events before the polling interval becomes `IDLE_STEP_MS`."""
POLL_MS = 1000
"""Maximum duration of a round without events in milliseconds. After each round, a replaced folder is detected."""
RETRY_SECONDS = 2.0
"""Seconds between two attempts to watch, and between scans while watching is impossible."""
EVENT_THRESHOLD = 500
"""Number of events above which a scan is cheaper; it also finds changes that the system's queue may have dropped."""
DELETED = 3
"""The library's code for a deleted file or folder."""


@dataclass(slots=True)
class FileChanges:
    """The changes in one round of events."""

    documents: list[Address] = field(default_factory=list[Address])
    other_files: list[Address] = field(default_factory=list[Address])
    """Added or deleted files that are not documents, or deleted folders."""
    scan: bool = False
    """Whether a scan is needed to find the changes."""
    history: bool = False
    """Whether there may be a new commit or another branch, or the lock of Git's index was released."""


class Watcher:
    """A thread that reports changes in a folder.

    Args:
        root: The folder.
        report: Called by the thread after each round.
    """

    def __init__(self, root: Path, report: Callable[[FileChanges], None]) -> None:
        # Imported on demand: commands do not watch, and the import would take a tenth of their time.
        from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError  # noqa: PLC0415

        self._notify = RustNotify
        self._failures = (OSError, WatchfilesRustInternalError)
        self._root = root
        self._report = report
        self._stop = threading.Event()
        self._watching = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Start the thread. On return every later change is detected, unless watching is impossible for now."""
        self._thread.start()
        self._watching.wait(timeout=RETRY_SECONDS)

    def stop(self) -> None:
        """Stop after the current round."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        reported = ""
        while not self._stop.is_set():
            try:
                with (
                    _held(self._root) as identity,
                    self._notify([str(self._root)], False, False, 0, True, True) as notify,
                ):
                    if reported or self._watching.is_set():
                        log.info("%s: watching again", self._root.name)
                        self._handle(FileChanges(scan=True))
                    reported = ""
                    self._watching.set()
                    self._follow(notify, identity)
            except self._failures as error:
                reason = type(error).__name__
                if reported != reason:
                    log.warning(
                        "%s: cannot be watched now (%s); it is scanned periodically instead", self._root.name, reason
                    )
                reported = reason
                self._watching.set()
                if self._stop.wait(RETRY_SECONDS):
                    return
                self._handle(FileChanges(scan=True))

    def _follow(self, notify: RustNotify, identity: tuple[int, int]) -> None:
        """Report events until stopped, or until the folder was replaced."""
        quiet = BUSY_POLLS
        while True:
            watches = notify.watch(DEBOUNCE_MS, STEP_MS if quiet < BUSY_POLLS else IDLE_STEP_MS, POLL_MS, self._stop)
            if watches == "stop":
                return
            if isinstance(watches, str):
                quiet += 1
            else:
                quiet = 0
                self._handle(_changes(self._root, watches))
            if _identity(self._root.stat()) != identity:
                raise FileNotFoundError

    def _handle(self, changes: FileChanges) -> None:
        if changes == FileChanges():
            return
        try:
            self._report(changes)
        except KnowledgeError as error:
            log.warning(
                "%s: a change could not be indexed; the next scan retries: %s",
                self._root.name,
                error.advice,
                exc_info=log.isEnabledFor(logging.DEBUG),
            )


def _touches_history(git: str, events: set[tuple[int, str]]) -> bool:
    """Whether the history may have changed.

    A new commit or a switch of branches always changes the log of HEAD. When Git's index is unlocked, the store can
    update its pending entries, which it does when its history is queried.
    """
    return any(path == f"{git}logs/HEAD" or (kind, path) == (DELETED, f"{git}index.lock") for kind, path in events)


def _changes(root: Path, events: set[tuple[int, str]]) -> FileChanges:
    top = f"{root}/"
    git = f"{top}.git/"
    changes = FileChanges(scan=len(events) > EVENT_THRESHOLD, history=_touches_history(git, events))
    # During a commit, most events are in Git's own folder; they are skipped.
    for kind, path in sorted([event for event in events if not event[1].startswith(git)], key=itemgetter(1)):
        if path.endswith(IGNORE_FILES):
            changes.scan = True
        address = _address(path.removeprefix(top)) if path.startswith(top) else None
        if address is None:
            continue
        if address.is_document:
            changes.documents.append(address)
        elif kind != DELETED and os.path.isdir(path):
            changes.scan = True
        else:
            changes.other_files.append(address)
    return changes


def _address(path: str) -> Address | None:
    """The address of a path in the folder; None if it is never served."""
    if path.startswith(".") or "/." in path:  # hidden, such as the temporary files of writes
        return None
    try:
        address = parse_address(path)
    except InvalidInputError:
        return None
    return None if SKIPPED_FOLDERS.intersection(path.split("/")) else address


@contextmanager
def _held(folder: Path) -> Generator[tuple[int, int]]:
    """Identity of a folder. It is held open for the duration of a `with` block, so that its inode is not reused."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _identity(os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# Notifies listeners of each change in an index once, whichever process made or indexed it.


MAX_KNOWN = 1000
"""Maximum number of documents whose last reported revision is stored."""

IndexListener = Callable[[Sequence[Address], bool], None]
"""Called with changed documents, and whether documents may have been added or removed."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of some documents in the index, read in one transaction."""

    revisions: Mapping[Address, str]
    """Revisions by document; documents that the index does not contain are omitted."""
    membership: int
    """A number that changes whenever documents are added or removed."""


@dataclass(frozen=True, slots=True)
class News:
    """Changes that were not reported yet."""

    documents: Sequence[Address]
    membership: int | None
    """`IndexState.membership`; None if the index cannot be read, in which case additions are assumed."""


class ChangeNotifier:
    """The state of the notifications of one process.

    All processes that share an index see a change, but only one of them indexes it. Therefore notifications depend on
    the content of the index, not on the process that changed it.

    Args:
        state_of: Returns the index's state of these documents.
    """

    def __init__(self, state_of: Callable[[Sequence[Address]], IndexState]) -> None:
        self._state_of = state_of
        self._lock = threading.RLock()
        self._known: dict[Address, str] = {}
        self._notified: int | None = 0
        """`News.membership` of the last notification."""
        self._listeners: list[IndexListener] = []

    def listen(self, listener: IndexListener) -> None:
        """Notify a listener of every change from now on."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Mark the current state as reported."""
        with self._lock:
            self._notified = self._news([]).membership

    @contextmanager
    def held(self) -> Generator[None]:
        """Prevent other threads from reporting changes for the duration of a `with` block."""
        with self._lock:
            yield

    def changed(self, addresses: Iterable[Address]) -> News:
        """The documents whose revision differs from the last report; records the new revisions."""
        requested_addresses = list(dict.fromkeys(addresses))
        with self._lock:
            return self._news(requested_addresses) if requested_addresses else News((), None)

    def notify(self, news: News) -> None:
        """Notify the listeners of changed documents."""
        if not news.documents:
            return
        with self._lock:
            listing = news.membership is None or news.membership != self._notified
            self._notified = news.membership
        for listener in self._listeners:
            listener(news.documents, listing)

    def _news(self, addresses: Sequence[Address]) -> News:
        try:
            state = self._state_of(addresses)
        except (StorageError, UnavailableError):
            for address in addresses:
                self._known.pop(address, None)  # the revision may have changed
            return News(addresses, None)
        changed = [address for address in addresses if self._differs(address, state.revisions.get(address, ""))]
        return News(changed, state.membership)

    def _differs(self, address: Address, revision: str) -> bool:
        if self._known.get(address) == revision:
            return False
        self._known[address] = revision
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return True
