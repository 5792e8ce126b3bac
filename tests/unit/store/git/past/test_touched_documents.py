"""The documents that later commits touched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.ports import History
from commonplace.store import open_store
from support import GitRepo, new_repo

A, B = Address("a.md"), Address("b.md")


def history(folder: Path) -> History:
    """Of a folder in a repository."""
    return open_store(folder, commit="manual", state_dir=folder.parent / "state").history


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


def test_what_later_commits_touched_is_told(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    begun = past.head()
    assert past.touched_since(begun) == set()
    there, back = ({str(Path(below) / "b.md"): text, "elsewhere.md": text} for text in ("there\n", "back\n"))
    repo.commit("There", **there)
    repo.commit("And back", **back)
    assert past.touched_since(begun) == {B} | ({Address("elsewhere.md")} if not below else set())
    assert past.touched([B, Address("none.md")]) == {B: past.touched()[B]}
    amended = past.head()
    repo.git("commit", "--quiet", "--amend", "-m", "Amended")
    assert [past.touched_since(commit) for commit in (amended, "0" * 40, "")] == [None, None, None]
