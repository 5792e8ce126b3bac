"""Chooses the method to make several files of one file system durable: a flush for each file, or fewer.

A journaling file system that commits changes of metadata in their order (ext3, ext4 and XFS) needs one flush: the data
of all files is written out first, then an fsync commits the newest change of metadata and with it every earlier one.
Git does the same with `core.fsyncMethod=batch`. On other file systems `syncfs` flushes the whole file system, which is
quick while other programs have written little.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import sys
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pathlib import Path

DIRTY_KIB = 16_384
DIRTY_KIB_EACH = 1_024
"""Maximum unwritten data of all programs, in KiB, for a flush of the whole file system: `DIRTY_KIB` plus this per file.

After frequent writes, only the data that other programs have written since the last flush is unwritten.
"""
_SYNCFS_TELLS = (5, 8)
"""The first version of Linux whose `syncfs` reports errors of the disk (syncfs(2))."""
_JOURNALED = {"ext3", "ext4"}
_ALWAYS_JOURNALED = {"xfs"}
_FLUSHED_WHOLE = {"ext2", "ext3", "ext4"}
_UNSUPPORTED = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.ESPIPE}
_WRITE_OUT = 1 | 2 | 4
"""Flags of `sync_file_range`: wait for pages in writeback, write every dirty page, and wait for all of them."""
_DIRTY = re.compile(rb"^(?:Dirty|Writeback):\s+(\d+) kB", re.MULTILINE)


class FlushMethod(Enum):
    """Method to make files of one file system durable together."""

    EACH = auto()
    """Flush every file and folder separately."""
    ORDERED = auto()
    """Write out the data of all files; then one flush of the last change commits all earlier ones."""
    WHOLE = auto()
    """Flush the whole file system if other programs have written little; otherwise each file."""


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """Files of the kernel that describe mounted file systems and unwritten data."""

    mounts: Path = Path("/proc/self/mountinfo")
    journals: Path = Path("/proc/fs/jbd2")
    """Folder with an entry for each open journal of ext3 and ext4, named after its device."""
    devices: Path = Path("/sys/dev/block")
    memory: Path = Path("/proc/meminfo")


KERNEL = KernelFiles()


@cache
def method_of(device: int, kernel: KernelFiles = KERNEL, release: str = platform.release()) -> FlushMethod:
    """The method for the files of a device.

    Args:
        device: As in `os.stat_result.st_dev`.
        kernel: Files of the kernel; if they are missing, the result is `EACH`.
        release: The kernel's release.
    """
    if not hasattr(_LIBRARY, "syncfs") or not hasattr(_LIBRARY, "sync_file_range"):
        return FlushMethod.EACH
    number = f"{os.major(device)}:{os.minor(device)}"
    kind = _kind_of(number, kernel.mounts)
    if kind in _ALWAYS_JOURNALED or (kind in _JOURNALED and _has_journal(number, kernel)):
        return FlushMethod.ORDERED
    return FlushMethod.WHOLE if kind in _FLUSHED_WHOLE and _version(release) >= _SYNCFS_TELLS else FlushMethod.EACH


def is_whole_quicker(files: int, kernel: KernelFiles = KERNEL) -> bool:
    """Whether flushing the whole file system is quicker than flushing this number of files, by the unwritten data."""
    try:
        text = kernel.memory.read_bytes()  # bytes: a process that has dropped its rights may be unable to load a codec
    except OSError:
        return False
    return sum(map(int, _DIRTY.findall(text))) <= DIRTY_KIB + files * DIRTY_KIB_EACH


def write_out(descriptor: int) -> None:
    """Write a file's data to the disk, without its metadata and without emptying the disk's cache.

    Raises:
        OSError: the data cannot be written.
    """
    sys.audit("commonplace.write_out", descriptor)
    if _LIBRARY.sync_file_range(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), _WRITE_OUT) == 0:
        return
    if (number := ctypes.get_errno()) not in _UNSUPPORTED:
        raise OSError(number, os.strerror(number))
    os.fsync(descriptor)


def flush_whole(descriptor: int) -> None:
    """Flush the file system of a descriptor, which was opened before the data was written.

    Raises:
        OSError: some data cannot be written.
    """
    sys.audit("commonplace.syncfs", descriptor)
    if _LIBRARY.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    # Without a journal, ext4's syncfs flushes the disk's cache before it writes the last blocks. The fsync flushes
    # the cache afterwards.
    os.fsync(descriptor)


def _kind_of(number: str, mounts: Path) -> str:
    """The type of the mounted file system on a device; "" if there is none."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split(" ")[2:3] == [number]:
            return after.partition(" ")[0]
    return ""


def _has_journal(number: str, kernel: KernelFiles) -> bool:
    """Whether the device has an open internal journal. An external journal does not count."""
    try:
        name = (kernel.devices / number).resolve(strict=True).name
        return any(one.name.startswith(f"{name}-") for one in kernel.journals.iterdir())
    except OSError:
        return False


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2])


_LIBRARY = ctypes.CDLL(None, use_errno=True)
