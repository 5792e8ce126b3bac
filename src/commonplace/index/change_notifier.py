"""Telling listeners what changed in an index: each change once, whoever made it and whichever process took it in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError

MAX_KNOWN = 1000
"""Of how many documents it is remembered what was told last."""

IndexListener = Callable[[Sequence[Address], bool], None]
"""Takes documents that changed, and whether some may have come or gone."""


class ChangeNotifier:
    """What the listeners of one process were told.

    Processes that share an index see the same change, and only one of them takes it in. So what a change is worth
    telling is decided by what stands in the index, not by who put it there.

    Args:
        revision_at: The revision of a document, empty when there is none.
        membership_version: A number that is another one whenever documents have come or gone.
    """

    def __init__(self, revision_at: Callable[[Address], str], membership_version: Callable[[], int]) -> None:
        self._revision_at = revision_at
        self._membership_version = membership_version
        self._lock = threading.RLock()
        self._known: dict[Address, str] = {}
        self._notified_version: int | None = 0
        self._listeners: list[IndexListener] = []

    def listen(self, listener: IndexListener) -> None:
        """Tell a listener of every change from now on."""
        self._listeners.append(listener)

    def start(self) -> None:
        """All that came until now is no news."""
        with self._lock:
            self._notified_version = self._current_version()

    @contextmanager
    def held(self) -> Generator[None]:
        """For the length of a `with` block no other thread decides what is news."""
        with self._lock:
            yield

    def changed(self, addresses: Iterable[Address]) -> list[Address]:
        """Those of these documents that are other than was last said; from now on they are not."""
        with self._lock:
            return [address for address in dict.fromkeys(addresses) if self._differs(address)]

    def notify(self, documents: Sequence[Address]) -> None:
        """Tell the listeners of documents that are news."""
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
            self._known.pop(address, None)  # it may be other than was said
            return True
        if self._known.get(address) == revision:
            return False
        self._known[address] = revision
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return True

    def _current_version(self) -> int | None:
        """None where the index cannot say it now: what is news is told all the same, and that more may have come."""
        try:
            return self._membership_version()
        except (StorageError, UnavailableError):
            return None
