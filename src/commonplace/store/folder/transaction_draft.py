"""The draft of a transaction: reads and changes before anything is written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat, Receipt, RetainedCopy
from commonplace.domain.errors import InvalidInputError, ReadOnlyError
from commonplace.domain.revisions import is_pointer, revision_of
from commonplace.store.disk.file_swap import FileChange, SeenFile, changed_meanwhile
from commonplace.store.disk.folder import Folder, opened_folder
from commonplace.store.names import missing_file, require_moved

_IN_THE_WAY = {errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.EINVAL}
"""Errors caused by the path; all others are errors of the disk."""


class TransactionDraft:
    """Reads and changes of one transaction (`domain.ports.Transaction`), in memory until it is applied.

    Args:
        folder: The files.
        before_use: Called with an address before the transaction depends on its content.
        hides: Whether a file is ignored.
    """

    def __init__(self, folder: Folder, before_use: Callable[[Address], None], hides: Callable[[Address], bool]) -> None:
        self._folder = folder
        self._hides = hides
        self._before_use = before_use
        self._receipt: Receipt | None = None
        self._seen: dict[Address, SeenFile] = {}
        self._changes: dict[Address, bytes | None] = {}
        self._keep: set[Address] = set()
        self._moved_from: dict[Address, Address] = {}

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of this transaction."""
        if address not in self._changes:
            self._before_use(address)
            return self._load(address)
        content = self._changes[address]
        if content is None:
            raise missing_file(address)
        return content

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of this transaction."""
        if address in self._changes:
            return self._changes[address] is not None
        self._before_use(address)
        return self._folder.stat(address) is not None

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hides(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file; with `keep`, retain the old bytes. A moved file keeps its permissions.

        Raises:
            InvalidInputError: the path exists and is not a regular file, or the moved file is ignored.
        """
        self._before_use(address)
        _require_writable(self._folder, address)
        self._change(address, content, keep=keep)
        if moved_from is not None:
            require_moved(moved_from, self._hides)
            self._moved_from[address] = moved_from

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file; retain its bytes unless `keep` is false."""
        if not self.exists(address):
            raise missing_file(address)
        _require_writable(self._folder, address)
        self._change(address, None, keep=keep)

    def retain(self, address: Address) -> None:
        """Retain the old bytes of a file that this transaction changes."""
        self._keep.add(address)

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        if self._receipt is None:
            raise RuntimeError("a transaction has no receipt before its block has ended without an error")
        return self._receipt

    def changes(self, prefix: str, *, keep: bool = False) -> list[FileChange]:
        """The changes, without those that change nothing.

        Args:
            prefix: Prefix of each path.
            keep: Whether to retain the old bytes of every replaced file.

        Raises:
            ConflictError: another program has changed a file since this transaction read it.
            ReadOnlyError: text would overwrite a Git LFS pointer, whose real content is not here.
        """
        changes: list[FileChange] = []
        for address, content in self._changes.items():
            before = self._before(address, content)
            if content is None and before is None:
                continue
            if content is None or before is None or revision_of(content) != before.revision:
                kept = address in self._keep or (keep and content is not None)
                source = self._moved_from.get(address)
                moved_from = f"{prefix}{source.path}" if source else ""
                changes.append(FileChange(f"{prefix}{address.path}", before, content, address.path, kept, moved_from))
        return changes

    def acknowledge(self, commit: str, kept: Mapping[str, RetainedCopy]) -> None:
        """Set the receipt of a durable transaction.

        Args:
            commit: The commit; "" for none.
            kept: Copies of the old bytes, by shown path.
        """
        items = self._changes.items()
        self._receipt = Receipt(
            commit,
            {address: revision_of(content) for address, content in items if content is not None},
            tuple(address for address, content in items if content is None),
            {Address(path): where for path, where in kept.items()},
        )

    def _change(self, address: Address, content: bytes | None, *, keep: bool) -> None:
        self._changes[address] = content
        if keep:
            self._keep.add(address)

    def _before(self, address: Address, content: bytes | None) -> SeenFile | None:
        now = self._folder.stat(address)
        seen = self._seen.get(address)
        if seen is not None and now != seen.stat:
            raise changed_meanwhile(address.path, revision_of(self._folder.read(address)) if now else "")
        if now is None:
            return None
        there = self._load(address)
        if content is not None and is_pointer(there) and not is_pointer(content):
            raise _pointer(address)
        return self._seen[address]

    def _load(self, address: Address) -> bytes:
        status, content = self._folder.load(address)
        first: FileStat = self._seen.setdefault(address, SeenFile(status, revision_of(content))).stat
        if first != status:
            raise changed_meanwhile(address.path, revision_of(content))
        return content


def _require_writable(folder: Folder, address: Address) -> None:
    """Reject paths that are not regular files. Writing through a link would change another address."""
    *folders, name = address.path.split("/")
    try:
        with opened_folder(folder.path, folders) as descriptor:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
        raise InvalidInputError(
            f"{address} cannot be written: {error.strerror} on the way to it.",
            kind="path",
            hint="Choose a path whose folders are folders of the collection.",
        ) from error
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "not a regular file"
        raise InvalidInputError(
            f"{address} is {what} and is never written.", kind="path", hint="Write to another path."
        )


def _pointer(address: Address) -> ReadOnlyError:
    return ReadOnlyError(
        f"{address} cannot be written: it is a pointer of Git LFS, and its text is not here.",
        kind="document",
        hint="Run git lfs pull, and read it first.",
        path=address.path,
    )
