"""Files and folders below `.git` have the modes that Git itself gives them, as `core.sharedRepository` says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from committing import committing, write
from commonplace.store.git.shared_modes import Sharing, sharing_of
from support import GitRepo

VALUES = ("umask", "false", "0", "group", "true", "1", "all", "world", "2", "0640", "666", "0600", "0660")
WRITTEN = (
    "index",
    "objects/??",
    "objects/??/*",
    "refs/heads/team",
    "refs/heads/team/x",
    "logs/refs/heads/team*",
    "logs",
)


def shared(path: Path, value: str) -> GitRepo:
    """A repository without a commit, with this setting."""
    os.umask(0o022)
    path.mkdir()
    repo = GitRepo(path)
    repo.git("init", "--quiet", "--initial-branch=team/x")
    repo.git("config", "user.name", "A")
    repo.git("config", "user.email", "a@example.org")
    repo.git("config", "core.sharedRepository", value)
    (path / ".git/logs").mkdir()  # by init: not what is compared
    (path / ".git/logs").rmdir()
    return repo


def modes(repo: GitRepo, pattern: str) -> set[str]:
    """Modes of Git's files and folders."""
    paths = (path for path in (repo.path / ".git").glob(pattern) if path.name not in {"info", "pack"})
    return {oct(path.stat().st_mode) for path in paths if not path.parent.match("objects/*[!0-9a-f]*")}


def test_modes_are_those_of_git_for_each_value_and_umask(tmp_path: Path) -> None:
    for number, (value, mask) in enumerate([*((value, 0o022) for value in VALUES), ("group", 0o077), ("0664", 0o077)]):
        git, ours = (shared(tmp_path / f"{name}{number}", value) for name in ("git", "ours"))
        os.umask(mask)
        git.write("a.md", "# A\n")
        git.git("add", "--all")
        git.git("commit", "--quiet", "--message", "A")
        write(committing(ours.path), "a.md", b"# A\n")
        for pattern in WRITTEN:
            assert modes(ours, pattern) == modes(git, pattern) != set(), (value, oct(mask), pattern)


def test_the_lock_and_the_journal_are_private_unless_the_repository_is_shared(tmp_path: Path) -> None:
    for value, expected in (("false", 0o600), ("group", 0o660), ("all", 0o664), ("0640", 0o640)):
        repo = shared(tmp_path / value, value)
        files = [repo.path / ".git" / name for name in ("commonplace.lock", "commonplace.journal")]
        os.umask(0)
        for path in ("new.md", "again.md"):
            write(committing(repo.path), path, b"# A\n")
            assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [expected, expected], value
            for file in files:
                file.chmod(0o666)  # as an earlier version left them


def test_the_setting_is_that_of_all_configuration_and_takes_effect_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, own = shared(tmp_path / "repo", "group"), tmp_path / "own"
    base = repo.path / ".git"
    assert sharing_of(base) == Sharing(0o660)
    repo.git("config", "--unset", "core.sharedRepository")
    assert sharing_of(base) == Sharing()
    own.write_text("[core]\n\tsharedRepository = all\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert sharing_of(base) == Sharing(0o664)
    repo.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "--message", "A")
    repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    repo.git("config", "core.sharedRepository", "0640")
    assert sharing_of(base) == sharing_of(base / "worktrees/linked") == Sharing(0o640, is_exact=True)
    for value in ("0066", "several", "-1"):  # Git itself refuses these
        (base / "config").write_text(f"[core]\n\tsharedRepository = {value}\n")
        assert sharing_of(base) == Sharing()
    (base / "config").write_text("[core]\n\tsharedRepository\n")
    assert sharing_of(base) == Sharing(0o660)
    assert sharing_of(tmp_path) == Sharing(), "not a repository"
    os.mkfifo(tmp_path / "pipe")
    (base / "config").write_text(f"[core]\n\tsharedRepository\n[include]\n\tpath = {tmp_path / 'pipe'}\n")
    assert sharing_of(base) == Sharing(), "no file of the repository is waited for"
    (base / "config").unlink()
    os.mkfifo(base / "config")
    assert sharing_of(base) == Sharing()
    (base / "config").unlink()
    (base / "config").write_text("[core]\n\tsharedRepository\n")
    base.chmod(0o700)
    assert sharing_of(base) == Sharing(), "only its owner can enter"
