"""Telling who wants to know that documents have changed: what changes together is told once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from commonplace.domain.addresses import Address

DEBOUNCE_SECONDS = 0.3
"""Seconds without a further change after which what was gathered is told."""
MAX_DELAY_SECONDS = 2.0
"""Seconds after which it is told though changes go on."""


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """What changed in a collection, whoever changed it."""

    collection: str
    addresses: frozenset[Address]
    """Documents that were written, changed, or are gone."""
    listing: bool
    """Whether some have come or gone."""


NoticeListener: TypeAlias = Callable[[ChangeNotice], None]
"""Called from a thread of its own; must return at once and must not raise."""


@dataclass(slots=True)
class _PendingNotice:
    """What is to be told of one collection."""

    addresses: set[Address] = field(default_factory=set[Address])
    listing: bool = False


class ChangeFeed:
    """Gathers changes and tells them.

    Args:
        quiet: Seconds without a further change after which they are told.
        longest: Seconds after which they are told at the latest.
    """

    def __init__(self, quiet: float = DEBOUNCE_SECONDS, longest: float = MAX_DELAY_SECONDS) -> None:
        self._quiet = quiet
        self._longest = longest
        self._lock = threading.Lock()
        self._listeners: dict[object, NoticeListener] = {}
        self._gathered: dict[str, _PendingNotice] = {}
        self._due = 0.0
        self._latest = 0.0
        self._telling = False

    def subscribe(self, listener: NoticeListener) -> Callable[[], None]:
        """Tell a listener of every change from now on, until what is returned is called."""
        token = object()
        with self._lock:
            self._listeners[token] = listener

        def stop() -> None:
            with self._lock:
                self._listeners.pop(token, None)

        return stop

    def publish(self, collection: str, addresses: Sequence[Address], listing: bool) -> None:
        """Say that documents of a collection changed; returns at once.

        Args:
            collection: Its name.
            addresses: Which documents.
            listing: Whether some have come or gone.
        """
        with self._lock:
            if not addresses or not self._listeners:
                return
            gathered = self._gathered.setdefault(collection, _PendingNotice())
            gathered.addresses.update(addresses)
            gathered.listing = gathered.listing or listing
            now = time.monotonic()
            self._due = now + self._quiet
            if not self._telling:
                self._telling = True
                self._latest = now + self._longest
                threading.Thread(target=self._run, name="notices", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                left = min(self._due, self._latest) - time.monotonic()
                if left <= 0:
                    self._telling = False
                    notices = [ChangeNotice(name, frozenset(one.addresses), one.listing) for name, one in self._taken()]
                    listeners = list(self._listeners.values())
                    break
            time.sleep(left)
        for listener in listeners:
            for notice in notices:
                listener(notice)

    def _taken(self) -> list[tuple[str, _PendingNotice]]:
        gathered, self._gathered = self._gathered, {}
        return list(gathered.items())
