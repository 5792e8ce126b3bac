"""Writes files in a repository's own folder, opened part by part without following links.

Every function takes the folder (`base`, real and absolute) and a validated name below it, with `/` between its parts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.domain.private_files import user_modes
from commonplace.store.disk.durable import Unsynced, write_all
from commonplace.store.disk.folder import opened_folder
from commonplace.store.git.shared_modes import share, sharing_of

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened_parent(base: Path, name: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """A descriptor of the folder that contains a name, for use with `dir_fd`, and the last part of the name.

    Args:
        base: The folder.
        name: Name below the folder.
        make: Whether to create missing folders.

    Raises:
        OSError: there is no such folder, or a part of the path is a link.
    """
    *folders, last = name.split("/")
    if make:
        for depth, part in enumerate(folders):
            with opened_folder(base, folders[:depth]) as above, suppress(FileExistsError):
                make_folder(base, part, above)
    with opened_folder(base, folders) as folder:
        yield folder, last


def make_folder(base: Path, name: str, above: int) -> None:
    """Create a folder, shared as the repository is.

    Args:
        base: The repository's own folder.
        name: Name of the folder.
        above: Descriptor of the folder in which it is created.

    Raises:
        FileExistsError: it exists.
        OSError: it cannot be created.
    """
    with user_modes(above):
        os.mkdir(name, dir_fd=above)
    _share(base, name, above)


@contextmanager
def written_by_libgit2(base: Path, *names: str) -> Generator[None]:
    """Give the files and folders that libgit2 creates in this block Git's modes. Missing ones are skipped.

    Raises:
        OSError: a mode cannot be changed.
    """
    with user_modes(base):
        yield
    for name in names:
        with suppress(FileNotFoundError), opened_parent(base, name) as (folder, last):
            _share(base, last, folder)


def unlink(base: Path, name: str) -> None:
    """Remove a file, or a link itself. Does nothing if there is none.

    Raises:
        OSError: the file cannot be removed.
    """
    with suppress(FileNotFoundError), opened_parent(base, name) as (folder, last):
        os.unlink(last, dir_fd=folder)


def rename(base: Path, source: str, target: str) -> None:
    """Rename a file within its folder; an existing file or link of the new name is replaced.

    Raises:
        OSError: renaming failed.
    """
    with opened_parent(base, source) as (folder, last):
        os.rename(last, target.rpartition("/")[2], src_dir_fd=folder, dst_dir_fd=folder)


def link_or_copy(base: Path, source: str, target: str) -> None:
    """Take a lock by linking a finished file to its name; without hard links, by copying it.

    Args:
        base: The folder of both.
        source: The finished file.
        target: The lock.

    Raises:
        FileExistsError: another program holds the lock.
        OSError: the lock cannot be created.
    """
    with opened_parent(base, source) as (before, old), opened_parent(base, target, make=True) as (folder, new):
        try:
            os.link(old, new, src_dir_fd=before, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links
            content = _content(old, before)
            with Unsynced() as unsynced:
                share(base, unsynced.create(new, content, dir_fd=folder, of_git=True))


def read(base: Path, name: str) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: the file is missing, a link, not regular, or unreadable.
    """
    with opened_parent(base, name) as (folder, last):
        return _content(last, folder)


def append(base: Path, name: str, content: bytes, *, create: bool) -> None:
    """Append to a regular file without other hard links, in one write if the system allows.

    Args:
        base: The folder.
        name: Name below the folder.
        content: Bytes to append.
        create: Whether to create a missing file.

    Raises:
        OSError: the file cannot be written, is not regular, or has another hard link.
    """
    flags = _APPEND | (os.O_CREAT if create else 0)
    try:
        with opened_parent(base, name, make=create) as (folder, last), user_modes(folder):
            descriptor = os.open(last, flags, 0o666, dir_fd=folder)
    except FileNotFoundError:
        if create:
            raise
        return
    try:
        require_own(descriptor)
        share(base, descriptor)
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def require_own(descriptor: int) -> None:
    """Check that an open file is regular and has no other hard link, so that a write affects nothing else.

    Raises:
        OSError: it is not.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise OSError(0, "it is not a regular file of the repository's own")


def _share(base: Path, name: str, folder: int) -> None:
    """Share a new file or folder in an open folder, as the repository is."""
    if sharing_of(base).permissions:
        descriptor = os.open(name, _READ, dir_fd=folder)
        try:
            share(base, descriptor)
        finally:
            os.close(descriptor)


def _content(name: str, folder: int) -> bytes:
    descriptor = os.open(name, _READ, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        return file.read()
