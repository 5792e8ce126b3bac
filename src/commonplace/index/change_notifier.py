"""Notifies listeners of each change in an index once, whichever process made or indexed it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError, UnavailableError

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
        asked = list(dict.fromkeys(addresses))
        with self._lock:
            return self._news(asked) if asked else News((), None)

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
