"""The changed files of a work tree are those that Git names."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import changed_files
from support import Amount, GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/git").mkdir(parents=True)
    return new_repo(tmp_path / "base", {"z.md": "# Z\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def change(repo: GitRepo, chance: random.Random) -> None:
    """One change at random to the work tree or the index."""
    path = chance.choice(("a.md", "b.md", "d/c.md", "d/e/f.md", "new.md", "d/new.md", "skip.md", "run.md"))
    file = repo.path / path
    match chance.randrange(7):
        case 0:
            file.unlink(missing_ok=True)
        case 1 | 2:
            repo.write(path, chance.choice(("one\n", "two\n", "a\n")))
        case 3 if file.exists():
            file.chmod(chance.choice((0o644, 0o755)))
        case 4:
            repo.git("add", "--all", "--force", "--", ".")
        case 5:
            repo.git("rm", "--quiet", "--cached", "--ignore-unmatch", "--force", "--", path)
        case _:
            repo.write(".gitignore", chance.choice(("skip.md\n", "d/\n", "*.md\n!a.md\n", "")))


def test_the_changed_files_are_those_that_git_names(repo: GitRepo, amount: Amount) -> None:
    chance = random.Random(3)
    repo.commit(**dict.fromkeys(("a.md", "b.md", "d/c.md", "d/e/f.md"), "a\n"))
    new_repo(repo.path / "inner", {"i.md": "# I\n"})
    os.mkfifo(repo.path / "pipe.md")
    for _ in range(amount(60, 1_000)):
        change(repo, chance)
        parts = repo.git("status", "--porcelain", "--untracked-files=all", "--no-renames", "-z").split("\0")
        lines: dict[str, str] = {}
        for line in parts:
            if line and line[3:].rstrip("/") != "inner":
                lines[line[3:]] = lines.get(line[3:], "") + line[:2]
        statuses = changed_files(opened(repo))
        assert {path: shown(int(flags)) for path, flags in statuses.items()} == lines
        below = changed_files(opened(repo), "d/", lambda path: path.endswith("c.md"))
        assert set(below) == {path for path in lines if path.startswith("d/") and path.endswith("c.md")}


def shown(flags: int) -> str:
    if flags == 1 << 7:
        return "??"
    staged = {1: "A", 2: "M", 4: "D"}.get(flags & 7, " ")
    if flags & 1 << 7:
        return f"{staged} ??"
    return staged + {1 << 8: "M", 1 << 9: "D"}.get(flags & 3 << 8, " ")
