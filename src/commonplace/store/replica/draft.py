"""The draft of a write to a replica: reads and changes on top of one commit, before the new commit is created."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from commonplace.domain.addresses import Address, require_new_name
from commonplace.domain.changes import Receipt, RetainedCopy, Revision
from commonplace.domain.errors import InvalidInputError, ReadOnlyError
from commonplace.domain.revisions import is_pointer, revision_of
from commonplace.store.disk.ignore_rules import including_pattern
from commonplace.store.git.objects import MODE_EXECUTABLE, MODE_FILE, MODE_FOLDER, MODE_GITLINK, TreeEntry
from commonplace.store.git.repository import GitRepository
from commonplace.store.names import missing_file, require_moved

_FILES = frozenset({MODE_FILE, MODE_EXECUTABLE})


class DraftChanges(NamedTuple):
    """The changes of a draft."""

    contents: dict[str, bytes | None]
    """The new bytes by path; None for a removed file."""
    unchanged: dict[str, bytes]
    """The bytes of each path that was written as it is in the draft's commit."""
    before: dict[str, str]
    """Id of the blob that the draft's commit has at each path of both; "" for none."""
    executable: frozenset[str]
    """New paths of moved files that are executable."""


class TreeDraft:
    """`domain.ports.Transaction` on top of a commit.

    Args:
        repository: The repository.
        commit: The commit; "" for a branch without commits.
        hides: Whether a file is ignored.
    """

    def __init__(self, repository: GitRepository, commit: str, hides: Callable[[Address], bool]) -> None:
        self._repository = repository
        self._commit = commit
        self._hides = hides
        self._changes: dict[Address, bytes | None] = {}
        self._keep: set[Address] = set()
        self._moved_from: dict[Address, Address] = {}
        self._receipt: Receipt | None = None

    def read(self, address: Address) -> bytes:
        """The bytes of a file, with the changes of this transaction."""
        if address in self._changes:
            content = self._changes[address]
        else:
            entry = self._entry(address)
            content = self._repository.content(entry.id) if entry and entry.mode in _FILES else None
        if content is None:
            raise missing_file(address)
        return content

    def exists(self, address: Address) -> bool:
        """Whether the file exists, with the changes of this transaction."""
        if address in self._changes:
            return self._changes[address] is not None
        entry = self._entry(address)
        return entry is not None and entry.mode in _FILES

    def is_ignored(self, address: Address) -> bool:
        """Whether an ignore file excludes a file, or a folder above it."""
        return self._hides(address)

    def put(self, address: Address, content: bytes, *, keep: bool = False, moved_from: Address | None = None) -> None:
        """Create or replace a file.

        Raises:
            InvalidInputError: the path is not that of a regular file, leads through a file, is ignored or is invalid.
            ReadOnlyError: the path is in a submodule, or a Git LFS pointer would be overwritten by text.
        """
        self._require_writable(address)
        self._changes[address] = content
        if keep:
            self._keep.add(address)
        if moved_from is not None:
            require_moved(moved_from, self._hides)
            self._moved_from[address] = moved_from

    def remove(self, address: Address, *, keep: bool = True) -> None:
        """Delete a file; the parent commit retains its bytes."""
        self.read(address)
        self._changes[address] = None
        if keep:
            self._keep.add(address)

    def retain(self, address: Address) -> None:
        """Make the receipt name the commit that has the old bytes of a file."""
        self._keep.add(address)

    @property
    def receipt(self) -> Receipt:
        """The result of the transaction; valid after the `with` block has ended."""
        if self._receipt is None:
            raise RuntimeError("a transaction has no receipt before its block has ended without an error")
        return self._receipt

    def changes(self) -> DraftChanges:
        """The changes; files that were written as they are stand apart.

        Raises:
            InvalidInputError, ReadOnlyError: a file cannot be written, as for `put`.
        """
        contents: dict[str, bytes | None] = {}
        unchanged: dict[str, bytes] = {}
        before: dict[str, str] = {}
        for address, content in self._changes.items():
            old = self._entry(address)
            if content is None and old is None:
                continue
            before[address.path] = old.id if old else ""
            if content is not None:
                if old is not None and old.id == revision_of(content):
                    unchanged[address.path] = content
                    continue
                self._require_served(address, content, old)
            contents[address.path] = content
        entries = {new.path: self._entry(old) for new, old in self._moved_from.items() if not before.get(new.path)}
        executable = frozenset(path for path, entry in entries.items() if entry and entry.mode == MODE_EXECUTABLE)
        return DraftChanges(contents, unchanged, before, executable & contents.keys())

    def acknowledge(self, commit: str, parent: str) -> list[RetainedCopy]:
        """Set the receipt of a transaction that the remote has accepted.

        Args:
            commit: The commit; "" for none.
            parent: The parent of the commit.

        Returns:
            Copies of the replaced and deleted bytes that the writer may not have seen.
        """
        revisions: dict[Address, Revision] = {}
        removed: list[Address] = []
        kept: dict[Address, RetainedCopy] = {}
        for address, content in self._changes.items():
            if content is None:
                removed.append(address)
            else:
                revisions[address] = revision_of(content)
            old = self._entry(address)
            if commit and old is not None and address in self._keep and old.id != revisions.get(address):
                kept[address] = RetainedCopy(address, old.id, "commit", parent)
        self._receipt = Receipt(commit, revisions, tuple(removed), kept)
        return list(kept.values())

    def _entry(self, address: Address) -> TreeEntry | None:
        """The entry of the draft's commit at a path; None if there is none."""
        return self._repository.entry(self._commit, address.path) if self._commit else None

    def _require_writable(self, address: Address) -> None:
        """Reject a path that is a folder, a link or a submodule, or leads through something that is not a folder."""
        parts = address.path.split("/")
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            entry = self._repository.entry(self._commit, path) if self._commit else None
            if entry is None:
                return
            if entry.mode == MODE_GITLINK:
                raise ReadOnlyError(
                    f"{address} cannot be written: {path} is a submodule.",
                    kind="document",
                    hint="Serve a clone of its own.",
                    path=address.path,
                )
            if (entry.mode in _FILES) if count == len(parts) else (entry.mode == MODE_FOLDER):
                continue
            raise InvalidInputError(
                f"{address} cannot be written: {path} is {_kind(entry.mode)}.",
                kind="path",
                hint="Write to another path.",
            )

    def _require_served(self, address: Address, content: bytes, old: TreeEntry | None) -> None:
        if old is None:
            require_new_name(address)
        elif is_pointer(self._repository.content(old.id)) and not is_pointer(content):
            raise ReadOnlyError(
                f"{address} cannot be written: it is a pointer of Git LFS, and its text is not here.",
                kind="document",
                hint="Write it in a clone that has Git LFS.",
                path=address.path,
            )
        if address.is_document and self._hides(address):
            pattern = including_pattern(address, self._hides)
            raise InvalidInputError(
                f"{address} is ignored by an ignore file, so it would not be found. Nothing was changed.",
                kind="document",
                hint=f"Choose another path, or include it with {pattern} in .commonplaceignore.",
            )


def _kind(mode: int) -> str:
    if mode == MODE_FOLDER:
        return "a folder"
    return "a file" if mode in _FILES else "a link"
