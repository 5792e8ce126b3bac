"""Differences between two trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import GitError
from commonplace.store.git import trees as tree_diff
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff
from support import new_repo


def test_two_trees_differ_in_a_bounded_number_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repo(tmp_path / "repo", {f"{folder}/{name}.md": "same\n" for folder in "abcd" for name in "xyz"})
    trees = TreeDiff(GitRepository(repo.path / ".git", repo.path))
    tree = repo.git("rev-parse", "HEAD^{tree}")
    assert len(list(trees.differing("", tree))) == len(list(trees.files(tree))) == 12
    monkeypatch.setattr(tree_diff, "MAX_ENTRIES", 15)
    for walk in (lambda: trees.differing("", tree), lambda: trees.differing(tree, ""), lambda: trees.files(tree)):
        with pytest.raises(GitError, match="more than 15 files"):
            next(walk())


def test_many_paths_have_the_blobs_that_few_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, str | bytes] = {
        f"{folder}{name}.md": f"{folder}{name}\n" for folder in ("", "a/", "a/b/") for name in "xyz"
    }
    repo = new_repo(tmp_path / "repo", files)
    tree = repo.git("rev-parse", "HEAD^{tree}")
    paths = [*files, "none.md", "a/none.md", "x.md/inner.md", "none/x.md"]
    expected = [*(repo.git("rev-parse", f"HEAD:{path}") for path in files), "", "", "", ""]
    opened = GitRepository(repo.path / ".git", repo.path)
    assert TreeDiff(opened).blobs(tree, paths) == expected
    monkeypatch.setattr(tree_diff, "MAX_LOOKUPS", 1)
    assert TreeDiff(opened).blobs(tree, paths) == expected


def test_a_merge_changes_the_files_in_which_it_differs_from_each_parent(tmp_path: Path) -> None:
    files = {f"{folder}/{name}.md": "same\n" for folder in ("", "a", "b", "a/c", "d") for name in "xyz"}
    repo = new_repo(tmp_path / "repo", {path.lstrip("/"): text for path, text in files.items()})
    trees, base = TreeDiff(GitRepository(repo.path / ".git", repo.path)), repo.git("rev-parse", "HEAD")

    def tree_with(changes: dict[str, str | None]) -> str:
        repo.git("reset", "--hard", "--quiet", base)
        for path, text in changes.items():
            repo.git("rm", "-rq", "--ignore-unmatch", path) if text is None else repo.write(path, text)
        repo.git("add", "--all")
        return repo.git("write-tree")

    mine = tree_with({"a/x.md": "merged\n", "b/x.md": "one\n", "a/c/x.md": None, "d": None, "new/f.md": "new\n"})
    olds = [
        tree_with({"a/x.md": "one\n", "b/x.md": "one\n", "b/y.md": "one\n"}),
        tree_with({"a/x.md": "two\n", "a/c/y.md": "two\n", "d": None, "new": "a file\n"}),
    ]
    each = [{path: blob for path, _, blob in trees.differences(old, mine)} for old in olds]
    both = {path: blob for path, _, blob in trees.differences(olds[0], mine, olds[1])}
    assert both == {path: blob for path, blob in each[0].items() if path in each[1]}
    assert set(both) == {b"a/x.md", b"a/c/x.md", b"new/f.md"}
    assert list(trees.differences("0" * 40, mine, mine)) == [], "no tree is read if the new one is a parent's"
