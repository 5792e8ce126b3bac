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
