"""Reads one folder so that nothing outside of it can be served.

Every path is opened part by part from the folder's own descriptor, without following links, so that replacing a parent
by a link between a check and an open has no effect. A link to a file is resolved by reading it and opening its target
from the top again, so that it can only lead to a servable file inside the folder.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, address_or_none, is_document_path, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.store.disk.durable import close_descriptor
from commonplace.store.disk.ignore_rules import RulesNow
from commonplace.store.names import missing_file, printable

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_ROOT = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# O_NONBLOCK: opening a FIFO must not wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.EINVAL}
_PIECE = 1_000_000
MAX_LINKS = 8
"""Maximum number of chained links; a longer chain is treated as a loop."""


@contextmanager
def opened_folder(root: Path, parts: Sequence[str]) -> Generator[int]:
    """A descriptor of a folder below `root`, for use with `dir_fd`. No part of the path may be a link.

    Raises:
        OSError: there is no such folder, or it cannot be searched.
    """
    descriptor = os.open(root, _ROOT)
    try:
        for part in parts:
            below = os.open(part, _DIRECTORY, dir_fd=descriptor)
            close_descriptor(descriptor)
            descriptor = below
        yield descriptor
    finally:
        close_descriptor(descriptor)


@contextmanager
def opened_below(above: int, name: str) -> Generator[int]:
    """A descriptor of a folder in an open folder, for use with `dir_fd`. The name must not be that of a link.

    Raises:
        OSError: there is no such folder, or it cannot be searched.
    """
    descriptor = os.open(name, _DIRECTORY, dir_fd=above)
    try:
        yield descriptor
    finally:
        close_descriptor(descriptor)


class _FolderDescriptors:
    """Open descriptors of a path's folders; the next path reuses the common ones."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _ROOT)
        self._way: list[tuple[str, int]] = []

    def to(self, parts: Sequence[str]) -> int:
        """A descriptor of a folder, valid until the next call. Raises OSError as `opened_folder` does."""
        shared = 0
        while shared < min(len(parts), len(self._way)) and self._way[shared][0] == parts[shared]:
            shared += 1
        self._up_to(shared)
        for part in parts[shared:]:
            above = self._way[-1][1] if self._way else self._root
            self._way.append((part, os.open(part, _DIRECTORY, dir_fd=above)))
        return self._way[-1][1] if self._way else self._root

    def close(self) -> None:
        """Close all descriptors."""
        self._up_to(0)
        close_descriptor(self._root)

    def _up_to(self, kept_number: int) -> None:
        while len(self._way) > kept_number:
            close_descriptor(self._way.pop()[1])


