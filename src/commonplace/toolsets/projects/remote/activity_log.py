"""A log of calls as JSON lines, written by its own thread so that no caller waits for the disk."""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from queue import Empty, SimpleQueue

from commonplace.domain.json import JsonObject
from commonplace.store.disk.durable import write_all

END_SECONDS = 1.0
"""Seconds that the process waits at its end for the last lines."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW

log = logging.getLogger(__name__)


class ActivityLogFile:
    """`toolsets.projects.rules.ports.ActivityLog` in a file that several processes may append to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: SimpleQueue[JsonObject | None] = SimpleQueue()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="activity", daemon=True)
        self._thread.start()

    def record(self, entry: JsonObject) -> None:
        """Log one call. Returns at once and never fails."""
        self._queue.put(entry)

    def close(self) -> None:
        """Write the remaining lines."""
        self._queue.put(None)
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while True:
            entries: list[JsonObject | None] = [self._queue.get()]
            try:
                while True:
                    entries.append(self._queue.get_nowait())
            except Empty:
                pass
            if calls := [entry for entry in entries if entry is not None]:
                self._append(calls)
            if None in entries:
                return

    def _append(self, entries: list[JsonObject]) -> None:
        """Append all lines in one write, so that lines of several processes do not mix."""
        lines = "".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in entries)
        try:
            descriptor = os.open(self._path, _FLAGS, 0o600)
            try:
                write_all(descriptor, lines.encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)
        except OSError as error:
            if not self._failed:
                log.warning("the activity log cannot be written: %s", error.strerror)
            self._failed = True
