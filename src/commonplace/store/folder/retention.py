"""Retention of the bytes that a write deletes or replaces, unless a commit contains them, and the trash for them.

The trash retains them for 30 days. In a Git repository they also become an unreferenced blob: `git cat-file blob ID`
prints it until Git prunes it, after two weeks by default and at once with `git gc --prune=now`. Therefore answers name
the copy in the trash. If the trash is not writable, the blob is the only copy, and answers name the blob.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Loss, RetainedCopy, TrashItem, record_retained
from commonplace.domain.errors import GitError, InvalidInputError, KnowledgeError, NotFoundError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.disk.file_swap import FileChange, changed_meanwhile
from commonplace.store.disk.folder import Folder
from commonplace.store.git.objects import NewObjects
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git.worktree import is_ignored, stored_form

_BATCH = 32
"""Number of files that are stored, and in memory, at a time."""
_EMPTY_BLOB = revision_of(b"")
StagedBlob = tuple[str, str]
"""A path in Git's index, and its blob's id."""


class Retention:
    """Retains the old bytes of writes below one root: a work tree, or a folder without Git."""

    def __init__(self, root: Folder, repository: GitRepository | None, trash: FolderTrash) -> None:
        self.trash = trash
        self._root = root
        self._repository = repository

    @contextmanager
    def kept(
        self, changes: Sequence[FileChange], staged: Sequence[StagedBlob] = (), prefix: str = ""
    ) -> Generator[Mapping[str, RetainedCopy]]:
        """Retain the old bytes of a write; yields their locations by shown path. Needs the writer lock.

        If the write fails, the retained bytes of files that are unchanged are removed from the trash.

        Args:
            changes: Changes of files.
            staged: Blobs in Git's index that the commit replaces. A blob that exists nowhere else is retained.
            prefix: Prefix that is removed from the paths of staged blobs in answers.

        Raises:
            ConflictError: another program has changed one of the files.
            StorageError: the bytes cannot be retained; nothing was changed.
        """
        head = self._head()
        copies: dict[str, RetainedCopy] = {}
        items: list[TrashItem] = []
        lost: list[FileChange] = []
        committed = self._committed(head, [change.path for change in changes if change.keep])
        for change in changes:
            if not change.keep or change.before is None:
                continue
            if self._holds(committed[change.path], change):
                copies[_shown(change)] = RetainedCopy(Address(_shown(change)), change.before.revision, "commit", head)
            else:
                lost.append(change)
        with ExitStack() as undo:
            undo.callback(self._discard_unneeded, items)
            # Saved before the files' own bytes, so that the newest copy of a path is the file's last state.
            only_staged = self._save_staged(self._only_staged(head, changes, staged), prefix)
            for start in range(0, len(lost), _BATCH):
                self._save(lost[start : start + _BATCH], copies, items)
            yield copies
            undo.pop_all()
        record_retained([*copies.values(), *only_staged])

    def _discard_unneeded(self, items: Sequence[TrashItem]) -> None:
        """Discard the copies of files whose bytes are unchanged."""
        for item in items:
            if self._is_there(item):
                self.trash.discard(item)

    def _is_there(self, item: TrashItem) -> bool:
        """Whether the file still has the item's bytes. A write that was reported as failed may have succeeded."""
        try:
            return revision_of(self._root.read(item.address)) == item.revision
        except (OSError, KnowledgeError):
            return False

    def _head(self) -> str:
        try:
            return self._repository.head if self._repository else ""
        except KnowledgeError:  # an unreadable repository cannot guarantee the bytes
            return ""

    def _holds(self, committed: str, change: FileChange) -> bool:
        """Whether a committed blob ("" for none) has the old bytes of a change, with line ends as Git stores them."""
        repository = self._repository
        if repository is None or change.before is None or not committed:
            return False
        try:
            same = committed == change.before.revision
            return same or committed == revision_of(stored_form(repository, change.path, self._content(change)))
        except KnowledgeError:
            return False

    def _content(self, change: FileChange) -> bytes:
        """The bytes that the writer saw.

        Raises:
            ConflictError: the file has changed.
        """
        content = self._root.load(Address(change.path))[1]
        if change.before is None or revision_of(content) != change.before.revision:
            raise changed_meanwhile(_shown(change), revision_of(content))
        return content

    def _only_staged(
        self, head: str, changes: Sequence[FileChange], staged: Sequence[StagedBlob]
    ) -> Iterator[StagedBlob]:
        """Staged blobs that are neither in the last commit nor in the file, before or after the write."""
        new = {change.path: change.content for change in changes}
        committed = self._committed(head, [path for path, _ in staged])
        for path, blob in staged:
            repository = self._repository
            if repository is None or blob in {_EMPTY_BLOB, committed[path]} or not repository.has_object(blob):
                continue
            if not committed[path] and is_ignored(repository, path):  # no commit includes it, so its index entry stays
                continue
            if blob not in {self._stored_id(path, new.get(path)), self._stored_id(path, self._current(path))}:
                yield path, blob

    def _committed(self, head: str, paths: Sequence[str]) -> dict[str, str]:
        """Blob ids of files in a commit; "" for none."""
        if self._repository is None or not head:
            return dict.fromkeys(paths, "")
        try:
            blobs = TreeDiff(self._repository).blobs(self._repository.tree_of(head), paths)
        except KnowledgeError:  # an unreadable repository cannot guarantee the bytes
            return dict.fromkeys(paths, "")
        return dict(zip(paths, blobs, strict=True))

    def _current(self, path: str) -> bytes | None:
        try:
            return self._root.read(Address(path))
        except (OSError, KnowledgeError):
            return None

    def _stored_id(self, path: str, content: bytes | None) -> str:
        """Id of the blob in which Git stores a content; "" for None."""
        if content is None:
            return ""
        try:
            return revision_of(stored_form(self._repository, path, content) if self._repository else content)
        except KnowledgeError:
            return revision_of(content)

    def _save_staged(self, blobs: Iterable[StagedBlob], prefix: str) -> list[RetainedCopy]:
        """Put staged blobs into the trash. If this fails, the Git objects are the only copies."""
        copies: list[RetainedCopy] = []
        for path, blob in blobs:
            address = Address(path.removeprefix(prefix))
            try:
                content = self._repository.content(blob) if self._repository else b""
                (item,) = self.trash.put([(path, "replaced", content)])
            except (OSError, GitError):
                copies.append(RetainedCopy(address, blob, "object", staged=True))
            else:
                copies.append(RetainedCopy(address, blob, "trash", until=item.until, staged=True))
        return copies

    def _save(self, changes: Sequence[FileChange], copies: dict[str, RetainedCopy], items: list[TrashItem]) -> None:
        contents = [(change, self._content(change)) for change in changes]
        named = self._as_objects([content for _, content in contents])
        try:
            new = self.trash.put([(change.path, _loss(change), content) for change, content in contents])
        except OSError as error:
            if not named:
                raise _unkeepable(changes, error) from error
            for change, content in contents:
                copies[_shown(change)] = RetainedCopy(Address(_shown(change)), revision_of(content), "object")
            return
        items.extend(new)
        for change, item in zip(changes, new, strict=True):
            copies[_shown(change)] = RetainedCopy(Address(_shown(change)), item.revision, "trash", until=item.until)

    def _as_objects(self, contents: Sequence[bytes]) -> bool:
        """Write unreferenced blobs. Returns whether they are durable."""
        repository = self._repository
        if repository is None:
            return False
        objects = NewObjects(repository.objects, secrets.token_hex(6), repository.has_object)
        try:
            for content in contents:
                objects.add("blob", content)
            with Unsynced() as unsynced:
                objects.write(unsynced)
                unsynced.sync()
            sync_folders(objects.place())
        except (OSError, KnowledgeError):
            with suppress(OSError):
                objects.discard()
            return False
        return True


