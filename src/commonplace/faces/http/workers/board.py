"""State shared by the workers: a memory-mapped file with one row per worker, written only by that worker.

Each number has eight bytes at a multiple of eight, so that it is read atomically.
"""

from __future__ import annotations

import mmap
import struct
import time
from threading import Lock

from commonplace.domain.errors import ConfigError

MAX_WORKERS = 64
_NUMBERS = struct.Struct("=QQQQ")
"""A row: the worker's number (0 if unused), its connections, and the counts of index updates begun and ended."""
_NUMBER = struct.Struct("=Q")
_CONNECTIONS, _BEGUN, _ENDED = 8, 16, 24
POLL_SECONDS = 0.002
"""Interval in seconds between two checks of other workers' updates."""
BOARD_BYTES = MAX_WORKERS * _NUMBERS.size


class Board:
    """The rows of all workers.

    Args:
        descriptor: An open file of at least `BOARD_BYTES` bytes.
        count: Number of rows that may be in use.
        row: Index of this worker's row; None for the supervisor, which has no row.

    Raises:
        ConfigError: the file cannot be mapped.
    """

    def __init__(self, descriptor: int, count: int, row: int | None = None) -> None:
        try:
            self._map = mmap.mmap(descriptor, BOARD_BYTES)
        except (OSError, ValueError) as error:
            raise ConfigError("The workers' shared memory is not available.", kind="workers") from error
        self._count = count
        self._row = row
        self._lock = Lock()
        self._begun = 0
        self._ended = 0

    def enter(self, row: int, number: int) -> None:
        """Assign a row to a worker, or clear it with number 0."""
        self._map[row * _NUMBERS.size : (row + 1) * _NUMBERS.size] = _NUMBERS.pack(number, 0, 0, 0)

    def connections(self, number: int) -> None:
        """Set this worker's number of connections."""
        self._write(_CONNECTIONS, number)

    def least_connections(self) -> int | None:
        """The smallest number of connections among the other workers; None if there is no other worker."""
        return min((connections for _, (_, connections, _, _) in self._rows()), default=None)

    def begin(self) -> None:
        """Count the begin of an index update."""
        with self._lock:
            self._begun += 1
            self._write(_BEGUN, self._begun)

    def end(self) -> None:
        """Count the end of an index update."""
        with self._lock:
            self._ended += 1
            self._write(_ENDED, self._ended)

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for updates that other workers have begun. Returns whether all have ended."""
        waiting = {(row, number): begun for row, (number, _, begun, ended) in self._rows() if ended < begun}
        if not waiting:
            return True
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            now = {(row, number): ended for row, (number, _, _, ended) in self._rows()}
            # An ended worker cannot finish its update. Its row is empty or has another number, so it is ignored.
            if all(now.get(one, begun) >= begun for one, begun in waiting.items()):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def close(self) -> None:
        """Release the mapping."""
        self._map.close()

    def _write(self, place: int, number: int) -> None:
        if self._row is not None:
            _NUMBER.pack_into(self._map, self._row * _NUMBERS.size + place, number)

    def _rows(self) -> list[tuple[int, tuple[int, int, int, int]]]:
        """The rows of the other workers, with their indexes."""
        rows = enumerate(_NUMBERS.iter_unpack(self._map[: self._count * _NUMBERS.size]))
        return [(row, numbers) for row, numbers in rows if numbers[0] and row != self._row]
