"""Which flushes make several files of one file system durable: one for each file, or fewer.

A journaling file system that commits changes of metadata in their order (ext3, ext4 and XFS) needs one: the data of all
files is written out first, then an fsync commits the newest change of metadata and with it every earlier one. Git does
the same with `core.fsyncMethod=batch`. Elsewhere `syncfs` flushes the whole file system, which is quick while other
programs have written little.
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
"""KiB of unwritten data of all programs up to which the whole file system is flushed: in all, and for each file.

Whoever writes often finds only what other programs have written since the last flush.
"""
_SYNCFS_TELLS = (5, 8)
"""The first Linux whose `syncfs` reports errors of the disk (syncfs(2))."""
_JOURNALED = {"ext3", "ext4"}
_ALWAYS_JOURNALED = {"xfs"}
_FLUSHED_WHOLE = {"ext2", "ext3", "ext4"}
_UNSUPPORTED = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.ESPIPE}
_WRITE_OUT = 1 | 2 | 4
"""Flags of `sync_file_range`: write every page, and wait for those on their way before and after."""
_DIRTY = re.compile(rb"^(?:Dirty|Writeback):\s+(\d+) kB", re.MULTILINE)


class FlushMethod(Enum):
    """How files of one file system are made durable together."""

    EACH = auto()
    """Every file and folder by itself."""
    ORDERED = auto()
    """Data is written out; flushing the last change commits all before it."""
    WHOLE = auto()
    """The whole file system, if other programs have written little."""


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """The files of the kernel that tell file systems apart."""

    mounts: Path = Path("/proc/self/mountinfo")
    journals: Path = Path("/proc/fs/jbd2")
    """Has a folder for each open journal of ext3 and ext4, named after its device."""
    devices: Path = Path("/sys/dev/block")
    memory: Path = Path("/proc/meminfo")


KERNEL = KernelFiles()


@cache
def method_of(device: int, kernel: KernelFiles = KERNEL, release: str = platform.release()) -> FlushMethod:
    """The method for the files of a device.

    Args:
        device: As in `os.stat_result.st_dev`.
        kernel: Files of the kernel; where they are missing, the result is `EACH`.
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
    """Whether flushing the whole file system is quicker than so many files: programs have little unwritten data."""
    try:
        text = kernel.memory.read_bytes()  # bytes: a process whose rights are gone may be unable to load a codec
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
        OSError: something of it cannot be written.
    """
    sys.audit("commonplace.syncfs", descriptor)
    if _LIBRARY.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    # Without a journal, ext4 empties the disk's cache before it has written the last blocks. An fsync does it last.
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
    """Whether the device has an open journal of its own. An external one counts as none."""
    try:
        name = (kernel.devices / number).resolve(strict=True).name
        return any(one.name.startswith(f"{name}-") for one in kernel.journals.iterdir())
    except OSError:
        return False


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2])


_LIBRARY = ctypes.CDLL(None, use_errno=True)
