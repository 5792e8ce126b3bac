"""Walks a repository's commits: those that touched a path, and what each of them changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import pygit2
from pygit2.enums import SortMode

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.changes import Author, Commit
from commonplace.domain.errors import InvalidInputError
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees.tree_diff import TreeDiff

Spans = dict[Address, tuple[Commit, Commit]]
"""First and last commit by document."""

MAX_COMMITS_BETWEEN = 1000
"""Maximum number of commits that are read to find changes since a commit; if exceeded, all documents count as changed.
"""


class DocumentChanges(NamedTuple):
    """The changes of one document in the history of a commit."""

    blobs: Mapping[str, str]
    """Commits in which the document differs from all parents, oldest first, with its blob in each; "" if deleted."""
    is_linear: bool
    """Whether no commit of the whole history has several parents."""


def _unknown_changes(_path: str) -> DocumentChanges | None:
    return None


def _same_path(_trees: TreeDiff, _commit: pygit2.Commit, _parent: pygit2.Commit, path: str) -> str:
    return path


class PathFollower(NamedTuple):
    """Cached facts about a path for the walk over its commits, and the rule for its renames."""

    first: str = ""
    """The commit that first touched the path, at which the walk stops; "" if unknown."""
    changes: Callable[[str], DocumentChanges | None] = _unknown_changes
    """Returns the cached changes of a path; None if unknown. With them, only the trees of merges are read."""
    path_before: Callable[[TreeDiff, pygit2.Commit, pygit2.Commit, str], str] = _same_path
    """Returns the path that a commit's entry had in a parent. The default is to follow no rename."""
    trees: TreeDiff | None = None
    """A cache of the repository's trees."""


def commits_touching(
    repository: GitRepository, head: str, path: str, follower: PathFollower | None = None
) -> Iterator[tuple[pygit2.Commit, str]]:
    """The commits reachable from `head` that changed the entry at a path ("" for any entry), newest first.

    As in `git log`, a merge that took one parent's version unchanged is skipped, and only that parent is followed.

    Args:
        repository: The repository.
        head: A commit.
        path: Path in the repository.
        follower: Cached facts about the path, and the rule for its renames; None to follow no rename.

    Yields:
        Each commit with the path that the entry had in it.
    """
    follower = follower or PathFollower()
    trees = follower.trees or TreeDiff(repository)
    last = repository.commit(head)
    queue = [(-last.commit_time, 0, last, path)]
    met = {(head, path)}
    while queue:
        _, _, commit, path = heappop(queue)
        changes = follower.changes(path)
        touched, followed = _followed(commit, os.fsencode(path), trees, changes.blobs if changes else None)
        if touched:
            yield commit, path
        if str(commit.id) == follower.first:
            continue
        for parent in followed:
            before = follower.path_before(trees, commit, parent, path) if touched else path
            if (str(parent.id), before) not in met:
                met.add((str(parent.id), before))
                heappush(queue, (-parent.commit_time, len(met), parent, before))


def _followed(
    commit: pygit2.Commit, path: bytes, trees: TreeDiff, blobs: Mapping[str, str] | None
) -> tuple[bool, list[pygit2.Commit]]:
    """Whether a commit differs from all of its parents at the path, and the parents to follow."""
    parents = parents_of(commit)
    if blobs is not None and (len(parents) <= 1 or str(commit.id) in blobs):
        return str(commit.id) in blobs, parents
    mine = trees.at(str(commit.tree_id), path)
    same = next((parent for parent in parents if trees.at(str(parent.tree_id), path) == mine), None)
    return (bool(mine or parents), parents) if same is None else (False, [same])


def changed_paths(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> Collection[bytes]:
    """Paths below a folder at which a commit differs from all of its parents, relative to the folder."""
    return changed_blobs(trees, commit, folder).keys()


def changed_blobs(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> dict[bytes, bytes]:
    """The paths of `changed_paths`, each with the file's id in the commit (20 bytes); b"" if the commit lacks it."""
    mine = trees.at(str(commit.tree_id), folder)
    parents = parents_of(commit)
    if not parents:
        return {path: blob for path, _, blob in trees.differences("", mine)}
    changed = {path: blob for path, _, blob in trees.differences(trees.at(str(parents[0].tree_id), folder), mine)}
    for parent in parents[1:]:
        also = set(trees.differing(trees.at(str(parent.tree_id), folder), mine))
        changed = {path: blob for path, blob in changed.items() if path in also}
    return changed


def parents_of(commit: pygit2.Commit) -> list[pygit2.Commit]:
    """A commit's parents that exist; a shallow clone may lack some."""
    return guarded(lambda: commit.parents)


def touched_between(
    repository: GitRepository, trees: TreeDiff, known: str, head: str, folder: str
) -> set[Address] | None:
    """Documents below a folder touched after `known` up to `head`; None if `known` is unrelated or too far behind."""
    if not (known and head and repository.has_object(known) and repository.holds(head, known)):
        return None
    commits = list(islice(oldest_first(repository, head, known), MAX_COMMITS_BETWEEN + 1))
    if len(commits) > MAX_COMMITS_BETWEEN:
        return None
    paths = {path for commit in commits for path in changed_paths(trees, commit, os.fsencode(folder))}
    return {address for path in paths if (address := document_address(path))}


def oldest_first(repository: GitRepository, head: str, known: str) -> Iterator[pygit2.Commit]:
    """The commits reachable from `head` and not from `known` ("" for none), parents before children."""
    return repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE, hidden=[known])


def document_address(path: bytes) -> Address | None:
    """The address of a path in Git; None if the path is not that of a document."""
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
