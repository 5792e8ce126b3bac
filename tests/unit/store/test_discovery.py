"""Detection of the kind of a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, GitError
from commonplace.store import open_store
from commonplace.store.git.layout import find_repository
from support import GitRepo, MakeRepo


def test_a_folder_that_does_not_exist_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder 'none'"):
        open_store(tmp_path / "none", commit="manual", state_dir=tmp_path / "state")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError):
        open_store(tmp_path / "file", commit="manual", state_dir=tmp_path / "state")


def test_the_repository_is_found_upwards(git_repo: MakeRepo) -> None:
    repo = git_repo("repo", {"a/b/c.md": "x"})
    for folder in ("", "a", "a/b"):
        repository = find_repository(repo.path / folder)
        assert repository is not None
        assert (repository.gitdir, repository.work_tree) == (repo.path / ".git", repo.path)


def test_the_search_ends_at_a_ceiling(git_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = git_repo("repo", {"a/b/c.md": "x"})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.pathsep.join(["/none", str(repo.path)]))
    assert find_repository(repo.path / "a/b") is None
    assert find_repository(repo.path) is not None


def test_what_only_looks_like_a_repository_is_none(tmp_path: Path) -> None:
    for content in (None, b"", b"gitdir: none\n", b"gitdir", b"\xff"):
        folder = tmp_path / f"f{hash(content)}"
        folder.mkdir()
        if content is None:
            (folder / ".git").mkdir()
        else:
            (folder / ".git").write_bytes(content)
        assert find_repository(folder) is None


@pytest.mark.parametrize("extension", ["refstorage = reftable", "objectformat = sha256", "unknown = x"])
def test_a_repository_that_cannot_be_read_is_served_as_a_folder(git_repo: MakeRepo, extension: str) -> None:
    repo = git_repo("repo", {"a.md": "# A\n"})
    config = repo.path / ".git/config"
    text = config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    config.write_text(f"{text}[extensions]\n\t{extension}\n")
    state = repo.path.parent / "state"
    with pytest.raises(GitError, match="cannot be read"):
        open_store(repo.path, commit="auto", state_dir=state)
    store = open_store(repo.path, commit="manual", state_dir=state)
    assert store.read(Address("a.md")) == b"# A\n"
    assert not store.history.available
    with store.transaction("x") as transaction:
        transaction.put(Address("a.md"), b"changed")
    assert store.read(Address("a.md")) == b"changed"


def test_a_work_tree_configured_elsewhere_is_not_committed_to(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo("repo", {"a.md": "# A\n"})
    (tmp_path / "elsewhere").mkdir()
    repo.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    store = open_store(repo.path, commit="auto", state_dir=tmp_path / "state")
    assert "core.worktree" in store.read_only_reason
    assert store.read(Address("a.md")) == b"# A\n"


def test_opening_and_reading_a_plain_folder_writes_nothing(tmp_path: Path) -> None:
    GitRepo(tmp_path).write("kb/a.md", "# A\n")
    script = (
        "import sys; from pathlib import Path; from commonplace.store import open_store\n"
        "base = Path(sys.argv[1])\n"
        "store = open_store(base / 'kb', commit='manual', state_dir=base / 'state')\n"
        "list(store.scan()); store.recover(); store.history.touched()"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True, timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb"]
