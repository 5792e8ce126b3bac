"""What differs between two trees."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commonplace.domain.errors import GitError
from commonplace.store.git import tree_diff
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_diff import TreeDiff
from support import GitRepo, new_repo


@pytest.fixture(scope="module", params=["", "kb/docs"])
def below(request: pytest.FixtureRequest) -> str:
    """Where in its repository the collection lies."""
    return str(request.param)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, below: str) -> GitRepo:
    """Documents with some commits; others touch only what lies elsewhere."""
    prefix = f"{below}/" if below else ""
    files: dict[str, str | bytes] = {f"{prefix}a.md": "1\n", f"{prefix}b.md": "1\n", "elsewhere/x.txt": "1"}
    repo = new_repo(tmp_path_factory.mktemp("written") / "repo", files)
    repo.commit("Elsewhere", **{"elsewhere/x.txt": "2"})
    repo.commit("Change a", **{f"{prefix}a.md": "2\n"})
    repo.commit("Change both\n\nBody", **{f"{prefix}a.md": "3\n", f"{prefix}b.md": "3\n", f"{prefix}p.png": "x"})
    (repo.path / prefix / "b.md").unlink()
    repo.commit("Remove b")
    repo.commit("Elsewhere again", **{"elsewhere/x.txt": "3"})
    return repo


@pytest.fixture
def repo(written: GitRepo, tmp_path: Path) -> GitRepo:
    """The same, of a test's own."""
    return GitRepo(shutil.copytree(written.path, tmp_path / "repo", symlinks=True))


def test_two_trees_differ_in_a_bounded_number_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repo(tmp_path / "repo", {f"{folder}/{name}.md": "same\n" for folder in "abcd" for name in "xyz"})
    trees = TreeDiff(GitRepository(repo.path / ".git", repo.path))
    tree = repo.git("rev-parse", "HEAD^{tree}")
    assert len(list(trees.differing("", tree))) == len(list(trees.files(tree))) == 12
    monkeypatch.setattr(tree_diff, "MAX_ENTRIES", 15)
    for walk in (lambda: trees.differing("", tree), lambda: trees.differing(tree, ""), lambda: trees.files(tree)):
        with pytest.raises(GitError, match="more than 15 files"):
            next(walk())
