"""Modes of new files.

What this program derives or records (indexes, vectors, clones, journals, deleted text) is for its user alone, whatever
the umask. Files in the folders that it serves have the modes that the user's umask gives.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OTHERS = 0o077
"""The permissions of everybody but the owner."""


class _Process:
    user: int | None = None
    """The user's umask; None until `keep_private`."""
    lock = threading.Lock()


def keep_private() -> None:
    """Create files and folders without permissions for others from now on, except within `user_modes`."""
    if _Process.user is None:
        _Process.user = os.umask(OTHERS)


@contextmanager
def user_modes(folder: Path | int | None = None) -> Generator[None]:
    """Create files with the user's umask, except in a folder that only its owner can enter.

    Args:
        folder: The folder of the files, or its descriptor; None for the user's umask in any folder.

    The umask belongs to the process: a file that another thread creates meanwhile may get it, too. Such a file lies in
    a folder of `private_folder`, which others cannot enter.
    """
    if _Process.user is None or (folder is not None and is_private(os.stat(folder))):  # noqa: PTH116 - a path or a descriptor
        yield
        return
    with _Process.lock:
        os.umask(_Process.user)
        try:
            yield
        finally:
            os.umask(OTHERS)


def user_umask() -> int:
    """The umask for programs that write the user's files, in the form of `subprocess`: -1 for that of this process."""
    return -1 if _Process.user is None else _Process.user


def is_private(status: os.stat_result) -> bool:
    """Whether others have no permissions for a file or folder."""
    return not status.st_mode & OTHERS


def private_folder(path: Path) -> None:
    """Create a folder that only its owner can enter, or withdraw the permissions that others have there.

    A folder that is shared by its nature (with the sticky bit, a home folder, the root) is not changed, nor are other
    users' files.

    Raises:
        OSError: the folder cannot be created.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    for file in exposed(path):
        with suppress(OSError):
            file.chmod(stat.S_IMODE(file.lstat().st_mode) & ~OTHERS)
            if file != path and file.is_dir():
                _withdraw(file)


def exposed(path: Path) -> Iterator[Path]:
    """The folder and the entries in it for which others have permissions, the folder first. Follows no links."""
    with suppress(OSError):
        status = path.stat()
        is_shared = status.st_mode & stat.S_ISVTX or path in {Path.home(), Path(path.anchor)}
        if is_shared or not stat.S_ISDIR(status.st_mode):
            return
        if not is_private(status):
            yield path
        for entry in sorted(path.iterdir()):
            status = entry.lstat()
            if not stat.S_ISLNK(status.st_mode) and not is_private(status):
                yield entry


def _withdraw(folder: Path) -> None:
    """Withdraw the permissions of others below a folder."""
    for _, names, files, descriptor in os.fwalk(folder):
        for name in (*names, *files):
            with suppress(OSError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if not stat.S_ISLNK(status.st_mode) and not is_private(status):
                    os.chmod(name, stat.S_IMODE(status.st_mode) & ~OTHERS, dir_fd=descriptor)
