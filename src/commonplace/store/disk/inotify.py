"""Changes in folders: reading them from inotify(7), and the file systems that do not report those of other machines."""

from __future__ import annotations

import errno
import os
import re
import struct
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

# Reads the changes in folders up to the present moment from inotify(7).
#
# Linux queues an event before the system call that changed something returns. A reader that drains the queue when a
# query arrives therefore finds every change that was complete by then, without a background thread. inotify does not
# report writes through a hard link in another folder or through mapped memory, nor changes by other machines on a
# shared file system.


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
    """The folder cannot be watched: not supported, no permission, or no watches left."""


@dataclass(slots=True)
class InotifyEvents:
    """The events since the last read."""

    names: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    """Names of created, deleted and changed entries, by the folder's watch descriptor."""
    changed_folders: set[int] = field(default_factory=set[int])
    """Watch descriptors of folders that were themselves moved, deleted, unmounted or changed in their permissions."""
    overflowed: bool = False
    """Whether the queue overflowed, so that any change may be missing."""


class InotifyQueue:
    """Watches folders, each with a watch descriptor. Not thread-safe. Its resources are released with the object.

    Raises:
        UnwatchableError: inotify is not available.
    """

    def __init__(self) -> None:
        begin, self._add, self._remove = _calls()
        self._queue = _checked(begin, os.O_NONBLOCK | os.O_CLOEXEC)
        self._process = os.getpid()
        weakref.finalize(self, _close, self._queue)

    @property
    def belongs_to_process(self) -> bool:
        """Whether this process created the queue. A forked copy shares the queue and would lose events."""
        return self._process == os.getpid()

    def watch(self, folder: int) -> int:
        """Watch a folder. After the call, every later change is reported.

        Args:
            folder: Descriptor of the folder.

        Raises:
            UnwatchableError: the folder cannot be watched.
        """
        return _checked(self._add, self._queue, f"/proc/self/fd/{folder}".encode(), _ALL)

    def unwatch(self, number: int) -> None:
        """Remove a watch, which may have ended already."""
        self._remove(self._queue, number)

    def read_events(self) -> InotifyEvents:
        """The events since the last read, up to now."""
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
        else:  # the event concerns the folder itself
            noticed.changed_folders.add(number)


@lru_cache(maxsize=1)
def _calls() -> tuple[_Call, _Call, _Call]:
    """The system calls of inotify, which Python lacks.

    Raises:
        UnwatchableError: this system does not have them.
    """
    # Imported lazily to keep start-up fast; nothing else needs ctypes.
    import ctypes  # noqa: PLC0415

    library = ctypes.CDLL(None, use_errno=True)
    try:
        begin, add, remove = library.inotify_init1, library.inotify_add_watch, library.inotify_rm_watch
    except AttributeError as error:
        raise UnwatchableError from error
    add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    return begin, add, remove


def _checked(call: _Call, *arguments: int | bytes) -> int:
    import ctypes  # noqa: PLC0415 - slow to import

    result = call(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise UnwatchableError(os.strerror(number)) from OSError(number, errno.errorcode.get(number, ""))
    return result


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return


# Detects file systems whose changes by other machines are not reported: network and container shares.


_MOUNTS = Path("/proc/self/mounts")
_SILENT = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|drvfs|fakeowner|fuse.*|gfs2|glusterfs|lustre|ncpfs|nfs4?|ocfs2|prl_fs|smb3|smbfs"
    r"|vboxsf|virtiofs|vmhgfs"
)
"""Names of the file system types that other machines may write to, and of all FUSE file systems."""
_ESCAPED = re.compile(r"\\(\d{3})")


def reports_changes(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether the system reports every change in a folder. True if the file system is not known to be a share.

    Args:
        folder: Real and absolute path.
        mounts: The kernel's mount table; without one, the result is true.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return True
    best, kind = "", ""
    for line in lines:
        _, place, found_text, *_ = [*line.split(" "), "", ""]
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), place)
        inside = place == "/" or os.fspath(folder) == place or os.fspath(folder).startswith(f"{place}/")
        if inside and len(place) >= len(best):
            best, kind = place, found_text
    return _SILENT.fullmatch(kind) is None
