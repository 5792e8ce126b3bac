"""A path is ignored if Git ignores it."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import GitIgnoreRules
from support import Amount, GitRepo, new_repo

PARTS = ("a", "b", "ab", "a.md", "b.txt", "x y", "éa")


PATTERNS = (
    "a", "*.md", "b/", "/a", "a/b", "**/a", "a/**", "a/**/b", "*b*", "?", "[ab]", "[!a]*", "!a.md", "!b", "x\\ y",
    "\\!a",    "ab/*", "**", "*/a.md", "éa", "a*/", "# no", "", "!*.txt", "[a-b].md", "b/**/a.md",
)  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config/git").mkdir(parents=True)
    return new_repo(tmp_path / "base", {"z.md": "# Z\n"})


def opened(repo: GitRepo) -> GitRepository:
    return GitRepository(repo.path / ".git", repo.path)


def asked(repo: GitRepo, *command: str, paths: list[str]) -> list[str]:
    """Git's output for paths that it reads from standard input, each field ended by NUL."""
    given_content = "\0".join(paths).encode()
    done = subprocess.run(
        ["git", *command], cwd=repo.path, input=given_content, capture_output=True, check=False, timeout=60
    )
    assert done.returncode in {0, 1}, done.stderr
    return os.fsdecode(done.stdout).split("\0")[:-1]


def some_paths(chance: random.Random) -> list[str]:
    return sorted({"/".join(chance.choices(PARTS, k=chance.randint(1, 4))) for _ in range(40)})


def test_a_path_is_ignored_if_git_ignores_it(repo: GitRepo, tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(1)
    places = [repo.path / name for name in (".gitignore", "a/.gitignore", "a/b/.gitignore", ".git/info/exclude")]
    for _ in range(amount(25, 500)):
        for file in [*places, tmp_path / "config/git/ignore"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(chance.choices(PATTERNS, k=chance.randint(0, 4))) + "\n")
        paths = some_paths(chance)
        rules = GitIgnoreRules(opened(repo))
        report = set(asked(repo, "check-ignore", "-z", "--stdin", "--no-index", paths=paths))
        assert {path for path in paths if rules.ignores(path, is_folder=(repo.path / path).is_dir())} == report, [
            file.read_text() for file in places
        ]
