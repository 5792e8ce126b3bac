"""Files of patterns are read in bounded time and size, whatever they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.domain.errors import GitError
from commonplace.store.git import worktree
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import GitAttributes, GitIgnoreRules, changed_files, stored_form
from hostile.gitdirs import LONG, STARS
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/git").mkdir(parents=True)
    return new_repo(tmp_path / "base", {"z.md": "# Z\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def test_costly_patterns_are_matched_in_little_time(repo: GitRepo) -> None:
    repo.write(".gitignore", STARS * 50)
    repo.write(".gitattributes", STARS.replace("\n", " text\n") * 50)
    repository = opened(repo)
    assert not GitIgnoreRules(repository).ignores(f"{LONG}.md")
    assert not GitAttributes(repository).of(repository.handle.index, f"{LONG}.md")
    repo.write(f"{LONG}.md", "a\r\n")
    assert set(changed_files(repository)) == {".gitignore", ".gitattributes", f"{LONG}.md"}


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore"])
def test_a_pattern_file_that_is_no_regular_file_says_nothing_and_a_large_one_is_refused(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    os.mkfifo(repo.path / name)
    repository = opened(repo)
    assert stored_form(repository, "a.md", b"a\r\n") == b"a\r\n"
    assert not GitIgnoreRules(repository).ignores("a.md")
    (repo.path / name).unlink()
    (repo.path / name).symlink_to("/dev/zero")
    assert stored_form(repository, "a.md", b"a\r\n") == b"a\r\n"
    assert not GitIgnoreRules(repository).ignores("a.md")
    (repo.path / name).unlink()
    repo.write(name, "a.md text\n" * 10)
    monkeypatch.setattr(worktree, "MAX_BYTES", 20)
    with pytest.raises(GitError, match="larger than 20 bytes"):
        _ = stored_form(repository, "a.md", b"a\r\n"), GitIgnoreRules(repository).ignores("a.md")
