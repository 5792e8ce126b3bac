"""Walks a repository's commits: those that touched a path, and the first and last commit of every document."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Author, Commit
from commonplace.domain.errors import InvalidInputError
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.tree_diff import TreeDiff

Spans = dict[Address, tuple[Commit, Commit]]
"""First and last commit by document."""

MAX_CACHED_HEADS = 2
"""Number of commits whose spans are cached, so that switching between two branches does not read them again."""
MAX_COMMITS_BETWEEN = 1000
"""Maximum number of commits that are read to find changes since a commit; beyond, everything may have changed."""


def commits_touching(
    repository: GitRepository, head: str, path: str, first: str = "", trees: TreeDiff | None = None
) -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` that changed what is at a path ("" for anything), newest first.

    As in `git log`, a merge that took one side's version unchanged is skipped, and only that side is followed.

    Args:
        repository: The repository.
        head: A commit.
        path: Path in the repository.
        first: The commit that first touched the path, at which the walk ends; "" if unknown.
        trees: A cache of the repository's trees.
    """
    trees = trees or TreeDiff(repository)
    wanted = os.fsencode(path)
    last = repository.commit(head)
    queue = [(-last.commit_time, 0, last, trees.at(str(last.tree_id), wanted))]
    met = {head}
    while queue:
        _, _, commit, mine = heappop(queue)
        parents = [(parent, trees.at(str(parent.tree_id), wanted)) for parent in parents_of(commit)]
        same = next(((parent, theirs) for parent, theirs in parents if theirs == mine), None)
        if same is None and (mine or parents):
            yield commit
        if str(commit.id) == first:
            continue
        for parent, theirs in parents if same is None else [same]:
            if str(parent.id) not in met:
                met.add(str(parent.id))
                heappush(queue, (-parent.commit_time, len(met), parent, theirs))


def changed_paths(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> set[bytes]:
    """Paths below a folder that a commit changed against all of its parents, relative to the folder."""
    mine = trees.at(str(commit.tree_id), folder)
    parents = parents_of(commit)
    if not parents:
        return set(trees.differing("", mine))
    changed = set(trees.differing(trees.at(str(parents[0].tree_id), folder), mine))
    for parent in parents[1:]:
        changed &= set(trees.differing(trees.at(str(parent.tree_id), folder), mine))
    return changed


def parents_of(commit: pygit2.Commit) -> list[pygit2.Commit]:
    """A commit's parents that exist; a shallow clone may lack some."""
    return guarded(lambda: commit.parents)


@dataclass(slots=True)
class DocumentSpans:
    """First and last commit of every document below a folder; cached and updated from head to head."""

    repository: GitRepository
    folder: str
    """"" or a path without trailing slash."""
    _known: dict[str, Spans] = field(default_factory=dict[str, Spans])
    """Spans by head commit, least recently used first."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, head: str, addresses: Collection[Address] | None = None) -> Spans:
        """The spans of these documents, or of all, at a commit. Only commits since the last call are read."""
        with self._lock:
            spans = self._known.pop(head) if head in self._known else self._advanced(head)
            self._known[head] = spans
            while len(self._known) > MAX_CACHED_HEADS:
                del self._known[next(iter(self._known))]
            if addresses is None:
                return dict(spans)
            return {address: spans[address] for address in addresses if address in spans}

    def first_of(self, address: Address) -> str:
        """The commit that first touched a document; "" if it is not known without waiting.

        The result stays valid when the branch moves, because it concerns that commit and its ancestors.
        """
        if not self._lock.acquire(blocking=False):
            return ""
        try:
            known = next((spans[address] for spans in reversed(self._known.values()) if address in spans), None)
        finally:
            self._lock.release()
        return known[0].id if known else ""

    def _nearest(self, head: str) -> str:
        """The nearest ancestor of `head` whose spans are known; "" if there is none."""
        holds = self.repository.holds
        self._known = {one: spans for one, spans in self._known.items() if self.repository.has_object(one)}
        before = [one for one in reversed(self._known) if holds(head, one)]
        return next((one for one in before if all(holds(one, other) for other in before)), "")

    def _advanced(self, head: str) -> Spans:
        """The spans at a commit, computed from those of the nearest known ancestor, which are moved to this commit."""
        repository = self.repository
        known = self._nearest(head)
        before = self._known.get(known, {})
        trees = TreeDiff(repository)
        folder = os.fsencode(self.folder)
        news = Spans()
        addresses: dict[bytes, Address | None] = {}
        for commit in oldest_first(repository, head, known):
            value: Commit | None = None
            for path in changed_paths(trees, commit, folder):
                if path not in addresses:
                    addresses[path] = document_address(path)
                if address := addresses[path]:
                    value = value or commit_value(commit)
                    first = news.get(address) or before.get(address) or (value,)
                    news[address] = first[0], value
        # Nothing is changed before all commits are read. The ancestor's own spans are no longer needed.
        self._known.pop(known, None)
        before.update(news)
        return before


def touched_between(repository: GitRepository, known: str, head: str, folder: str) -> set[Address] | None:
    """Documents below a folder touched after `known` up to `head`; None if `known` is unrelated or too far behind."""
    if not (known and head and repository.has_object(known) and repository.holds(head, known)):
        return None
    commits = list(islice(oldest_first(repository, head, known), MAX_COMMITS_BETWEEN + 1))
    if len(commits) > MAX_COMMITS_BETWEEN:
        return None
    trees = TreeDiff(repository)
    paths = {path for commit in commits for path in changed_paths(trees, commit, os.fsencode(folder))}
    return {address for path in paths if (address := document_address(path))}


def oldest_first(repository: GitRepository, head: str, known: str) -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` and not from `known` ("" for none), parents before children."""
    return repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE, hidden=[known])


def document_address(path: bytes) -> Address | None:
    """The address of a path in Git; None if it is not a document's."""
    try:
        address = parse_address(os.fsdecode(path))
    except InvalidInputError:
        return None
    return address if address.is_document else None


def commit_value(commit: pygit2.Commit, addresses: tuple[Address, ...] = ()) -> Commit:
    """The `Commit` value of a commit."""
    author = commit.author
    person = Author(_text(author.raw_name), _text(author.raw_email))
    return Commit(str(commit.id), person, author.time, _text(commit.raw_message), addresses)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