def _shown(change: FileChange) -> str:
    return change.shown or change.path


def _loss(change: FileChange) -> Loss:
    return "deleted" if change.content is None else "replaced"


def _unkeepable(changes: Sequence[FileChange], error: OSError) -> StorageError:
    names = ", ".join(_shown(change) for change in changes[:3])
    return StorageError(
        f"The last text of {names} is in no commit and could not be saved: {error.strerror or 'unknown reason'}. "
        "Nothing was changed.",
        kind="collection",
        hint="Commit it first, or check the permissions and the free space of the state folder (setting state_dir).",
        errno=error.errno or 0,
    )


# The trash: bytes of deleted or replaced files that no commit contains, retained for `RETENTION_DAYS`.
#
# `<state folder>/trash/<key of the folder>/<revision>-<key of the path>` is one item: a line of JSON with its
# metadata, then the bytes. Equal bytes of the same path are one item, with the later date.


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
            items = [self._place(path, now, *lost) for path, lost in zip(beside, losses, strict=True)]
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
        items = [item for file, status in _files(self._folder) if status.st_mtime >= oldest and (item := _read(file))]
        return sorted(items, key=lambda item: (-item.when, item.address))

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
        if due:
            self._remove_expired(new)
        left = sorted(_files(self._folder), key=lambda other_file: other_file[1].st_mtime_ns, reverse=True)
        total_bytes = 0
        for number, (file, status) in enumerate(left):
            total_bytes += status.st_size
            if total_bytes > self._max_bytes and number and file.name not in new:
                total_bytes -= status.st_size
                _remove(file)
        self._bytes, self._pruned = total_bytes, time.monotonic() if due else self._pruned

    def _remove_expired(self, new: frozenset[str]) -> None:
        oldest = time.time() - _SECONDS
        for folder in _folders(self._base):
            for file, status in _files(folder):
                if status.st_mtime < oldest and file.name not in new:
                    _remove(file)


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
        return [path for path in base.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink(missing_ok=True)


def _damaged(path: str, reason: str) -> StorageError:
    return StorageError(
        f"{path} cannot be read from the trash: {reason}.", kind="trash", hint="Check the disk of the state folder."
    )
