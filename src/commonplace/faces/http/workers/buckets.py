"""The buckets of calls that several processes share: rows in a mapped file, found by a digest of the caller.

A row is changed under a lock of its group, which the kernel releases when its holder dies.
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
"""Digest of the caller, calls left, and the time in seconds of that."""
_EMPTY = bytes(16)
GROUPS = 1024
ROWS = 16
"""Callers of a group; the one that has been away longest is forgotten."""
_GROUP_BYTES = ROWS * _ROW.size
BUCKETS_BYTES = GROUPS * _GROUP_BYTES


class SharedBuckets:
    """Buckets in a file that several processes map.

    Args:
        descriptor: An open file.
        offset: Where the buckets begin in it, a multiple of the page size. They take `BUCKETS_BYTES` bytes.
    """

    def __init__(self, descriptor: int, offset: int) -> None:
        self._file = os.dup(descriptor)
        self._offset = offset
        self._map = mmap.mmap(descriptor, BUCKETS_BYTES, offset=offset)
        self._lock = Lock()

    def change(self, caller: str, change: Change) -> None:
        """Replace the bucket of a caller by what `change` makes of it."""
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
        # One byte of the file stands for its group; the lock excludes other processes, not threads.
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, self._offset + group)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._offset + group)
