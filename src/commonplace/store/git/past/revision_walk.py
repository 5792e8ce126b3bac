"""Walking a repository's commits: those that touched a path, and the span of every document."""

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
from commonplace.store.git.past.tree_diff import TreeDiff
from commonplace.store.git.repository import GitRepository, guarded

Spans = dict[Address, tuple[Commit, Commit]]
"""First and last commit by document."""

MAX_CACHED_HEADS = 2
"""Commits of which the spans are kept: who goes back and forth between two branches that have both gone on has
nothing read anew."""
MAX_COMMITS_BETWEEN = 1000
"""Commits that are looked at to tell what has changed since one; after more, everything may have."""


def commits_touching(repository: GitRepository, head: str, path: str, first: str = "") -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` that changed what is at a path ("" for anything), newest first.

    As `git log` does it: a merge that took a side's version as it was is passed over, and only that side is followed.

    Args:
        repository: Where.
        head: A commit.
        path: As the repository names it.
        first: A commit before which none touched the path, "" where none is known: the walk goes no further back.
    """
    trees = TreeDiff(repository)
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
    """A commit's parents, as far as a shallow clone has them."""
    return guarded(lambda: commit.parents)


@dataclass(slots=True)
class DocumentSpans:
    """First and last commit of every document below a folder, kept and continued from head to head."""

    repository: GitRepository
    folder: str
    """"" or a path without a slash at its end."""
    _known: dict[str, Spans] = field(default_factory=dict[str, Spans])
    """By the commit of which they are: of the last few that were asked for, which are mostly the tips of branches."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, head: str, addresses: Collection[Address] | None = None) -> Spans:
        """The spans of these documents, or of all, as of a commit; only commits new since the last call are read."""
        with self._lock:
            spans = self._known.pop(head) if head in self._known else self._advanced(head)
            self._known[head] = spans
            while len(self._known) > MAX_CACHED_HEADS:
                del self._known[next(iter(self._known))]
            if addresses is None:
                return dict(spans)
            return {address: spans[address] for address in addresses if address in spans}

    def first_of(self, address: Address) -> str:
        """The commit before which none touched a document, "" where that is not known without waiting.

        What is known stays true when the branch moves: it is about that commit and those before it.
        """
        if not self._lock.acquire(blocking=False):
            return ""
        try:
            known = next((spans[address] for spans in reversed(self._known.values()) if address in spans), None)
        finally:
            self._lock.release()
        return known[0].id if known else ""

    def _nearest(self, head: str) -> str:
        """Of the commits whose spans are known, that from which the way to another is the shortest; "" for none."""
        holds = self.repository.holds
        self._known = {one: spans for one, spans in self._known.items() if self.repository.has_object(one)}
        before = [one for one in reversed(self._known) if holds(head, one)]
        return next((one for one in before if all(holds(one, other) for other in before)), "")

    def _advanced(self, head: str) -> Spans:
        """The spans as of a commit, from those of the nearest known one among its ancestors, which are then its own."""
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
        # Nothing is changed before all has been read; what was known of the ancestor is not needed any more.
        self._known.pop(known, None)
        before.update(news)
        return before


def touched_between(repository: GitRepository, known: str, head: str, folder: str) -> set[Address] | None:
    """Documents below a folder that commits after `known` touched, up to `head`; None where that is no short way."""
    if not (known and head and repository.has_object(known) and repository.holds(head, known)):
        return None
    commits = list(islice(oldest_first(repository, head, known), MAX_COMMITS_BETWEEN + 1))
    if len(commits) > MAX_COMMITS_BETWEEN:
        return None
    trees = TreeDiff(repository)
    paths = {path for commit in commits for path in changed_paths(trees, commit, os.fsencode(folder))}
    return {address for path in paths if (address := document_address(path))}


def oldest_first(repository: GitRepository, head: str, known: str) -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` and not from `known` ("" for nothing), parents before children."""
    repository.commit(head)  # libgit2 reads it whatever its size
    walker = guarded(lambda: repository.handle.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE))
    if known:
        walker.hide(known)
    return iter(walker)


def document_address(path: bytes) -> Address | None:
    """The address of a path of Git's, None if it is no document's."""
    try:
        address = parse_address(os.fsdecode(path))
    except InvalidInputError:
        return None
    return address if address.is_document else None


def commit_value(commit: pygit2.Commit, addresses: tuple[Address, ...] = ()) -> Commit:
    """A commit as the product tells it."""
    author = commit.author
    person = Author(_text(author.raw_name), _text(author.raw_email))
    return Commit(str(commit.id), person, author.time, _text(commit.raw_message), addresses)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
