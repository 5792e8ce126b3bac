"""Replacing several files as one step: everything is written beside first, then only names change.

For the n-th file of a transaction two hidden names beside it are used: `.commonplace-<token>-<n>.new` holds the new
bytes until they are renamed into place, `.old` keeps the old file until the transaction is over. Undoing is renaming
back, which needs no space on the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.errors import ConflictError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.folder import file_stat, opened_folder
from commonplace.store.disk.journal import JournalStep

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""What a file system without hard links answers."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as the writer saw it."""

    stat: FileStat
    revision: Revision


@dataclass(frozen=True, slots=True)
class FileChange:
    """What shall become of one file; its path is relative to the root."""

    path: str
    before: SeenFile | None
    """None: there was no file."""
    content: bytes | None
    """None: there shall be no file."""
    shown: str = ""
    """How errors name it, "" for its path."""
    keep: bool = False
    """Whether the bytes before must stay to be had."""

    @property
    def step(self) -> JournalStep:
        """The change as the journal tells it."""
        return JournalStep(
            self.path,
            self.before.revision if self.before else "",
            "" if self.content is None else revision_of(self.content),
        )


class FileSlot:
    """One file of a transaction with its two names beside, reached without following links."""

    def __init__(self, root: Path, token: str, number: int, path: str) -> None:
        self._root = root
        *self.folders, self.name = path.split("/")
        self.new = f".commonplace-{token}-{number}.new"
        self.old = f".commonplace-{token}-{number}.old"

    @property
    def folder(self) -> Path:
        """The folder that holds the three names."""
        return self._root.joinpath(*self.folders)

    def revision(self, name: str) -> Revision | None:
        """The revision of the regular file that has one of the three names now; "" for none, None for another thing."""
        try:
            with opened_folder(self._root, self.folders) as folder:
                if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    return None
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        with os.fdopen(descriptor, "rb") as file:
            return revision_of(file.read())

    def rename(self, source: str, target: str) -> None:
        """Give one name's file to another name."""
        with opened_folder(self._root, self.folders) as folder:
            os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)

    def discard(self, *names: str) -> None:
        """Delete what has these names, if anything has."""
        with suppress(FileNotFoundError, NotADirectoryError), opened_folder(self._root, self.folders) as folder:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)


class FileSwap:
    """The file changes of one transaction: `prepare`, make that durable, `perform`, and then `finish` or `undo`."""

    def __init__(self, root: Path, token: str, changes: Sequence[FileChange]) -> None:
        self._root = root
        self._changes = [(change, FileSlot(root, token, n, change.path)) for n, change in enumerate(changes)]
        self._performed: list[tuple[FileChange, FileSlot]] = []
        self.written: dict[str, FileStat] = {}
        """What the new files' facts were when they had been written, by path."""
        self.made = missing_folders(root, [change.path for change in changes if change.content is not None])
        """Folders that have to be made, outermost first."""

    @property
    def folders(self) -> set[Path]:
        """Every folder in which names change."""
        return {place.folder for _, place in self._changes} | {(self._root / made).parent for made in self.made}

    def prepare(self, unsynced: Unsynced) -> None:
        """Make folders and write the new bytes beside their files. What goes wrong is undone by `undo`."""
        for path in self.made:
            *above, name = path.split("/")
            with opened_folder(self._root, above) as folder, suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
        for change, place in self._changes:
            content = change.content
            if content is not None:
                with opened_folder(self._root, place.folders) as folder:
                    self.written[change.path] = _write_beside(folder, place, content, unsynced)

    def perform(self) -> None:
        """Change the names, having looked once more that each file is the one that the writer saw.

        Raises:
            ConflictError: another program changed one of them meanwhile.
        """
        for change, place in self._changes:
            self._performed.append((change, place))
            with opened_folder(self._root, place.folders) as folder:
                _perform(folder, change, place)

    def undo(self) -> None:
        """Put everything back as it was, also after an incomplete `prepare` or `perform`."""
        for change, place in reversed(self._performed):
            with opened_folder(self._root, place.folders) as folder:
                _undo(folder, change, place)
        for _, place in self._changes:
            place.discard(place.new, place.old)
        remove_empty(self._root, reversed(self.made))

    def finish(self) -> None:
        """Remove the old files and the folders that are left empty."""
        for change, place in self._changes:
            place.discard(place.old)
            if change.content is None:
                remove_empty_above(self._root, change.path)


