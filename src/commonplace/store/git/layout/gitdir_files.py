"""Files in a repository's own folder that are written: reached part by part from that folder, and no part is a link.

Every function takes the folder (`base`, real and absolute) and a checked name below it, with `/` between its parts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.store.disk.durable import Unsynced, write_all
from commonplace.store.disk.folder import opened_folder

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened_parent(base: Path, name: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """A descriptor of the folder that a name lies in, for use with `dir_fd`, and the last part of the name.

    Args:
        base: The folder.
        name: Below it.
        make: Whether folders on the way that do not exist are made.

    Raises:
        OSError: there is no such folder, or a part of the way is a link.
    """
    *folders, last = name.split("/")
    if make:
        for depth, part in enumerate(folders):
            with opened_folder(base, folders[:depth]) as above, suppress(FileExistsError):
                os.mkdir(part, dir_fd=above)
    with opened_folder(base, folders) as folder:
        yield folder, last


def unlink(base: Path, name: str) -> None:
    """Remove a file, or a link itself; nothing where there is none.

    Raises:
        OSError: it cannot be removed.
    """
    with suppress(FileNotFoundError), opened_parent(base, name) as (folder, last):
        os.unlink(last, dir_fd=folder)


def rename(base: Path, source: str, target: str) -> None:
    """Give a file another name in the same folder; what has that name, a link too, is replaced.

    Raises:
        OSError: it cannot be done.
    """
    with opened_parent(base, source) as (folder, last):
        os.rename(last, target.rpartition("/")[2], src_dir_fd=folder, dst_dir_fd=folder)


def link_or_copy(base: Path, source: str, target: str) -> None:
    """Take a lock by giving a finished file its name; where there are no hard links, by a copy of it.

    Args:
        base: The folder of both.
        source: The finished file.
        target: The lock.

    Raises:
        FileExistsError: somebody has the lock.
        OSError: it cannot be made.
    """
    with opened_parent(base, source) as (before, old), opened_parent(base, target, make=True) as (folder, new):
        try:
            os.link(old, new, src_dir_fd=before, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # no hard links here
            content = _content(old, before)
            with Unsynced() as unsynced:
                unsynced.create(new, content, dir_fd=folder)


def read(base: Path, name: str) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: there is none, it is a link or no regular file, or it cannot be read.
    """
    with opened_parent(base, name) as (folder, last):
        return _content(last, folder)


def append(base: Path, name: str, content: bytes, *, create: bool) -> None:
    """Add to the end of a regular file that has no other name, in one write where the system allows.

    Args:
        base: The folder.
        name: Below it.
        content: What is added.
        create: Whether a file that does not exist is made.

    Raises:
        OSError: it cannot be written, is no regular file, or is the same file as one elsewhere (a hard link).
    """
    flags = _APPEND | (os.O_CREAT if create else 0)
    try:
        with opened_parent(base, name, make=create) as (folder, last):
            descriptor = os.open(last, flags, 0o666, dir_fd=folder)
    except FileNotFoundError:
        if create:
            raise
        return
    try:
        require_own(descriptor)
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def require_own(descriptor: int) -> None:
    """Refuse what is open unless it is a regular file with one name: what is written to it appears nowhere else.

    Raises:
        OSError: it is something else.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise OSError(0, "it is no regular file of the repository's own")


def _content(name: str, folder: int) -> bytes:
    descriptor = os.open(name, _READ, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read()
