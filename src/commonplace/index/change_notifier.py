"""Notifies listeners of changes in an index: each change once, by whichever process it was made or indexed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError

MAX_KNOWN = 1000
"""Maximum number of documents whose last reported revision is stored."""

IndexListener = Callable[[Sequence[Address], bool], None]
"""Called with changed documents, and whether documents may have been added or removed."""


class ChangeNotifier:
    """The state of the notifications of one process.

    Processes that share an index all see a change, but only one of them indexes it. Therefore the notifications depend
    on the index's content, not on the process that changed it.

    Args:
        revision_at: Returns the revision of a document; "" if there is none.
        membership_version: Returns a number that changes whenever documents are added or removed.
    """

    def __init__(self, revision_at: Callable[[Address], str], membership_version: Callable[[], int]) -> None:
        self._revision_at = revision_at
        self._membership_version = membership_version
        self._lock = threading.RLock()
        self._known: dict[Address, str] = {}
        self._notified_version: int | None = 0
        self._listeners: list[IndexListener] = []

    def listen(self, listener: IndexListener) -> None:
        """Notify a listener of every change from now on."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Mark the current state as reported."""
        with self._lock:
            self._notified_version = self._current_version()

    @contextmanager
    def held(self) -> Generator[None]:
        """Prevent other threads from reporting changes for the duration of a `with` block."""
        with self._lock:
            yield

    def changed(self, addresses: Iterable[Address]) -> list[Address]:
        """Return the documents whose revision differs from the last report, and record the new revisions."""
        with self._lock:
            return [address for address in dict.fromkeys(addresses) if self._differs(address)]

    def notify(self, documents: Sequence[Address]) -> None:
        """Notify the listeners of changed documents."""
        if not documents or not self._listeners:
            return
        with self._lock:
            version = self._current_version()
            listing = version is None or version != self._notified_version
            self._notified_version = version
        for listener in self._listeners:
            listener(documents, listing)

    def _differs(self, address: Address) -> bool:
        try:
            revision = self._revision_at(address)
        except (StorageError, UnavailableError):
            self._known.pop(address, None)  # the revision may differ
            return True
        if self._known.get(address) == revision:
            return False
        self._known[address] = revision
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return True

    def _current_version(self) -> int | None:
        """The membership version; None if the index cannot be read, so that additions are assumed."""
        try:
            return self._membership_version()
        except (StorageError, UnavailableError):
            return None
