"""Rebases local commits onto the remote's in the object database only, without work tree, index or programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pygit2
from pygit2.enums import FileMode, MergeFlag, SortMode

from commonplace.store.git.layout import require_plain_objects
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees import TreeDiff
from commonplace.toolsets.projects.rules.merge import MergeSides, conflict_unit, merge_file

_PLAIN = FileMode.BLOB


@dataclass(frozen=True, slots=True)
class RebaseResult:
    """The result of a rebase."""

    tip: str
    """The last commit."""
    conflicts: tuple[str, ...]
    """Paths in which the text of the new base won."""


def local_commits(repository: GitRepository, head: str, elsewhere: Sequence[str]) -> list[pygit2.Commit]:
    """Commits reachable from `head` and from none of the others ("" is ignored), parents first."""
    if not head:
        return []
    return list(repository.walk(head, SortMode.TOPOLOGICAL | SortMode.REVERSE, hidden=elsewhere))


def rebase(repository: GitRepository, commits: Sequence[pygit2.Commit], onto: str) -> RebaseResult:
    """Recreate the commits on top of another one, with their messages, authors and committers.

    On a conflict, the text of the new base stays in the file and the rest of the commit is applied. Commits whose
    changes exist already are dropped.
    """
    require_plain_objects(repository.objects)  # libgit2 writes into that folder
    tip = repository.commit(onto)
    trees = TreeDiff(repository)
    _require_bounded(trees, [tip, *commits])
    objects = guarded(lambda: _objects_only(repository))
    conflicts: list[str] = []
    for commit in commits:
        tree, met = guarded(lambda tip=tip, commit=commit: _merged(objects, trees, tip, commit))
        conflicts += met
        if tree == tip.tree_id:
            continue
        made = objects.create_commit(None, commit.author, commit.committer, commit.message, tree, [tip.id])
        tip = repository.commit(str(made))
    return RebaseResult(str(tip.id), tuple(conflicts))


def _objects_only(repository: GitRepository) -> pygit2.Repository:
    """A handle on the repository's objects alone: a merge with it reads no attributes, whose matching is unbounded."""
    handle = pygit2.Repository()
    repository.attach_objects(handle)
    return handle


def _require_bounded(trees: TreeDiff, commits: Sequence[pygit2.Commit]) -> None:
    """Reject commits whose trees libgit2 cannot traverse.

    Raises:
        GitError: a tree has too many files.
    """
    before = ""
    for tree in (str(commit.tree_id) for commit in commits):
        for _ in trees.differing(before, tree):
            pass
        before = tree


def _merged(
    handle: pygit2.Repository, trees: TreeDiff, tip: pygit2.Commit, commit: pygit2.Commit
) -> tuple[pygit2.Oid, list[str]]:
    """The tree of a commit applied to `tip`, and the paths in which `tip` won."""
    base = commit.parents[0].tree_id if commit.parents else handle.TreeBuilder().write()
    index = handle.merge_trees(base, tip.tree_id, commit.tree_id, flags=MergeFlag(0))
    lost: list[str] = []
    for sides in list(index.conflicts or ()):
        path = next(str(side.path) for side in sides if side is not None)
        merged = _reconciled(handle, path, *sides)
        if index.conflicts is not None:
            del index.conflicts[path]
        if kept := merged or sides[1]:
            index.add(kept)
        if merged is None:
            lost.append(path)
    for prefix in {conflict_unit(path) for path in lost} - {""}:
        _restore(index, trees, str(tip.tree_id), prefix)
    return index.write_tree(handle), lost


def _reconciled(
    handle: pygit2.Repository,
    path: str,
    base: pygit2.IndexEntry | None,
    ours: pygit2.IndexEntry | None,
    theirs: pygit2.IndexEntry | None,
) -> pygit2.IndexEntry | None:
    """The entry with both sides' changes; None on a real conflict."""
    if ours is None or theirs is None:
        return None
    before = _content(handle, base.id) if base else b""
    sides = MergeSides(before, _content(handle, ours.id), _content(handle, theirs.id))
    text = merge_file(path, sides, lambda versions: _merge_lines(handle, versions))
    return None if text is None else pygit2.IndexEntry(path, handle.create_blob(text), ours.mode)


def _merge_lines(handle: pygit2.Repository, sides: MergeSides) -> bytes | None:
    """A three-way line merge by Git's own rules; None on conflict."""
    base, ours, theirs = (_tree_of_one(handle, content) for content in (sides.base, sides.ours, sides.theirs))
    index = handle.merge_trees(base, ours, theirs, flags=MergeFlag(0))
    return None if index.conflicts is not None else _content(handle, index["file"].id)


def _content(handle: pygit2.Repository, blob: pygit2.Oid) -> bytes:
    return handle[blob].read_raw()


def _tree_of_one(handle: pygit2.Repository, content: bytes) -> pygit2.Oid:
    builder = handle.TreeBuilder()
    builder.insert("file", handle.create_blob(content), _PLAIN)
    return builder.write()


def _restore(index: pygit2.Index, trees: TreeDiff, tree: str, prefix: str) -> None:
    """Restore everything below a prefix from a tree."""
    entries = cast("list[pygit2.IndexEntry]", list(index))
    for path in [str(entry.path) for entry in entries if str(entry.path).startswith(prefix)]:
        index.remove(path)
    for raw, entry in trees.files(tree):
        path = os.fsdecode(raw)
        if path.startswith(prefix):
            index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=entry.id), FileMode(entry.mode)))
