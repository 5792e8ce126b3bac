"""Makes several files or folders durable together, with as few flushes as their file system allows."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import re
import stat
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from commonplace.domain.private_files import user_modes

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_OPEN = 64
"""Maximum number of open files."""
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
"""The macOS call that also flushes the disk's own cache, which `fsync` does not; None on other systems."""


MIN_TOGETHER = 3
"""Minimum number of files or folders for a common flush; fewer are flushed one by one."""


METHOD: FlushMethod | None = None
"""The method for every file system; None detects the method of each."""


class FlushError(OSError):
    """A flush failed. The unflushed bytes may be lost; repeating the flush does not recover them."""


class Unsynced:
    """Written files that are not durable yet. `sync` makes all of them durable; the end of the block closes them."""

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def create(
        self, name: str | Path, content: bytes, *, mode: int = 0o666, dir_fd: int | None = None, of_git: bool = False
    ) -> int:
        """Write a new file and return its descriptor, which this object owns and which is valid until the next call.

        Args:
            name: Path of the file.
            content: Its content.
            mode: Its permissions, from which the user's umask withdraws some.
            dir_fd: Descriptor of the folder that the path is relative to.
            of_git: Whether the file is Git's own: then it is private in a folder that only its owner can enter.

        Raises:
            FileExistsError: the file exists.
            OSError: the file cannot be written; the caller removes what was written.
        """
        self._make_room()
        with user_modes(dir_fd if of_git else None):
            descriptor = os.open(name, _NEW, mode, dir_fd=dir_fd)
        self._descriptors.append(descriptor)
        write_all(descriptor, content)
        return descriptor

    def keep(self, descriptor: int) -> None:
        """Take ownership of an open descriptor."""
        self._make_room()
        self._descriptors.append(descriptor)

    def sync(self) -> None:
        """Make every file durable.

        Raises:
            FlushError: the disk failed.
        """
        sys.audit("commonplace.flush", len(self._descriptors))
        with _flushing():
            for descriptors in _descriptors_by_device(self._descriptors):
                _sync_files(descriptors)

    def _make_room(self) -> None:
        """Sync and close all files when there are too many: the number of open files per process is limited."""
        if len(self._descriptors) >= MAX_OPEN:
            self.sync()
            self._close()

    def _close(self) -> None:
        for descriptor in self._descriptors:
            with suppress(OSError):  # the files were synced; close releases the descriptor even if it fails
                os.close(descriptor)
        self._descriptors.clear()


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; one call of `write` may write fewer."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def sync_folders(folders: Iterable[Path], *, unless_ordered: bool = False) -> None:
    """Make the names in these folders durable. Missing folders are skipped.

    Args:
        folders: The folders, in the order in which their names changed.
        unless_ordered: Whether to skip file systems that make earlier name changes durable before later ones.

    Raises:
        FlushError: the disk failed.
    """
    for device, on_device in _by_device(folders).items():
        if not (unless_ordered and (METHOD or method_of(device)) is FlushMethod.ORDERED):
            _sync_names(on_device, _method(device, len(on_device)))


def _by_device(folders: Iterable[Path]) -> Mapping[int, Sequence[Path]]:
    """The existing folders by device, in order. A repeated folder counts at its last position."""
    device: dict[int, list[Path]] = {}
    for folder in reversed(dict.fromkeys(reversed(list(folders)))):
        with suppress(FileNotFoundError):
            device.setdefault(folder.stat().st_dev, []).append(folder)
    return device


def _descriptors_by_device(descriptors: Sequence[int]) -> Iterable[Sequence[int]]:
    """The descriptors of each device, in order."""
    found_values: dict[int, list[int]] = {}
    for descriptor in descriptors:
        found_values.setdefault(os.fstat(descriptor).st_dev, []).append(descriptor)
    return found_values.values()


def _sync_files(descriptors: Sequence[int]) -> None:
    """Make files of one device durable."""
    for descriptor in descriptors:
        _start_writing(descriptor)
    method = _method(os.fstat(descriptors[0]).st_dev, len(descriptors))
    if method is FlushMethod.ORDERED and _touch(descriptors[-1], descriptors):
        _sync(descriptors[-1])
    elif method is FlushMethod.WHOLE:
        flush_whole(descriptors[0])
    else:
        for descriptor in descriptors:
            _sync(descriptor)


def _sync_names(folders: Sequence[Path], method: FlushMethod) -> None:
    """Make the names in folders of one device durable. One folder at a time is open."""
    for folder in folders if method is FlushMethod.EACH else reversed(folders):
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            with _flushing():
                (flush_whole if method is FlushMethod.WHOLE else _sync)(descriptor)
        finally:
            close_descriptor(descriptor)
        if method is not FlushMethod.EACH:
            return


def _method(device: int, number: int) -> FlushMethod:
    """The method for this number of files or folders of a device."""
    if number < MIN_TOGETHER:
        return FlushMethod.EACH
    method = METHOD or method_of(device)
    return FlushMethod.EACH if method is FlushMethod.WHOLE and not is_whole_quicker(number) else method


def _touch(last: int, descriptors: Sequence[int]) -> bool:
    """Write out the data of all files; then change the last one's metadata, so that its fsync commits all of it.

    Returns whether the metadata could be changed.
    """
    for descriptor in descriptors:
        write_out(descriptor)
    try:
        os.fchmod(last, stat.S_IMODE(os.fstat(last).st_mode))
    except PermissionError:  # a file of another user
        return False
    return True


@contextmanager
def _flushing() -> Generator[None]:
    """Convert an OSError of the block to a `FlushError`."""
    try:
        yield
    except OSError as error:
        raise FlushError(error.errno, error.strerror) from error


def close_descriptor(descriptor: int) -> None:
    """Close a descriptor that has nothing left to write. Errors are ignored: the descriptor is released anyway."""
    with suppress(OSError):
        os.close(descriptor)


def _start_writing(descriptor: int) -> None:
    """Start writeback, so that the first flush finds the blocks of all files allocated and commits them together."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _sync(descriptor: int) -> None:
    sys.audit("commonplace.fsync", descriptor)
    if _FULL_SYNC is not None:
        fcntl.fcntl(descriptor, _FULL_SYNC)
    else:
        os.fsync(descriptor)


# Chooses the method to make several files of one file system durable: a flush for each file, or fewer.
#
# A journaling file system that commits changes of metadata in their order (ext3, ext4 and XFS) needs one flush: the
# data of all files is written out first, then an fsync commits the newest change of metadata and with it every earlier
# one. Git does the same with `core.fsyncMethod=batch`. On other file systems `syncfs` flushes the whole file system,
# which is quick while other programs have written little.


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
        return any(path.name.startswith(f"{name}-") for path in kernel.journals.iterdir())
    except OSError:
        return False


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", release)[:2])


_LIBRARY = ctypes.CDLL(None, use_errno=True)
