"""Which revision of each note a client was last given, so that it may write without repeating it."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from commonplace.domain.addresses import fold

MAX_SEEN = 10_000
"""Notes remembered for all clients together; the oldest are forgotten, which costs their client one read."""


class Seen:
    """Revisions by client and note."""

    def __init__(self) -> None:
        self._revisions: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._lock = Lock()

    def remember(self, client: str, path: str, revision: str) -> None:
        """The client was given this revision of the note."""
        key = client, fold(path)
        with self._lock:
            self._revisions[key] = revision
            self._revisions.move_to_end(key)
            while len(self._revisions) > MAX_SEEN:
                self._revisions.popitem(last=False)

    def forget(self, client: str, path: str) -> None:
        """The client knows that the note is gone."""
        with self._lock:
            self._revisions.pop((client, fold(path)), None)

    def last(self, client: str, path: str) -> str:
        """The revision that the client was last given, "" when it was given none."""
        with self._lock:
            return self._revisions.get((client, fold(path)), "")
