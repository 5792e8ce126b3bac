"""Moving the texts that wait in the catalogue into the full text, beside everything else: no write waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class FlushWorker:
    """Moves them in a thread that ends when nothing is left to do.

    Args:
        move: Does it, once; it says itself in the log what goes wrong.
    """

    def __init__(self, move: Callable[[], None]) -> None:
        self._move = move
        self._lock = threading.Lock()
        self._wanted = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Say that it is time."""
        with self._lock:
            if self._closed:
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="moving", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End after the move that is going on; what waits then is searched from where it is."""
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
