"""The commits of every document of a folder: its first and last one, and all that changed it."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from dataclasses import dataclass, field

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, CommitSpan
from commonplace.store.git.past.revision_walk import (
    DocumentChanges,
    RenameFinder,
    Spans,
    changed_blobs,
    commit_value,
    document_address,
    oldest_first,
    touched_between,
)
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff

MAX_CACHED_HEADS = 2
"""Number of commits whose spans are cached, so that switching between two branches does not read them again."""
MAX_CACHED_CHANGES = 400_000
"""Maximum number of changes cached for one head, of `_CHANGE_BYTES` each; if exceeded, none are cached."""
CACHED_TREE_BYTES = 2_000_000
"""Maximum size in bytes of the raw trees cached from head to head: a commit changes few of a folder's entries."""
_ID_BYTES = 20
_CHANGE_BYTES = 2 * _ID_BYTES
_NO_BLOB = bytes(_ID_BYTES)


class CommitChanges:
    """The commits that changed each document, with its blob in each; packed, because there may be many."""

    def __init__(self) -> None:
        self._packed: dict[Address, bytearray] = {}
        self._count = 0
        self.is_linear = True
        """Whether no commit has several parents."""

    @property
    def complete(self) -> bool:
        """Whether all changes are stored. False if they exceed `MAX_CACHED_CHANGES`; none are stored then."""
        return self._count <= MAX_CACHED_CHANGES

    def add(self, address: Address, commit: bytes, blob: bytes) -> None:
        """Add a change.

        Args:
            address: The document.
            commit: Id of the commit, 20 bytes.
            blob: Id of the document's content in the commit, 20 bytes; b"" if the commit deleted it.
        """
        self._count += 1
        if self.complete:
            self._packed.setdefault(address, bytearray()).extend(commit + (blob or _NO_BLOB))
        else:
            self._packed.clear()

    def of(self, address: Address) -> dict[str, str]:
        """The commits in which a document differs from all parents, oldest first, with the document's blob in each.

        The blob is "" if the commit deleted the document.
        """
        packed = bytes(self._packed.get(address, b""))
        hexes: dict[str, str] = {}
        for at in range(0, len(packed), _CHANGE_BYTES):
            commit, blob = packed[at : at + _ID_BYTES], packed[at + _ID_BYTES : at + _CHANGE_BYTES]
            hexes[commit.hex()] = "" if blob == _NO_BLOB else blob.hex()
        return hexes

    def extend(self, other: CommitChanges) -> None:
        """Add the changes of later commits."""
        self.is_linear &= other.is_linear
        self._count += other._count
        if not self.complete:
            self._packed.clear()
            return
        for address, packed in other._packed.items():
            self._packed.setdefault(address, bytearray()).extend(packed)


@dataclass(slots=True)
class _Known:
    """Cached spans and changes of the documents at one head."""

    spans: Spans = field(default_factory=Spans)
    changes: CommitChanges = field(default_factory=CommitChanges)


class DocumentSpans:
    """The span of every document below a folder, and all of its changes; updated from head to head.

    The first commit is that of the page from which the document was renamed.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        renames: The renames below the folder.
    """

    def __init__(self, repository: GitRepository, folder: str, renames: RenameFinder) -> None:
        self._repository = repository
        self._folder = folder
        self._renames = renames
        self._known: dict[str, _Known] = {}
        """Cache entries by head commit, least recently used first."""
        self._lock = threading.Lock()
        self._trees = TreeDiff(repository, CACHED_TREE_BYTES)

    def current(self, addresses: Collection[Address] | None = None) -> tuple[str, Spans]:
        """The current commit and the spans of these documents, or of all, at it. Only new commits are read.

        The commit is read under the lock. A thread that had read an older commit before it waited for the lock would
        find the cache entry moved to a newer commit, and would need the whole history.
        """
        with self._lock:
            head = self._repository.head
            if not head:
                return "", {}
            walked = self._known.pop(head) if head in self._known else self._advanced(head)
            self._known[head] = walked
            while len(self._known) > MAX_CACHED_HEADS:
                del self._known[next(iter(self._known))]
            if addresses is None:
                return head, dict(walked.spans)
            return head, {address: walked.spans[address] for address in addresses if address in walked.spans}

    def touched_between(self, trees: str, head: str) -> set[Address] | None:
        """Documents touched after `trees` up to `head`; None if `trees` is unrelated or too far behind."""
        with self._lock:
            return touched_between(self._repository, self._trees, trees, head, self._folder)

    def first_of(self, address: Address) -> str:
        """The commit that first touched a document; "" if it is not cached or the lock is not free.

        The result remains valid when the branch moves, because it depends only on that commit and its ancestors.
        """
        if not self._lock.acquire(blocking=False):
            return ""
        try:
            span = next(
                (
                    other_known.spans[address]
                    for other_known in reversed(self._known.values())
                    if address in other_known.spans
                ),
                None,
            )
        finally:
            self._lock.release()
        return span.first.id if span else ""

    def changes_of(self, head: str, address: Address) -> DocumentChanges | None:
        """The changes of a document up to a commit; None if they are not cached or the lock is not free.

        Those of other files, such as pictures, are never cached.
        """
        if not address.is_document or not self._lock.acquire(blocking=False):
            return None
        try:
            walked = self._known.get(head)
            if walked is None or not walked.changes.complete:
                return None
            return DocumentChanges(walked.changes.of(address), walked.changes.is_linear)
        finally:
            self._lock.release()

    def _nearest(self, head: str) -> str:
        """The nearest ancestor of `head` whose spans are cached; "" if there is none."""
        holds = self._repository.holds
        self._known = {text: walked for text, walked in self._known.items() if self._repository.has_object(text)}
        before = [element for element in reversed(self._known) if holds(head, element)]
        return next((element for element in before if all(holds(element, other) for other in before)), "")

    def _advanced(self, head: str) -> _Known:
        """The cache entry of a commit, made from the entry of its nearest cached ancestor, which it replaces."""
        ancestor = self._nearest(head)
        before = self._known.get(ancestor) or _Known()
        news = _Known()
        trees = self._trees if ancestor else TreeDiff(self._repository)
        addresses: dict[bytes, Address | None] = {}
        for commit in oldest_first(self._repository, head, ancestor):
            value: Commit | None = None
            news.changes.is_linear &= len(commit.parent_ids) <= 1
            changed = changed_blobs(trees, commit, os.fsencode(self._folder))
            sources = self._renames.renames_since_parent(trees, commit, changed)
            same = self._renames.unchanged(trees, commit, changed, sources)
            spans = {new: news.spans.get(old) or before.spans.get(old) for new, old in sources.items()}
            for path, blob in changed.items():
                if path not in addresses:
                    addresses[path] = document_address(path)
                if address := addresses[path]:
                    value = value or commit_value(commit)
                    span = spans.get(address) or news.spans.get(address) or before.spans.get(address)
                    span = span or CommitSpan(value, value, value)
                    news.spans[address] = CommitSpan(span.first, value, span.changed if address in same else value)
                    news.changes.add(address, commit.id.raw, blob)
        # The cache is changed only after all commits are read, so that an error leaves it intact.
        self._known.pop(ancestor, None)
        before.spans.update(news.spans)
        before.changes.extend(news.changes)
        return before
