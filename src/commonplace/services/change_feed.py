"""The change feed: notifies subscribers of changed documents, debounced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from commonplace.domain.addresses import Address

DEBOUNCE_SECONDS = 0.3
"""Debounce in seconds: a notice is sent after this time without a further change."""
MAX_DELAY_SECONDS = 2.0
"""Maximum delay in seconds of a notice while changes continue."""


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """Changes in a collection, by anybody."""

    collection: str
    addresses: frozenset[Address]
    """Written, changed and deleted documents."""
    listing: bool
    """Whether documents were added or removed."""


NoticeListener: TypeAlias = Callable[[ChangeNotice], None]
"""Called from a separate thread; must return at once and must not raise."""


@dataclass(slots=True)
class _PendingNotice:
    """Pending changes of one collection."""

    addresses: set[Address] = field(default_factory=set[Address])
    listing: bool = False


class ChangeFeed:
    """Collects changes and notifies subscribers.

    Args:
        quiet: Seconds without a further change after which a notice is sent.
        longest: Maximum delay of a notice in seconds.
    """

    def __init__(self, quiet: float = DEBOUNCE_SECONDS, longest: float = MAX_DELAY_SECONDS) -> None:
        self._quiet = quiet
        self._longest = longest
        self._lock = threading.Lock()
        self._listeners: dict[object, NoticeListener] = {}
        self._gathered: dict[str, _PendingNotice] = {}
        self._due = 0.0
        self._latest = 0.0
        self._notifying = False

    def subscribe(self, listener: NoticeListener) -> Callable[[], None]:
        """Notify a listener of every change from now on, until the returned function is called."""
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def stop() -> None:
            with self._lock:
                self._listeners.pop(token, None)

        return stop

    def publish(self, collection: str, addresses: Sequence[Address], listing: bool) -> None:
        """Report that documents of a collection changed. Returns at once.

        Args:
            collection: Name of the collection.
            addresses: The changed documents.
            listing: Whether documents were added or removed.
        """
        with self._lock:
            if not addresses or not self._listeners:
                return
            gathered = self._gathered.setdefault(collection, _PendingNotice())
            gathered.addresses.update(addresses)
            gathered.listing = gathered.listing or listing
            now = time.monotonic()
            self._due = now + self._quiet
            if not self._notifying:
                self._notifying = True
                self._latest = now + self._longest
                threading.Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                left = min(self._due, self._latest) - time.monotonic()
                if left <= 0:
                    self._notifying = False
                    notices = [
                        ChangeNotice(name, frozenset(notice.addresses), notice.listing)
                        for name, notice in self._taken()
                    ]
                    listeners = list(self._listeners.values())
                    break
            time.sleep(left)
        for listener in listeners:
            for notice in notices:
                listener(notice)

    def _taken(self) -> list[tuple[str, _PendingNotice]]:
        gathered, self._gathered = self._gathered, {}
        return list(gathered.items())
