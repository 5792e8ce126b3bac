"""Settings of the C library's allocator for long-running processes.

By default every thread that allocates gets its own arena, up to eight per processor, and memory freed in one arena is
not available to others. Large short-lived blocks, such as those of Tantivy's writers, cause fragmentation. After an
hour of mixed load two servers used 328 and 323 MB by default, and 216 and 209 MB with these settings, at the same
processor time (docs/reliability.md). With C libraries other than glibc, nothing is set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctypes import CDLL

# Option numbers of glibc's `mallopt`, from <malloc.h>.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8

ARENAS = 2
MMAP_THRESHOLD = 1 << 17
"""Minimum size in bytes of a block that is mapped separately, and unmapped when it is freed."""
TRIM_THRESHOLD = 16 * MMAP_THRESHOLD
"""Maximum number of free bytes at the end of the heap."""


@cache
def tune_allocator() -> None:
    """Set the allocator for the life of the process. Earlier allocations are not moved."""
    library = _library()
    if library is not None:
        for option, value in (
            (_ARENA_MAX, ARENAS),
            (_MMAP_THRESHOLD, MMAP_THRESHOLD),
            (_TRIM_THRESHOLD, TRIM_THRESHOLD),
        ):
            library.mallopt(option, value)


def trim_heap() -> None:
    """Return free pages of the heaps to the system (`malloc_trim`)."""
    trim = _trimming()
    if trim:
        trim(0)


@cache
def _trimming() -> Callable[[int], int] | None:
    library = _library()
    return None if library is None else library.malloc_trim


@cache
def _library() -> CDLL | None:
    """The C library if it is glibc, else None."""
    import ctypes  # noqa: PLC0415 - only writes and servers need it

    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
