"""The scan of a folder: every servable Markdown file with its size and times, and the reasons for skipped files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address, is_document_path, parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.store.disk.folder import Folder, file_stat, is_foreign, opened_folder
from commonplace.store.disk.ignore_rules import IgnoreRules
from commonplace.store.names import printable

# Names that `parse_address` certainly accepts, so that only unusual names take the slow path.
_PLAIN_NAME = re.compile(
    r"[A-Za-z0-9_(\[{+,=@#!$%&'-](?:[A-Za-z0-9_ .()\[\]{}+,=@#!$%&'-]{0,200}[A-Za-z0-9_()\[\]{}-])?"
)
_PLAIN_FOLDER_BYTES = 800
_LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FolderScan:
    """One scan of a folder. `skipped` is complete when the iteration has ended."""

    folder: Folder
    rules: IgnoreRules
    """Rules of the ignored files, which are skipped without a reason."""
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
        known = len(pending)
        found = self._documents(f"{path}/" if path else "", listing, pending)
        rules = self.rules.at(path.split("/") if path else [])
        if rules.nothing:
            yield from found
            return
        yield from (one for one in found if not rules.hide(one[0].path.split("/"), is_folder=False))
        pending[known:] = [folder for folder in pending[known:] if not rules.hide(folder.split("/"), is_folder=True)]

    def _documents(
        self, prefix: str, listing: Iterable[os.DirEntry[str]], pending: list[str]
    ) -> Iterator[tuple[Address, FileStat]]:
        plain = prefix.isascii() and len(prefix) < _PLAIN_FOLDER_BYTES
        for entry in listing:
            name = entry.name
            if name[0] == ".":
                continue
            status = _document_status(entry)
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
