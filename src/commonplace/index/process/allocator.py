"""How the C library's allocator is set, so that a process that serves for weeks holds what it needs and no more.

Every thread that allocates gets an arena of its own, up to eight for each processor, and what is freed in one serves
no other; blocks that come and go by the megabyte, such as those of the full text's writers, leave holes between those
that stay. After an hour of mixed load two servers held 328 and 323 MB so, and 216 and 209 with what is set here, at the
same processor time (docs/soak). Where another C library is used, nothing is set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctypes import CDLL

# Numbers of glibc's `mallopt`, from <malloc.h>.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8

ARENAS = 2
MMAP_THRESHOLD = 1 << 17
"""Bytes from which on a block is mapped by itself, and unmapped when it is freed."""
TRIM_THRESHOLD = 16 * MMAP_THRESHOLD
"""Bytes that may stay free at the end of the heap."""


@cache
def tune_allocator() -> None:
    """Set the allocator for the life of the process; what was allocated before stays where it is."""
    library = _library()
    if library is not None:
        for option, value in (
            (_ARENA_MAX, ARENAS),
            (_MMAP_THRESHOLD, MMAP_THRESHOLD),
            (_TRIM_THRESHOLD, TRIM_THRESHOLD),
        ):
            library.mallopt(option, value)


def trim_heap() -> None:
    """Return to the system what was freed within the heaps, as far as whole pages of it are free."""
    trim = _trimming()
    if trim:
        trim(0)


@cache
def _trimming() -> Callable[[int], int] | None:
    library = _library()
    return None if library is None else library.malloc_trim


@cache
def _library() -> CDLL | None:
    """The C library where it is glibc."""
    import ctypes  # noqa: PLC0415 - only who writes or serves needs it

    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
