"""Replaces several files in one step: first new files are written beside the old ones, then all are renamed.

The n-th file of a transaction has two hidden names beside it: `.commonplace-<token>-<n>.new` has the new bytes until
they are renamed into place; `.old` has the old file until the transaction ends. Rollback renames back, which needs no
space on the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.domain.changes import FileStat, Revision
from commonplace.domain.errors import ConflictError, StorageError
from commonplace.domain.private_files import user_modes
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.folder import file_stat, opened_folder
from commonplace.store.disk.journal import JournalStep

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Errors of file systems without hard links."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as read by the writer."""

    stat: FileStat
    revision: Revision


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file; its path is relative to the root."""

    path: str
    before: SeenFile | None
    """None if the file does not exist yet."""
    content: bytes | None
    """None to delete the file."""
    shown: str = ""
    """Name of the file in errors; "" for its path."""
    keep: bool = False
    """Whether to retain the old bytes."""
    moved_from: str = ""
    """Path of the file whose permissions and attributes a new file takes over; "" for none."""
    unnamed: bool = False
    """Whether the caller did not name the file."""
    partial: bool = False
    """Whether only this change of the file is committed, and the file has more."""

    @property
    def step(self) -> JournalStep:
        """The change as recorded in the journal."""
        return JournalStep(
            self.path,
            self.before.revision if self.before else "",
            "" if self.content is None else revision_of(self.content),
        )


class FileSlot:
    """One file of a transaction with its two temporary names, accessed without following links."""

    def __init__(self, root: Path, token: str, number: int, path: str) -> None:
        self._root = root
        *self.folders, self.name = path.split("/")
        self.new = f".commonplace-{token}-{number}.new"
        self.old = f".commonplace-{token}-{number}.old"

    @property
    def folder(self) -> Path:
        """The folder of the three names."""
        return self._root.joinpath(*self.folders)

    def revision(self, name: str) -> Revision | None:
        """Revision of the regular file with one of the three names; "" if there is none, None if it is not regular."""
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
        """Rename a file."""
        with opened_folder(self._root, self.folders) as folder:
            os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)

    def discard(self, *names: str) -> None:
        """Delete the files with these names. Missing ones are skipped."""
        with suppress(FileNotFoundError, NotADirectoryError), opened_folder(self._root, self.folders) as folder:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)


class FileSwap:
    """The file changes of one transaction: `prepare`, fsync, `perform`, and then `finish` or `undo`."""

    def __init__(self, root: Path, token: str, changes: Sequence[FileChange]) -> None:
        self._root = root
        self._changes = [(change, FileSlot(root, token, n, change.path)) for n, change in enumerate(changes)]
        self._performed: list[tuple[FileChange, FileSlot]] = []
        self.written: dict[str, FileStat] = {}
        """Metadata of the new files after they were written, by path; not of those that differ from their commit."""
        self.made = missing_folders(root, [change.path for change in changes if change.content is not None])
        """Folders to create, outermost first."""

    @property
    def folders(self) -> list[Path]:
        """Every folder in which names change, in the order of the changes."""
        return [(self._root / made).parent for made in self.made] + [place.folder for _, place in self._changes]

    def prepare(self, unsynced: Unsynced) -> None:
        """Create folders and write the new bytes beside the old files. After an error, call `undo`."""
        for path in self.made:
            *above, name = path.split("/")
            with opened_folder(self._root, above) as folder, suppress(FileExistsError), user_modes():
                os.mkdir(name, dir_fd=folder)
        seen = {change.path: change.before for change, _ in self._changes if change.before}
        for change, place in self._changes:
            content = change.content
            if content is not None:
                with opened_folder(self._root, place.folders) as folder:
                    written = _write_beside(folder, place, content, unsynced)
                if change.before is None and change.moved_from:
                    moved = seen.get(change.moved_from)
                    is_same = moved is not None and moved.revision == revision_of(content)
                    written = self._with_attributes(change.moved_from, place, dated=is_same)
                if not change.partial:
                    self.written[change.path] = written

    def _with_attributes(self, source: str, place: FileSlot, *, dated: bool) -> FileStat:
        """Give the new bytes of a file the attributes of another one, its time if `dated`; returns their metadata."""
        *above, name = source.split("/")
        with opened_folder(self._root, place.folders) as folder, opened_folder(self._root, above) as old_folder:
            new = os.open(place.new, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                _take_attributes(name, old_folder, new)
                if dated:
                    with suppress(FileNotFoundError):
                        old = os.stat(name, dir_fd=old_folder, follow_symlinks=False)
                        os.utime(new, ns=(old.st_atime_ns, old.st_mtime_ns))
                return file_stat(os.fstat(new))
            finally:
                os.close(new)

    def perform(self) -> None:
        """Change the names, after a check that each file is the one that the writer saw.

        Raises:
            ConflictError: another program has changed one of the files.
        """
        for change, place in self._changes:
            self._performed.append((change, place))
            with opened_folder(self._root, place.folders) as folder:
                _perform(folder, change, place)

    def undo(self) -> None:
        """Roll back, also after an incomplete `prepare` or `perform`."""
        for change, place in reversed(self._performed):
            with opened_folder(self._root, place.folders) as folder:
                _undo(folder, change, place)
        for _, place in self._changes:
            place.discard(place.new, place.old)
        remove_empty(self._root, reversed(self.made))

    def finish(self) -> None:
        """Remove the old files and the folders that became empty."""
        for change, place in self._changes:
            place.discard(place.old)
            if change.content is None:
                remove_empty_above(self._root, change.path)


def _write_beside(folder: int, place: FileSlot, content: bytes, unsynced: Unsynced) -> FileStat:
    descriptor = unsynced.create(place.new, content, dir_fd=folder)
    _take_attributes(place.name, folder, descriptor)
    return file_stat(os.fstat(descriptor))


def _take_attributes(name: str, folder: int, new: int) -> None:
    """Give a new file the attributes of an existing one, if that is there."""
    with suppress(FileNotFoundError):
        old = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            _keep_attributes(old, new)
        finally:
            os.close(old)


def _keep_attributes(old: int, new: int) -> None:
    """Copy owner, permissions and extended attributes, if this user may set them."""
    status = os.fstat(old)
    ours = os.fstat(new)
    if (status.st_uid, status.st_gid) != (ours.st_uid, ours.st_gid):
        with suppress(PermissionError):
            os.fchown(new, status.st_uid, status.st_gid)
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        _keep_extended_attributes(old, new)


def _keep_extended_attributes(old: int, new: int) -> None:
    """Copy the extended attributes that the file system allows."""
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
    _require_unwritten(folder, change, place)


def _require_unwritten(folder: int, change: FileChange, place: FileSlot) -> None:
    """Reject the replacement of a file to which another program has written between the check and the rename.

    Such a program appends without replacing the file, as `>>` does. The rollback brings its text back.
    """
    old = file_stat(os.stat(place.old, dir_fd=folder, follow_symlinks=False))
    seen = change.before.stat if change.before else old
    if old.inode == seen.inode and (old.size, old.mtime_ns) != (seen.size, seen.mtime_ns):
        raise changed_meanwhile(change.shown or change.path, place.revision(place.old))


def _create(folder: int, change: FileChange, place: FileSlot) -> None:
    """Link the new file to its name, which fails if a file with that name has appeared."""
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
    """Replacement for a hard link on file systems without them."""
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
    """Roll back one change, if it was made and the file has not been changed since."""
    if place.revision(place.name) != change.step.new:
        return
    if change.before is None:
        os.unlink(place.name, dir_fd=folder)
    else:
        os.rename(place.old, place.name, src_dir_fd=folder, dst_dir_fd=folder)


def seen_again(root: Path, change: FileChange) -> FileChange:
    """The change with the current metadata of its file, to be applied again after a rollback changed the file's times.

    If the file's bytes differ from those that the writer saw, the change is returned as it is, and causes a conflict.
    """
    if change.before is None:
        return change
    *folders, name = change.path.split("/")
    try:
        with opened_folder(root, folders) as folder:
            now = file_stat(os.stat(name, dir_fd=folder, follow_symlinks=False))
        same = FileSlot(root, "", 0, change.path).revision(name) == change.before.revision
    except OSError:
        return change
    return replace(change, before=SeenFile(now, change.before.revision)) if same else change


def missing_folders(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """The missing folders of these paths, outermost first."""
    wanted_texts = {"/".join(parts[:n]) for path in paths for parts in [path.split("/")] for n in range(1, len(parts))}
    return tuple(sorted(folder for folder in wanted_texts if not (root / folder).exists()))


def remove_empty(root: Path, folders: Iterable[str]) -> None:
    """Remove those of these folders that are empty. The folders are given innermost first."""
    for path in folders:
        *above, name = path.split("/")
        with suppress(OSError), opened_folder(root, above) as folder:
            os.rmdir(name, dir_fd=folder)


def remove_empty_above(root: Path, path: str) -> None:
    """Remove the folders that a deleted file leaves empty, up to but excluding the root."""
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


def is_missing(path: Path) -> bool:
    """Whether no file has this name. Unlike `not os.path.lexists`, an error of the disk is raised.

    Raises:
        OSError: the file cannot be looked up.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False


@contextmanager
def storage_errors(doing: str) -> Generator[None]:
    """Convert an OSError of the block to a `StorageError`. The block must not change any file."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing) from error


def storage_error(error: OSError, doing: str) -> StorageError:
    """The error for callers if a file system operation fails."""
    hint, refuser = "Check the folder's permissions and its disk.", "The disk"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        hint = "Free some space and try again."
    elif isinstance(error, PermissionError):
        hint = (
            "Check the permissions of the folder and its .git: commonplace doctor names what this user may not write."
        )
        refuser = "The system"
    return StorageError(
        f"{refuser} refused {doing}: {error.strerror or 'unknown reason'}. Nothing was changed.",
        kind="collection",
        hint=hint,
        errno=error.errno or 0,
    )
