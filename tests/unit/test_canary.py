"""The canary of acceptance tests: a commit that contains it is found, in the repository and in its remote."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from remotes import canary
from support import GitRepo, new_repo


@pytest.mark.parametrize("packed", [True, False])
def test_a_canary_that_was_committed_or_pushed_is_found(tmp_path: Path, *, packed: bool) -> None:
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    repo = new_repo(tmp_path / "served", {"notes/a.md": "# A\n"})
    repo.git("remote", "add", "origin", str(bare.path))
    (repo.path / "b.md").write_text("# B\n")
    canary.plant([repo.path / "notes", tmp_path / "nowhere"])
    assert (repo.path / "notes" / canary.NAME).read_bytes() == canary.CONTENT
    assert "canary" not in repo.git("status", "--porcelain")
    repo.commit("By a test")
    assert canary.found(packed=True) == []

    subprocess.run(["git", "add", "--all"], cwd=repo.path, check=True)
    assert canary.found(packed=True) == [], "it is in no commit yet"
    repo.git("commit", "--quiet", "--message", "By a careless program")
    repo.git("push", "--quiet", "origin", "main")
    if packed:
        for git_repo in (repo, bare):
            git_repo.git("gc", "--quiet")
    canary.plant([repo.path / "notes"])  # as each use of the folder does
    assert sorted(canary.found(packed=packed)) == [str(bare.path), str(repo.path / ".git")]
    for git_repo in (repo, bare):
        shutil.rmtree(git_repo.path)
    assert canary.found(packed=True) == []
