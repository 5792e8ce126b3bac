"""The commits of every document of a folder: its first and last one, and all that changed it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Container, Generator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.changes import CommitSpan
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
from commonplace.store.git.past.walked_history import Ends, WalkedCommit, WalkedHistory, read_history, write_history
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff

MAX_CACHED_HEADS = 2
"""Number of commits whose spans are cached, so that switching between two branches does not read them again."""
CACHED_TREE_BYTES = 2_000_000
"""Maximum size in bytes of the raw trees cached from head to head: a commit changes few of a folder's entries."""
MAX_AHEAD = 200
"""Maximum number of commits that are read before an answer, to bring a cached history up to the current commit."""
HISTORY_FILE = "history"
"""Name of the file with the commits that were read."""
STORED_EVERY = 100
"""Number of commits after which the history is stored again."""


class DocumentSpans:
    """The span of every document below a folder, and all of its changes; updated from head to head.

    The first commit is that of the page from which the document was renamed.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        renames: The renames below the folder.
        cache_dir: Folder in which the commits that were read are stored for the next process; None for no folder.
    """

    def __init__(
        self, repository: GitRepository, folder: str, renames: RenameFinder, cache_dir: Path | None = None
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._renames = renames
        self._known: dict[str, WalkedHistory] = {}
        """Cache entries by head commit, least recently used first."""
        self._lock = threading.Lock()
        self._trees = TreeDiff(repository, CACHED_TREE_BYTES)
        self._file = cache_dir / HISTORY_FILE if cache_dir else None
        self._is_read = False
        self._stored = 0
        """Number of commits in the file, as far as this process knows."""

    def current(self, addresses: Collection[Address] | None = None) -> tuple[str, Spans]:
        """The current commit and the spans of these documents, or of all, at it. Only new commits are read.

        The commit is read under the lock. A thread that had read an older commit before it waited for the lock would
        find the cache entry moved to a newer commit, and would need the whole history.
        """
        with self._lock:
            head = self._repository.head
            if not head:
                return "", {}
            self._read_file()
            walked = self._known.pop(head) if head in self._known else self._advanced(head)
            self._keep(head, walked)
            self._store(head, walked)
            ends = walked.ends
            rows = ends.copy() if addresses is None else {item: ends[item] for item in addresses if item in ends}
        return head, self._spans(rows)

    def _spans(self, rows: Mapping[Address, Ends]) -> Spans:
        names = {name for row in rows.values() for name in row}
        commits = {name: commit_value(self._repository.commit(name.hex())) for name in names}
        return {address: CommitSpan(*(commits[name] for name in row)) for address, row in rows.items()}

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
            entries = (walked.ends.get(address) for walked in reversed(self._known.values()))
            ends = next(filter(None, entries), None)
        finally:
            self._lock.release()
        return ends.first.hex() if ends else ""

    def begin_of(self, head: str, address: Address) -> str | None:
        """The first commit up to `head` of a document, under any of its names; "" if there is none, None if not known.

        That of another file is never known.
        """
        with self._cached(head) as walked:
            if walked is None or not address.is_document:
                return None
            ends = walked.ends.get(address)
        return ends.first.hex() if ends else ""

    def changes_of(self, head: str, address: Address) -> DocumentChanges | None:
        """The changes of a document up to a commit; None if they are not cached or the lock is not free.

        Those of other files, such as pictures, are never cached.
        """
        if not address.is_document:
            return None
        with self._cached(head) as walked:
            if walked is None or not walked.changes.complete:
                return None
            return DocumentChanges(walked.changes_of(address), walked.changes.is_linear)

    def newest(
        self, head: str, is_meant: Callable[[Address], bool], within: AbstractSet[str] | None
    ) -> list[Address] | None:
        """The documents that commits up to `head` touched, the last touched one first; None if they are not cached.

        Args:
            head: A commit.
            is_meant: Whether a document is meant.
            within: Ids of the commits of which one must have touched it; None for all. If there are too many changes
                for the cache, they do not count.
        """
        with self._cached(head) as walked:
            if walked is None:
                return None
            return list(filter(is_meant, reversed(walked.ends) if within is None else walked.touched_by(within)))

    def named(self, head: str, name: str) -> list[Address] | None:
        """The result of `WalkedHistory.named`; None if the commits up to `head` are not cached."""
        with self._cached(head) as walked:
            return None if walked is None else walked.named(name)

    def touched_since(self, head: str, oldest: str) -> dict[str, list[Address]]:
        """The result of `WalkedHistory.touched_since`; none if the commits up to `head` are not cached."""
        with self._cached(head) as walked:
            return {} if walked is None else walked.touched_since(oldest)

    def last_of(self, head: str, at: str, among: Collection[Address]) -> dict[Address, tuple[str, bool]] | None:
        """The commit that last touched each of some documents, and whether it took the document away.

        For a document that the commit `at` lacks, the commit that took it away. Only `at` and its ancestors count.
        None if the commits up to `head` are not cached, or if the lock is not free; and for another `at`, if there are
        too many changes for the cache.
        """
        with self._cached(head) as walked:
            if walked is None or not (walked.changes.complete or at == head):
                return None
            changed = {address: self._changes(walked, address) for address in filter(walked.ends.__contains__, among)}
        trees = TreeDiff(self._repository)
        last = {address: self._last_in(trees, changes, head, at, address) for address, changes in changed.items()}
        return {address: (name, is_gone) for address, (name, is_gone) in last.items() if name}

    def _changes(self, walked: WalkedHistory, address: Address) -> dict[str, str]:
        """The commits that touched a document, as `CommitChanges.of`; of too many, the last one alone."""
        if walked.changes.complete:
            return walked.changes_of(address)
        name, path = walked.ends[address].last.hex(), f"{self._folder}/{address.path}" if self._folder else address.path
        return {name: TreeDiff(self._repository).at(self._repository.tree_of(name), os.fsencode(path))}

    def _last_in(
        self, trees: TreeDiff, changes: dict[str, str], head: str, at: str, address: Address
    ) -> tuple[str, bool]:
        """The commit of `last_of` for one document, all of whose changes up to `head` are given; "" for none."""
        path = f"{self._folder}/{address.path}" if self._folder else address.path
        is_there = bool(trees.at(self._repository.tree_of(at), os.fsencode(path)))
        newest_first = (name for name, blob in reversed(changes.items()) if is_there or not blob)
        names = (name for name in newest_first if at in {head, name} or self._repository.holds(at, name))
        return next(names, ""), not is_there

    def contains(self, head: str, commit: str) -> bool:
        """Whether a commit is known to be `head` or one of its ancestors. False does not mean that it is not."""
        with self._cached(head) as walked:
            return walked is not None and bytes.fromhex(commit) in walked.commits

    def next_of(self, head: str, commit: str, stops: Container[bytes]) -> str:
        """The first of a commit, its parent, and so on, that is among `stops`, or has not exactly one parent.

        The commit itself if the commits up to `head` are not cached.
        """
        with self._cached(head) as walked:
            return commit if walked is None else walked.commits.next_of(bytes.fromhex(commit), stops).hex()

    def first_parents(self, head: str) -> list[tuple[int, str]] | None:
        """Author's date and id of a commit, of its first parent, and so on; None if they are not cached."""
        with self._cached(head) as walked:
            return None if walked is None else list(walked.commits.first_parents())

    @contextmanager
    def _cached(self, head: str) -> Generator[WalkedHistory | None]:
        """The cache entry of a commit; None if making it takes long, or if the lock is not free."""
        if not self._lock.acquire(blocking=False):
            yield None
            return
        try:
            self._read_file()
            if head not in self._known and self._is_near(head):
                self._keep(head, self._advanced(head))
            yield self._known.get(head)
        finally:
            self._lock.release()

    def _is_near(self, head: str) -> bool:
        """Whether the entry of a commit is made from another one by reading `MAX_AHEAD` commits or fewer."""
        ancestor = self._nearest(head)
        ahead = oldest_first(self._repository, head, ancestor) if ancestor else ()
        return bool(ancestor) and len(list(islice(ahead, MAX_AHEAD + 1))) <= MAX_AHEAD

    def _keep(self, head: str, walked: WalkedHistory) -> None:
        self._known[head] = walked
        while len(self._known) > MAX_CACHED_HEADS:
            del self._known[next(iter(self._known))]

    def _read_file(self) -> None:
        """Read what an earlier process has stored, once."""
        if self._file is None or self._is_read:
            return
        self._is_read = True
        if self._repository.handle.is_shallow:  # deepening the clone gives its commits further ancestors
            self._file = None
            return
        entry = read_history(self._file)
        if entry is not None and not self._known and self._repository.has_object(entry[0]):
            self._known[entry[0]] = entry[1]
            self._stored = len(entry[1].commits)

    def _store(self, head: str, walked: WalkedHistory) -> None:
        count = len(walked.commits)
        if self._file is not None and not self._stored <= count < self._stored + STORED_EVERY:
            write_history(self._file, head, walked)
            self._stored = count

    def _nearest(self, head: str) -> str:
        """The nearest ancestor of `head` whose spans are cached; "" if there is none."""
        holds = self._repository.holds
        self._known = {text: walked for text, walked in self._known.items() if self._repository.has_object(text)}
        before = [element for element in reversed(self._known) if holds(head, element)]
        return next((element for element in before if all(holds(element, other) for other in before)), "")

    def _advanced(self, head: str) -> WalkedHistory:
        """The cache entry of a commit, made from the entry of its nearest cached ancestor, which it replaces."""
        ancestor = self._nearest(head)
        before = self._known.get(ancestor) or WalkedHistory()
        news, commits = WalkedHistory(), list[WalkedCommit]()
        trees = self._trees if ancestor else TreeDiff(self._repository)
        addresses: dict[bytes, Address | None] = {}
        begin = len(before.commits)
        for commit in oldest_first(self._repository, head, ancestor):
            parents, identifier = [parent.raw for parent in commit.parent_ids], commit.id.raw
            commits.append(WalkedCommit(identifier, commit.author.time, parents))
            news.changes.is_linear &= len(parents) <= 1
            changed = changed_blobs(trees, commit, os.fsencode(self._folder))
            sources = self._renames.renames_since_parent(trees, commit, changed)
            same = self._renames.unchanged(trees, commit, changed, sources)
            sourced = {new: news.ends.get(old) or before.ends.get(old) for new, old in sources.items()}
            for path in sorted(changed, reverse=True):  # read backwards, the documents of a commit are in order
                if path not in addresses:
                    addresses[path] = document_address(path)
                if address := addresses[path]:
                    ends = sourced.get(address) or news.ends.get(address) or before.ends.get(address)
                    first, last = (ends.first, ends.changed) if ends else (identifier, identifier)
                    news.ends.pop(address, None)
                    news.ends[address] = Ends(first, identifier, last if address in same else identifier)
                    news.changes.add(address, begin + len(commits) - 1, changed[path])
        # The cache is changed only after all commits are read, so that an error leaves it intact.
        self._known.pop(ancestor, None)
        for address in news.ends:
            before.ends.pop(address, None)
        before.ends.update(news.ends)
        before.names = (), ""
        before.changes.extend(news.changes)
        before.commits.extend(commits)
        return before
