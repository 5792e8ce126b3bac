"""Flushes texts from the catalogue to the full text in the background, so that no write waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class FlushWorker:
    """Flushes in a background thread, which ends when no texts are left.

    Args:
        move: Flushes once, and logs its errors.
    """

    def __init__(self, move: Callable[[], None]) -> None:
        self._move = move
        self._lock = threading.Lock()
        self._wanted = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Request a flush."""
        with self._lock:
            if self._closed:
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="flush", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the current flush. Texts that remain are searched in the catalogue."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed or not self._wanted:
                    self._thread = None
                    return
                self._wanted = False
            self._move()
