"""Caches the documents that each commit touched, and derives the dates of documents at any commit."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection

from commonplace.domain.addresses import Address
from commonplace.store.git.past.renames import RenameFinder, Renames
from commonplace.store.git.past.revision_walk import (
    Spans,
    changed_blobs,
    commit_value,
    document_address,
    oldest_first,
)
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees.tree_diff import TreeDiff

MAX_CACHED_COMMITS = 200_000
"""Maximum number of cached commits, of about 200 bytes each; the cache is cleared when it is full."""


class TouchedDocuments:
    """The touched documents below a folder, by commit. Thread-safe.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        renames: The renames below the folder.
    """

    def __init__(self, repository: GitRepository, folder: str, renames: RenameFinder) -> None:
        self._repository = repository
        self._renames = renames
        self._folder = os.fsencode(folder)
        self._known: dict[str, tuple[Address, ...]] = {}
        self._sources: dict[str, Renames] = {}
        """The renames of the cached commits that have some."""
        self._addresses: dict[bytes, Address | None] = {}
        self._lock = threading.Lock()

    def spans(self, head: str, addresses: Collection[Address] | None = None) -> Spans:
        """First and last commit of each of these documents (None: all), among a commit and its ancestors."""
        with self._lock:
            return guarded(lambda: self._spans(head, addresses))

    def _spans(self, head: str, addresses: Collection[Address] | None) -> Spans:
        trees = TreeDiff(self._repository)
        if len(self._known) > MAX_CACHED_COMMITS:
            self._known.clear()
            self._sources.clear()
        ends: dict[Address, tuple[str, str]] = {}
        for commit in oldest_first(self._repository, head, ""):
            name = str(commit.id)
            touched = self._known.get(name)
            if touched is None:
                changed = changed_blobs(trees, commit, self._folder)
                if sources := self._renames.renames_since_parent(trees, commit, changed):
                    self._sources[name] = sources
                touched = self._known[name] = tuple(filter(None, map(self._address, changed)))
            sources = self._sources.get(name, {})
            for address in touched:
                origin = sources.get(address, address)
                ends[address] = (ends[origin][0] if origin in ends else name), name
        wanted = ends if addresses is None else {one: ends[one] for one in addresses if one in ends}
        names = {name for pair in wanted.values() for name in pair}
        commits = {name: commit_value(self._repository.commit(name)) for name in names}
        return {address: (commits[first], commits[last]) for address, (first, last) in wanted.items()}

    def _address(self, path: bytes) -> Address | None:
        if path not in self._addresses:
            self._addresses[path] = document_address(path)
        return self._addresses[path]
