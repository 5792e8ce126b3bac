"""Rate limit buckets shared by several processes: rows of a memory-mapped file, found by a digest of the caller.

Each group of rows has a file lock, which the kernel releases when its holder exits.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock

from commonplace.faces.access.rate_limits import Bucket, Change

_ROW = struct.Struct("=16sdd")
"""A row: digest of the caller, remaining calls, and the time of the last change in seconds."""
_EMPTY = bytes(16)
GROUPS = 1024
ROWS = 16
"""Number of callers in a group. In a full group, the least recently used row is replaced."""
_GROUP_BYTES = ROWS * _ROW.size
BUCKETS_BYTES = GROUPS * _GROUP_BYTES


class SharedBuckets:
    """Buckets in a file that several processes map.

    Args:
        descriptor: An open file.
        offset: Start of the buckets in the file, a multiple of the page size. Their size is `BUCKETS_BYTES`.
    """

    def __init__(self, descriptor: int, offset: int) -> None:
        self._file = os.dup(descriptor)
        self._offset = offset
        self._map = mmap.mmap(descriptor, BUCKETS_BYTES, offset=offset)
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace a caller's bucket by the result of `change`, atomically."""
        digest = blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        group = int.from_bytes(digest[:4], "big") % GROUPS
        with self._lock, self._locked(group):
            rows = [_ROW.unpack_from(self._map, group * _GROUP_BYTES + row * _ROW.size) for row in range(ROWS)]
            mine = next((row for row in range(ROWS) if rows[row][0] == digest), None)
            found = None if mine is None else Bucket(*rows[mine][1:])
            row = min(range(ROWS), key=lambda row: (rows[row][0] != _EMPTY, rows[row][2])) if mine is None else mine
            _ROW.pack_into(self._map, group * _GROUP_BYTES + row * _ROW.size, digest, *change(found))

    def close(self) -> None:
        """Release the mapping."""
        self._map.close()
        os.close(self._file)

    @contextmanager
    def _locked(self, group: int) -> Generator[None]:
        # The lock of a group is one byte of the file. It excludes other processes, but not threads.
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._offset + group)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._offset + group)