def _write_beside(folder: int, place: FileSlot, content: bytes, unsynced: Unsynced) -> FileStat:
    descriptor = unsynced.create(place.new, content, dir_fd=folder)
    with suppress(FileNotFoundError):
        old = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            _keep_attributes(old, descriptor)
        finally:
            os.close(old)
    return file_stat(os.fstat(descriptor))


def _keep_attributes(old: int, new: int) -> None:
    """Owner, permissions and extended attributes, as far as this user may set them."""
    status = os.fstat(old)
    ours = os.fstat(new)
    if (status.st_uid, status.st_gid) != (ours.st_uid, ours.st_gid):
        with suppress(PermissionError):
            os.fchown(new, status.st_uid, status.st_gid)
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        _keep_extended_attributes(old, new)


def _keep_extended_attributes(old: int, new: int) -> None:
    """Those that the file system has and does not reserve."""
    with suppress(OSError):
        for name in os.listxattr(old):
            with suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))


def _perform(folder: int, change: FileChange, place: FileSlot) -> None:
    if change.before is None:
        _create(folder, change, place)
        return
    _require_unchanged(folder, change, place)
    if change.content is None:
        os.rename(place.name, place.old, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        _keep_old(folder, place)
        os.rename(place.new, place.name, src_dir_fd=folder, dst_dir_fd=folder)


def _create(folder: int, change: FileChange, place: FileSlot) -> None:
    """Give the new file its name without taking that name from a file that appeared meanwhile."""
    try:
        os.link(place.new, place.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise changed_meanwhile(change.shown or change.path, place.revision(place.name)) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _require_unchanged(folder, change, place)
        os.rename(place.new, place.name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(place.new, dir_fd=folder)


def _keep_old(folder: int, place: FileSlot) -> None:
    try:
        os.link(place.name, place.old, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(folder, place.name, place.old)


def _copy(folder: int, source: str, target: str) -> None:
    """What stands for a second name where the file system has no hard links."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as old, Unsynced() as unsynced:
        _keep_attributes(descriptor, unsynced.create(target, old.read(), dir_fd=folder))
        unsynced.sync()


def _require_unchanged(folder: int, change: FileChange, place: FileSlot) -> None:
    try:
        now = file_stat(os.stat(place.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        now = None
    if now != (change.before.stat if change.before else None):
        raise changed_meanwhile(change.shown or change.path, place.revision(place.name))


def _undo(folder: int, change: FileChange, place: FileSlot) -> None:
    """Take back one change if it was made, and if nobody has changed the file since."""
    if place.revision(place.name) != change.step.new:
        return
    if change.before is None:
        os.unlink(place.name, dir_fd=folder)
    else:
        os.rename(place.old, place.name, src_dir_fd=folder, dst_dir_fd=folder)


def missing_folders(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """The folders of these paths that do not exist, outermost first."""
    wanted = {"/".join(parts[:n]) for path in paths for parts in [path.split("/")] for n in range(1, len(parts))}
    return tuple(sorted(folder for folder in wanted if not (root / folder).exists()))


def remove_empty(root: Path, folders: Iterable[str]) -> None:
    """Remove those of these folders (innermost first) that are empty."""
    for path in folders:
        *above, name = path.split("/")
        with suppress(OSError), opened_folder(root, above) as folder:
            os.rmdir(name, dir_fd=folder)


def remove_empty_above(root: Path, path: str) -> None:
    """Remove the folders that a deleted file leaves empty, up to and without the root."""
    parts = path.split("/")[:-1]
    remove_empty(root, ("/".join(parts[:n]) for n in range(len(parts), 0, -1)))


def changed_meanwhile(path: str, revision: Revision | None) -> ConflictError:
    """The error for a file that is no longer the one that the writer saw."""
    return ConflictError(
        f"{path} was changed by another program while it was being written.",
        kind="document",
        hint="Read it again, apply the change to what it says now, and retry.",
        path=path,
        current_revision=revision or "",
    )


@contextmanager
def storage_errors(doing: str) -> Generator[None]:
    """Tell what the file system refuses in the block, in which nothing was changed, as a `StorageError`."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing) from error


def storage_error(error: OSError, doing: str) -> StorageError:
    """The error for callers when the file system refuses."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return StorageError(
        f"The disk refused {doing}: {error.strerror or 'unknown reason'}. Nothing was changed.",
        kind="collection",
        hint="Free some space and try again." if full else "Check the folder's permissions and its disk.",
        errno=error.errno or 0,
    )
