"""The commits of a folder, newest first, each with the documents that it touched."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import NamedTuple

import pygit2

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.changes import Commit
from commonplace.store.git.past.document_spans import DocumentSpans
from commonplace.store.git.past.revision_walk import changed_paths, commit_value, commits_touching
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff

MAX_OTHER_FILES = 20
"""Maximum number of files of a commit, besides documents, of which it is asked whether they are ignored."""
MAX_WALKS = 2
"""Maximum number of walks that are kept, so that the next part of a list begins where the last one ended."""
MAX_COMPARED = 10_000
"""Maximum number of commits whose few changed files are kept; the cache is cleared when it is full."""


class _Walk(NamedTuple):
    ids: list[str]
    """Ids of the commits that were read, newest first."""
    others: Iterator[tuple[pygit2.Commit, str]]


class CommitListing:
    """The commits that touched anything in a folder. Thread-safe.

    Args:
        repository: The repository.
        folder: "" or a path without trailing slash.
        spans: The commits of the folder's documents, as far as they are cached.
        hides: Whether a file is ignored.
    """

    def __init__(
        self, repository: GitRepository, folder: str, spans: DocumentSpans, hides: Callable[[Address], bool]
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._spans = spans
        self._hides = hides
        self._lock = threading.Lock()
        self._walks: dict[tuple[str, AbstractSet[str] | None], _Walk] = {}
        """Walks by head and the ids within which it stays, least recently used first."""
        self._recent: tuple[str, int, Mapping[str, Sequence[Address]]] = "", 0, {}
        """A head, a number of commits, and the documents that each of them touched."""
        self._others: dict[str, tuple[int, Sequence[Address]]] = {}
        """The results of comparing commits with their parents; most are merges, which changed nothing themselves."""

    def part(
        self, head: str, offset: int, limit: int, within: AbstractSet[str] | None, below: str | None
    ) -> list[Commit]:
        """Some commits up to a head, with the touched documents that are not ignored.

        Args:
            head: A commit.
            offset: Number of newest commits to leave out.
            limit: Maximum number of commits.
            within: Ids of the commits to list below `head`; None for all.
            below: Beginning of the paths of the documents that count; None for every file.
        """
        hides = cache(self._hides)  # for one listing: ignore files change
        names = self._names(head, offset + limit, within)
        trees, touched = TreeDiff(self._repository), self._touched(head, names)
        return [
            self._with_documents(trees, self._repository.commit(name), touched.get(name), hides, below)
            for name in names[offset:]
        ]

    def _names(self, head: str, count: int, within: AbstractSet[str] | None) -> list[str]:
        """The ids of the newest commits."""
        with self._lock:
            walk = self._walks.pop((head, within), None)  # an error ends a walk, so that it is not kept
            if walk is None:
                walk = _Walk([], commits_touching(self._repository, head, self._folder, within=within))
            missing = max(0, count - len(walk.ids))
            walk.ids.extend(str(commit.id) for commit, _ in islice(walk.others, missing))
            self._walks[head, within] = walk
            while len(self._walks) > MAX_WALKS:
                del self._walks[next(iter(self._walks))]
            return walk.ids[:count]

    def _touched(self, head: str, names: Sequence[str]) -> Mapping[str, Sequence[Address]]:
        """The documents that each of the newest commits touched, as far as they are cached."""
        known_head, count, touched = self._recent
        if names and (known_head != head or count < len(names)):
            touched = self._spans.touched_since(head, names[-1], len(names))
            self._recent = (head, 2 * len(names), touched) if touched else ("", 0, {})
        return touched

    def _with_documents(
        self,
        trees: TreeDiff,
        commit: pygit2.Commit,
        touched: Sequence[Address] | None,
        hides: Callable[[Address], bool],
        below: str | None,
    ) -> Commit:
        def shown(addresses: Sequence[Address]) -> tuple[Address, ...]:
            among = (item for item in addresses if item.is_document and item.path.startswith(below or ""))
            return tuple(item for item in among if not hides(item))

        documents = shown(sorted(touched or ()))
        if documents or (below is not None and touched is not None):
            return replace(commit_value(commit, documents), is_shown=bool(documents))
        paths, addresses = self._compared(trees, commit)
        documents = shown(addresses)
        others = islice((address for address in addresses if not address.is_document), MAX_OTHER_FILES)
        is_other = below is None and not (paths and all(map(hides, others)))
        return replace(commit_value(commit, documents), is_shown=bool(documents) or is_other)

    def _compared(self, trees: TreeDiff, commit: pygit2.Commit) -> tuple[int, Sequence[Address]]:
        """The number of paths that a commit changed, and the documents and some of the other files among them."""
        compared = self._others.get(str(commit.id))
        if compared is None:
            paths = changed_paths(trees, commit, os.fsencode(self._folder))
            addresses = sorted(filter(None, (address_or_none(os.fsdecode(path)) for path in paths)))
            compared = len(paths), addresses
            if len(addresses) <= MAX_OTHER_FILES:
                if len(self._others) >= MAX_COMPARED:
                    self._others.clear()
                self._others[str(commit.id)] = compared
        return compared
