"""What the kernel has noticed in folders up to this very moment.

Linux puts an event into the queue of whoever watches a folder before the call that changed something in it returns. So
whoever empties the queue at the moment of a question knows of every change that was over by then; no thread has to run
in between. It does not tell of a write through a second hard link in another folder or through memory that a program
has mapped, nor of what other machines do on a shared file system.
"""

from __future__ import annotations

import errno
import os
import struct
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

_CREATED, _DELETED, _MOVED = 0x100, 0x200, 0x40 | 0x80
_MODIFIED, _CLOSED, _ATTRIBUTES = 0x2, 0x8, 0x4
_GONE_ITSELF = 0x400 | 0x800
_ONLY_FOLDERS = 0x01000000
_ALL = _CREATED | _DELETED | _MOVED | _MODIFIED | _CLOSED | _ATTRIBUTES | _GONE_ITSELF | _ONLY_FOLDERS
_OVERFLOW = 0x4000
_HEAD = struct.Struct("iIII")
_PIECE = 65_536
_Call = Callable[..., int]


class UnwatchableError(Exception):
    """The folder cannot be watched: no such thing in this system, no rights, or no watches left."""


@dataclass(slots=True)
class InotifyEvents:
    """What happened since the last look."""

    names: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    """Names of what came, went or changed, by the number of the folder's watch."""
    changed_folders: set[int] = field(default_factory=set[int])
    """Watches of folders that were themselves moved, deleted, unmounted or changed in their rights."""
    overflowed: bool = False
    """Whether there was more than the queue could hold, so that anything may have happened."""


class InotifyQueue:
    """Watches folders, each by a number; for one thread at a time. What it holds is given back with it.

    Raises:
        UnwatchableError: nothing can be watched.
    """

    def __init__(self) -> None:
        begin, self._add, self._remove = _calls()
        self._queue = _checked(begin, os.O_NONBLOCK | os.O_CLOEXEC)
        self._process = os.getpid()
        weakref.finalize(self, _closed, self._queue)

    @property
    def belongs_to_process(self) -> bool:
        """Whether the queue is this process's; one that was copied by a fork shares it, and would lose events."""
        return self._process == os.getpid()

    def watch(self, folder: int) -> int:
        """Begin to watch a folder; on return every later change is noticed.

        Args:
            folder: A descriptor of it.

        Raises:
            UnwatchableError: it cannot be watched.
        """
        return _checked(self._add, self._queue, f"/proc/self/fd/{folder}".encode(), _ALL)

    def unwatch(self, number: int) -> None:
        """End a watch, which may have ended by itself."""
        self._remove(self._queue, number)

    def read_events(self) -> InotifyEvents:
        """What happened since the last look, up to now."""
        noticed = InotifyEvents()
        while True:
            try:
                piece = os.read(self._queue, _PIECE)
            except BlockingIOError:
                return noticed
            _sort(piece, noticed)


def _sort(piece: bytes, noticed: InotifyEvents) -> None:
    at = 0
    while at < len(piece):
        number, mask, _, size = _HEAD.unpack_from(piece, at)
        at += _HEAD.size
        name = piece[at : at + size].rstrip(b"\0")
        at += size
        if mask & _OVERFLOW:
            noticed.overflowed = True
        elif name:
            noticed.names.setdefault(number, set()).add(os.fsdecode(name))
        else:  # of the folder itself
            noticed.changed_folders.add(number)


@lru_cache(maxsize=1)
def _calls() -> tuple[_Call, _Call, _Call]:
    """The system's calls, which Python does not have.

    Raises:
        UnwatchableError: this system has none.
    """
    # Loaded here: nothing else needs it, and a start is short of time.
    import ctypes  # noqa: PLC0415

    library = ctypes.CDLL(None, use_errno=True)
    try:
        begin, add, remove = library.inotify_init1, library.inotify_add_watch, library.inotify_rm_watch
    except AttributeError as error:
        raise UnwatchableError from error
    add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    return begin, add, remove


def _checked(call: _Call, *arguments: int | bytes) -> int:
    import ctypes  # noqa: PLC0415 - as above

    result = call(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise UnwatchableError(os.strerror(number)) from OSError(number, errno.errorcode.get(number, ""))
    return result


def _closed(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return
