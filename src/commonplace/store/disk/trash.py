"""The trash: bytes of deleted or replaced files that no commit contains, retained for `RETENTION_DAYS`.

`<state folder>/trash/<key of the folder>/<revision>-<key of the path>` is one item: a line of JSON with its metadata,
then the bytes. Equal bytes of the same path are one item, with the later date.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Loss, TrashItem
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced, sync_folders

RETENTION_DAYS = 30
"""Retention of an item in days."""
MAX_TRASH_BYTES = 1 << 30
"""Maximum size of one folder's items in bytes. The oldest are deleted first; the newest is retained regardless of size.
"""
_SECONDS = RETENTION_DAYS * 86_400
_PRUNE_EVERY = 3_600.0
"""Minimum interval in seconds between two searches for expired items, per process."""
_NAME = re.compile(r"([0-9a-f]{40})-[0-9a-f]{16}")
_MAX_HEADER = 64 * 1024
"""Maximum length of an item's first line in bytes."""


class FolderTrash:
    """The items of one folder. Reading is always safe; `put` needs the folder's writer lock."""

    def __init__(self, base: Path, key: str, max_bytes: int = MAX_TRASH_BYTES) -> None:
        """Open the trash of a folder. No file is created before the first `put`.

        Args:
            base: Folder with the trash of every folder.
            key: Name of the folder's trash.
            max_bytes: Maximum size of all items together.
        """
        self._base = base
        self._folder = base / key
        self._max_bytes = max_bytes
        self._pruned = -_PRUNE_EVERY
        self._bytes = 0
        """Size in bytes of the items that this process has seen; a lower bound."""

    def put(self, losses: Sequence[tuple[str, Loss, bytes]]) -> list[TrashItem]:
        """Store files: path, loss, and bytes of each. They are durable on return.

        Raises:
            OSError: the files cannot be stored; partial files are removed.
        """
        self._make()
        now = time.time()
        beside = [self._folder / f".new-{secrets.token_hex(8)}" for _ in losses]
        try:
            with Unsynced() as unsynced:
                for place, (path, loss, content) in zip(beside, losses, strict=True):
                    unsynced.create(place, _header(path, loss, now) + content, mode=0o600)
                unsynced.sync()
            items = [self._place(one, now, *lost) for one, lost in zip(beside, losses, strict=True)]
            sync_folders([self._folder])
        except OSError:
            for place in beside:
                with suppress(OSError):
                    place.unlink(missing_ok=True)
            raise
        self._bytes += sum(item.size for item in items)
        self._prune(frozenset(item.name for item in items))
        return items

    def items(self) -> list[TrashItem]:
        """All unexpired items, newest first, then by path."""
        self._prune(frozenset())
        oldest = time.time() - _SECONDS
        found = [item for file, status in _files(self._folder) if status.st_mtime >= oldest and (item := _read(file))]
        return sorted(found, key=lambda item: (-item.when, item.address))

    def content(self, item: TrashItem) -> bytes:
        """The bytes of an item.

        Raises:
            NotFoundError: the item no longer exists.
            StorageError: the item cannot be read, or its bytes do not match its revision.
        """
        try:
            with _open_item(self._folder / item.name) as file:
                file.readline(_MAX_HEADER)
                content = file.read()
        except FileNotFoundError as error:
            raise NotFoundError(
                f"{item.address} is no longer in the trash.",
                kind="trash",
                hint="List what is there: commonplace restore.",
            ) from error
        except OSError as error:
            raise _damaged(item.address.path, error.strerror or "unknown reason") from error
        if revision_of(content) != item.revision:
            raise _damaged(item.address.path, "its bytes are damaged")
        return content

    def discard(self, item: TrashItem) -> None:
        """Remove an item. Does nothing if the item does not exist."""
        with suppress(OSError):
            (self._folder / item.name).unlink(missing_ok=True)

    def _make(self) -> None:
        """Create the folders. Only this user can access them, because deleted text may be private."""
        self._base.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self._base, self._folder):
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                sync_folders([folder.parent])
            if stat.S_IMODE(folder.lstat().st_mode) & 0o077:
                folder.chmod(0o700)

    def _place(self, beside: Path, when: float, path: str, loss: Loss, content: bytes) -> TrashItem:
        revision = revision_of(content)
        file = self._folder / f"{revision}-{sha256(os.fsencode(path)).hexdigest()[:16]}"
        beside.replace(file)
        return TrashItem(Address(path), revision, len(content), when, int(when + _SECONDS), loss, file.name)

    def _prune(self, new: frozenset[str]) -> None:
        """Remove expired items of every folder, and the oldest of this one above the maximum size; never `new`."""
        due = time.monotonic() - self._pruned >= _PRUNE_EVERY
        if not due and self._bytes <= self._max_bytes:
            return
        oldest = time.time() - _SECONDS
        for folder in _folders(self._base) if due else ():
            for file, status in _files(folder):
                if status.st_mtime < oldest and file.name not in new:
                    _remove(file)
        left = sorted(_files(self._folder), key=lambda one: one[1].st_mtime_ns, reverse=True)
        kept = 0
        for number, (file, status) in enumerate(left):
            kept += status.st_size
            if kept > self._max_bytes and number and file.name not in new:
                kept -= status.st_size
                _remove(file)
        self._bytes, self._pruned = kept, time.monotonic() if due else self._pruned


class SubfolderTrash:
    """The trash of a part of a folder: `domain.ports.Trash`."""

    def __init__(self, trash: FolderTrash, prefix: str) -> None:
        """Create a view of a part.

        Args:
            trash: Trash of the whole folder.
            prefix: Prefix of the part's paths: "" or a path with a trailing slash.
        """
        self._trash = trash
        self._prefix = prefix

    def items(self) -> list[TrashItem]:
        """All items, newest first, then by address."""
        inside = (item for item in self._trash.items() if item.address.path.startswith(self._prefix))
        return [replace(item, address=Address(item.address.path[len(self._prefix) :])) for item in inside]

    def content(self, item: TrashItem) -> bytes:
        """The bytes of an item."""
        return self._trash.content(item)

    def discard(self, item: TrashItem) -> None:
        """Remove an item. Does nothing if the item does not exist."""
        self._trash.discard(item)


def _header(path: str, loss: Loss, when: float) -> bytes:
    return json.dumps({"path": path, "loss": loss, "when": when}).encode() + b"\n"


def _read(file: Path) -> TrashItem | None:
    """Parse a file of the trash; None if it is not an item."""
    name = _NAME.fullmatch(file.name)
    if name is None:
        return None
    try:
        with _open_item(file) as opened:
            line = opened.readline(_MAX_HEADER)
            size = os.fstat(opened.fileno()).st_size - len(line)
        said = json.loads(line)
        path, loss, when = said["path"], said["loss"], said["when"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(path, str) or loss not in {"deleted", "replaced"} or not isinstance(when, float):
        return None
    try:
        return TrashItem(parse_address(path), name[1], size, when, int(when + _SECONDS), loss, file.name)
    except InvalidInputError:
        return None


def _open_item(file: Path) -> BinaryIO:
    return os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The regular files of a folder with their metadata; none if the folder is missing."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are enough
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            status = (folder / name).lstat()
            if stat.S_ISREG(status.st_mode):
                yield folder / name, status


def _folders(base: Path) -> list[Path]:
    try:
        return [one for one in base.iterdir() if one.is_dir() and not one.is_symlink()]
    except OSError:
        return []


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)


def _damaged(path: str, reason: str) -> StorageError:
    return StorageError(
        f"{path} cannot be read from the trash: {reason}.", kind="trash", hint="Check the disk of the state folder."
    )