def file_stat(status: os.stat_result) -> FileStat:
    """The metadata that shows whether a file has changed."""
    return FileStat(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def is_foreign(status: os.stat_result, root: Path) -> bool:
    """Whether a file has another hard link and does not have the folder's owner and device.

    Such a link exposes a file of another user. Links between files of one user cannot be distinguished.

    Args:
        status: Metadata of the file.
        root: The served folder.
    """
    if status.st_nlink < 2:  # noqa: PLR2004 - one name, or none if it was deleted
        return False
    folder = root.stat()
    return (status.st_uid, status.st_dev) != (folder.st_uid, folder.st_dev)


class Folder:
    """The regular files below one folder, by address."""

    def __init__(self, path: Path) -> None:
        self.path = path
        """Real and absolute path. The folder is opened for every call, so that a replaced folder is detected."""

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of the regular file at an address; None if there is none that may be served.

        Raises:
            StorageError: the file's metadata cannot be read.
        """
        try:
            return file_stat(self._status(address))
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise _unreadable(address, error) from error

    def read(self, address: Address) -> bytes:
        """The bytes at an address.

        Raises:
            NotFoundError: no such file, or it may not be served.
            StorageError: the file cannot be read.
        """
        return self.load(address)[1]

    def load(self, address: Address) -> tuple[FileStat, bytes]:
        """Metadata and bytes of one file, from the same open file. Raises the same errors as `read`."""
        try:
            try:
                return _load(self.path, address)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
            return _load(self.path, self.resolve(address))  # the file is a link
        except OSError as error:
            if error.errno in _ABSENT:
                raise missing_file(address) from error
            raise _unreadable(address, error) from error

    @contextmanager
    def reading(self) -> Generator[Callable[[Address], bytes]]:
        """A context with a function like `read`, at half the cost for files in the same folders.

        The folders remain open. If a folder is replaced meanwhile, only the next context sees the new one.
        """
        try:
            descent = _FolderDescriptors(self.path)
        except OSError:  # the folder is missing; each read raises the error
            yield self.read
            return

        def read(address: Address) -> bytes:
            *folders, name = address.path.split("/")
            try:
                return _content(os.open(name, _FILE, dir_fd=descent.to(folders)), self.path)[1]
            except OSError:
                return self.read(address)  # a link, or an error that `read` explains

        try:
            yield read
        finally:
            descent.close()

    def files(self, folder: str) -> list[tuple[Address, FileStat]]:
        """Regular files directly in a folder, except hidden files and links; empty if the folder is missing."""
        return [
            (address, file_stat(status))
            for address, status in self._servable_in(folder)
            if stat.S_ISREG(status.st_mode) and not is_foreign(status, self.path)
        ]

    def folders(self, folder: str) -> list[str]:
        """Paths of the folders directly in a folder, except hidden ones and links."""
        return [
            address.path
            for address, status in self._servable_in(folder)
            if stat.S_ISDIR(status.st_mode) and address.name not in SKIPPED_FOLDERS
        ]

    def _servable_in(self, folder: str) -> list[tuple[Address, os.stat_result]]:
        """Entries directly in a folder with servable names; links are not followed."""
        servables: list[tuple[Address, os.stat_result]] = []
        try:
            # An O_PATH descriptor cannot be listed, so the folder is opened again.
            with opened_folder(self.path, folder.split("/") if folder else ()) as descriptor:
                listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=descriptor)
        except OSError as error:
            if error.errno in _ABSENT:
                return []
            raise _unreadable(Address(folder), error) from error
        try:
            for name in os.listdir(listed):  # noqa: PTH208 - an open folder has no path
                with suppress(FileNotFoundError):  # the entry may be gone by now
                    status = os.stat(name, dir_fd=listed, follow_symlinks=False)
                    if address := address_or_none(f"{folder}/{name}".removeprefix("/")):
                        servables.append((address, status))
        except OSError as error:
            raise _unreadable(Address(folder), error) from error
        finally:
            close_descriptor(listed)
        return servables

    def resolve(self, address: Address) -> Address:
        """The address itself, or the target of its link, through at most `MAX_LINKS` links.

        Raises:
            OSError: no such file, a link that leaves the folder or leads to a hidden file, or a loop.
        """
        current = address
        for _ in range(MAX_LINKS):
            *folders, name = current.path.split("/")
            with opened_folder(self.path, folders) as descriptor:
                if not stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                    return current
                target = os.readlink(name, dir_fd=descriptor)
            current = self._inside(folders, target)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _status(self, address: Address) -> os.stat_result:
        *folders, name = self.resolve(address).path.split("/")
        with opened_folder(self.path, folders) as descriptor:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or is_foreign(status, self.path):
            raise OSError(errno.EINVAL, "not a regular file of the folder")
        return status

    def _inside(self, folders: Sequence[str], target: str) -> Address:
        """The target of a link in `folders`. Removing `..` textually is exact, because none of `folders` is a link."""
        if target.startswith("/"):
            joined = os.path.relpath(os.path.normpath(target), self.path)
        else:
            joined = os.path.normpath("/".join([*folders, target]))
        try:
            return parse_address(joined)
        except InvalidInputError as error:
            raise OSError(errno.ENOENT, "a link that leaves the folder or leads to a hidden file") from error


class ServedFolder(Folder):
    """The files of a folder, without those that ignore files exclude.

    Args:
        path: As for `Folder`.
        hides: Whether a file is ignored.
    """

    def __init__(self, path: Path, hides: Callable[[Address], bool]) -> None:
        super().__init__(path)
        self._hides = hides

    def stat(self, address: Address) -> FileStat | None:
        """Size and times of a regular file; None if there is none, or it is ignored."""
        return None if self._hides(address) else super().stat(address)

    def load(self, address: Address) -> tuple[FileStat, bytes]:
        """Metadata and bytes of one file. An ignored one is missing."""
        if self._hides(address):
            raise missing_file(address)
        return super().load(address)


def _load(root: Path, address: Address) -> tuple[FileStat, bytes]:
    *folders, name = address.path.split("/")
    with opened_folder(root, folders) as descriptor:
        file = os.open(name, _FILE, dir_fd=descriptor)
    return _content(file, root)


def _content(file: int, root: Path) -> tuple[FileStat, bytes]:
    """Metadata and bytes of an open file, which is closed afterwards."""
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or is_foreign(status, root):
            raise OSError(errno.EINVAL, "not a regular file of the folder")
        content = os.read(file, status.st_size + 1)
        if len(content) != status.st_size:  # the file grew or shrank meanwhile, or the read was partial
            content = b"".join([content, *iter(lambda: os.read(file, _PIECE), b"")])
        return file_stat(status), content
    finally:
        close_descriptor(file)


def _unreadable(address: Address, error: OSError) -> StorageError:
    return StorageError(
        f"{address} cannot be read: {error.strerror}.",
        kind="document",
        hint="Check the file's permissions and its disk.",
        path=address.path,
    )


# The scan of a folder: every servable Markdown file with its size and times, and the reasons for skipped files.


# Names that `parse_address` certainly accepts, so that only unusual names take the slow path.
_PLAIN_NAME = re.compile(
    r"[A-Za-z0-9_(\[{+,=@#!$%&'-](?:[A-Za-z0-9_ .()\[\]{}+,=@#!$%&'-]{0,200}[A-Za-z0-9_()\[\]{}-])?"
)
_PLAIN_FOLDER_BYTES = 800
_REGULAR = os.stat_result((stat.S_IFREG, *(0,) * 9))
"""Stands for the metadata of a regular file that is not asked for."""
_LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FolderScan:
    """One scan of a folder. `skipped` is complete when the iteration has ended."""

    folder: Folder
    rules: RulesNow
    """Rules of the ignored files, which are skipped without a reason."""
    names_only: bool = False
    """Whether regular files have metadata of zeros. Each file's own would be a system call, after which another thread
    of the interpreter may have its turn."""
    skipped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Relative path and reason of each skipped document and of each skipped folder that may contain documents."""

    def __iter__(self) -> Iterator[tuple[Address, FileStat]]:
        """Every servable Markdown file, in no particular order.

        Raises:
            StorageError: the folder itself cannot be listed.
        """
        pending = [""]
        while pending:
            path = pending.pop()
            try:
                descriptor = _opened_listing(self.folder, path)
            except OSError as error:
                if not path:
                    raise _unlistable(error) from error
                self._skip(path, f"cannot be listed: {error.strerror}")
                continue
            try:  # `DirEntry.stat` uses the descriptor, so it stays open for the whole folder
                with os.scandir(descriptor) as listing:
                    yield from self._served(path, listing, pending)
            except OSError as error:  # a partial listing is an error, because missing files would count as deleted
                raise _unlistable(error) from error
            finally:
                with suppress(OSError):
                    os.close(descriptor)

    def _served(
        self, path: str, listing: Iterable[os.DirEntry[str]], pending: list[str]
    ) -> Iterator[tuple[Address, FileStat]]:
        """The documents of one folder that are not ignored; its subfolders are added to `pending`."""
        count = len(pending)
        documents = self._documents(f"{path}/" if path else "", listing, pending)
        rules = self.rules.at(path)
        if rules.nothing:
            yield from documents
            return
        begun = len(path) + 1 if path else 0
        yield from (document for document in documents if not rules.hide(document[0].path[begun:], is_folder=False))
        pending[count:] = [folder for folder in pending[count:] if not rules.hide(folder[begun:], is_folder=True)]

    def _documents(
        self, prefix: str, listing: Iterable[os.DirEntry[str]], pending: list[str]
    ) -> Iterator[tuple[Address, FileStat]]:
        plain = prefix.isascii() and len(prefix) < _PLAIN_FOLDER_BYTES
        for entry in listing:
            name = entry.name
            if name[0] == ".":
                continue
            status = self._status(entry)
            if status is None:
                self._consider_folder(prefix + name, entry, pending)
                continue
            path = prefix + name
            address = Address(path) if plain and _PLAIN_NAME.fullmatch(name) else self._parsed(path)
            if address is None:
                continue
            if stat.S_ISREG(status.st_mode) and not is_foreign(status, self.folder.path):
                yield address, file_stat(status)
            else:
                yield from self._unusual(address, status)

    def _status(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """The result of `_document_status`, or what stands for it if the name of a file is enough."""
        if self.names_only and is_document_path(entry.name) and entry.is_file(follow_symlinks=False):
            return _REGULAR
        return _document_status(entry)

    def _consider_folder(self, path: str, entry: os.DirEntry[str], pending: list[str]) -> None:
        """Add a real folder to `pending`. A link to a folder is reported, because its files are elsewhere."""
        if entry.name in SKIPPED_FOLDERS:
            return
        if entry.is_dir(follow_symlinks=False):
            if self._parsed(path):
                pending.append(path)
        elif entry.is_symlink() and entry.is_dir():
            self._skip(path, "a link to a folder; such links are not followed")

    def _unusual(self, address: Address, status: os.stat_result) -> Iterator[tuple[Address, FileStat]]:
        """Handle a document name that is not a regular file: a link inside the folder is served, others are skipped."""
        target = self._target(address) if stat.S_ISLNK(status.st_mode) else None
        if target is not None:
            yield address, target
        elif stat.S_ISLNK(status.st_mode):
            self._skip(address.path, "a link that leads to no servable file inside the folder")
        elif stat.S_ISREG(status.st_mode):
            self._skip(address.path, "a hard link to a file of another user or device")
        else:
            self._skip(address.path, "not a regular file")

    def _target(self, address: Address) -> FileStat | None:
        """Metadata of a link's target; None if there is none or it cannot be read."""
        try:
            return self.folder.stat(address)
        except StorageError:
            return None

    def _parsed(self, path: str) -> Address | None:
        try:
            return parse_address(path)
        except InvalidInputError as error:
            self._skip(path, str(error).rpartition(": ")[2].removesuffix("."))
            return None

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append((printable(path), reason))


def _document_status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Metadata of an entry that looks like a document; None for others, for folders, and if it has vanished."""
    if not is_document_path(entry.name) or entry.is_dir(follow_symlinks=False):
        return None
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _opened_listing(folder: Folder, path: str) -> int:
    """A readable descriptor of a folder, opened without following links."""
    if not path:
        return os.open(folder.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    *above, name = path.split("/")
    with opened_folder(folder.path, above) as descriptor:
        return os.open(name, _LISTING, dir_fd=descriptor)


def _unlistable(error: OSError) -> StorageError:
    return StorageError(
        f"The collection's folder cannot be listed: {error.strerror}.",
        kind="collection",
        hint="Check that the folder exists and may be read.",
    )
