"""Retention of the bytes that a write deletes or replaces, unless a commit contains them.

The trash (`store.disk.trash`) retains them for 30 days. In a Git repository they also become an unreferenced blob: `git
cat-file blob ID` prints it until Git prunes it, after two weeks by default and at once with `git gc --prune=now`.
Therefore answers name the copy in the trash. If the trash is not writable, the blob is the only copy, and answers name
the blob.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Loss, RetainedCopy, TrashItem, record_retained
from commonplace.domain.errors import GitError, KnowledgeError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced, sync_folders
from commonplace.store.disk.file_swap import FileChange, changed_meanwhile
from commonplace.store.disk.folder import Folder
from commonplace.store.disk.trash import FolderTrash
from commonplace.store.git.objects import NewObjects
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree.filters import is_ignored, stored_form

_BATCH = 32
"""Number of files that are stored, and in memory, at a time."""
_EMPTY_BLOB = revision_of(b"")
_OldContent = tuple[FileChange, bytes]
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
        kept: dict[str, RetainedCopy] = {}
        items: list[TrashItem] = []
        lost: list[FileChange] = []
        for change in changes:
            if not change.keep or change.before is None:
                continue
            if head and self._holds(head, change):
                kept[_shown(change)] = RetainedCopy(Address(_shown(change)), change.before.revision, "commit", head)
            else:
                lost.append(change)
        with ExitStack() as undo:
            undo.callback(self._discard_unneeded, items)
            # Saved before the files' own bytes, so that the newest copy of a path is the file's last state.
            only_staged = self._save_staged(self._only_staged(head, changes, staged), prefix)
            for start in range(0, len(lost), _BATCH):
                self._save(lost[start : start + _BATCH], kept, items)
            yield kept
            undo.pop_all()
        record_retained([*kept.values(), *only_staged])

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

    def _holds(self, head: str, change: FileChange) -> bool:
        """Whether a commit contains these bytes at this path, with line ends as Git stores them."""
        repository = self._repository
        if repository is None or change.before is None:
            return False
        try:
            entry = repository.entry(head, change.path)
            if entry is None or entry.id == change.before.revision:
                return entry is not None
            return entry.id == revision_of(stored_form(repository, change.path, self._content(change)))
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
        for path, blob in staged:
            repository = self._repository
            if repository is None or blob == _EMPTY_BLOB or not repository.has_object(blob):
                continue
            entry = repository.entry(head, path)
            if entry is None and is_ignored(repository, path):  # no commit includes it, so its index entry remains
                continue
            known = [entry.id] if entry else []
            contents = (new.get(path), self._current(path))
            known += [self._stored_id(path, content) for content in contents if content is not None]
            if blob not in known:
                yield path, blob

    def _current(self, path: str) -> bytes | None:
        try:
            return self._root.read(Address(path))
        except (OSError, KnowledgeError):
            return None

    def _stored_id(self, path: str, content: bytes) -> str:
        try:
            return revision_of(stored_form(self._repository, path, content) if self._repository else content)
        except KnowledgeError:
            return revision_of(content)

    def _save_staged(self, blobs: Iterable[StagedBlob], prefix: str) -> list[RetainedCopy]:
        """Put staged blobs into the trash. If this fails, the Git objects are the only copies."""
        kept: list[RetainedCopy] = []
        for path, blob in blobs:
            address = Address(path.removeprefix(prefix))
            try:
                content = self._repository.content(blob) if self._repository else b""
                (item,) = self.trash.put([(path, "replaced", content)])
            except (OSError, GitError):
                kept.append(RetainedCopy(address, blob, "object", staged=True))
            else:
                kept.append(RetainedCopy(address, blob, "trash", until=item.until, staged=True))
        return kept

    def _save(self, changes: Sequence[FileChange], kept: dict[str, RetainedCopy], items: list[TrashItem]) -> None:
        contents = [(change, self._content(change)) for change in changes]
        named = self._as_objects([content for _, content in contents])
        try:
            new = self.trash.put([(change.path, _loss(change), content) for change, content in contents])
        except OSError as error:
            if not named:
                raise _unkeepable(changes, error) from error
            for change, content in contents:
                kept[_shown(change)] = RetainedCopy(Address(_shown(change)), revision_of(content), "object")
            return
        items.extend(new)
        for change, item in zip(changes, new, strict=True):
            kept[_shown(change)] = RetainedCopy(Address(_shown(change)), item.revision, "trash", until=item.until)

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
