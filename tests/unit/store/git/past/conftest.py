"""Fixtures of the tests on history: a repository with some commits, whose collection is all of it or a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support import GitRepo, new_repo


@pytest.fixture(scope="module", params=["", "kb/docs"])
def below(request: pytest.FixtureRequest) -> str:
    """Folder of the collection in its repository."""
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
