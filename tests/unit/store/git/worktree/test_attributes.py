"""A path has the attributes that Git gives it."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.git.worktree import GitAttributes
from support import Amount, GitRepo, new_repo

PARTS = ("a", "b", "ab", "a.md", "b.txt", "x y", "éa")


PATTERNS = (
    "a", "*.md", "b/", "/a", "a/b", "**/a", "a/**", "a/**/b", "*b*", "?", "[ab]", "[!a]*", "!a.md", "!b", "x\\ y",
    "\\!a",    "ab/*", "**", "*/a.md", "éa", "a*/", "# no", "", "!*.txt", "[a-b].md", "b/**/a.md",
)  # fmt: skip


ATTRIBUTES = ("text", "-text", "!text", "text=auto", "binary", "eol=lf", "mine=1", "macro", "ident", "-ident", "!mine")


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


def test_a_path_has_the_attributes_that_git_gives_it(repo: GitRepo, tmp_path: Path, amount: Amount) -> None:
    chance = random.Random(2)
    places = [repo.path / name for name in (".gitattributes", "a/.gitattributes", "a/b/.gitattributes")]
    places += [repo.path / ".git/info/attributes", tmp_path / "config/git/attributes"]
    names = ("text", "eol", "mine", "ident", "diff", "merge", "macro", "binary", "crlf")
    for _ in range(amount(25, 500)):
        for file in places:
            file.parent.mkdir(parents=True, exist_ok=True)
            patterns = [pattern for pattern in PATTERNS if pattern and not pattern.startswith(("!", "#"))]
            lines = [
                (chance.choice((glob, f'"{glob}"')) if "\\" not in glob and " " not in glob else "a")
                + " "
                + " ".join(chance.choices(ATTRIBUTES, k=chance.randint(1, 3)))
                for glob in chance.choices(patterns, k=chance.randint(0, 4))
            ]
            file.write_text("\n".join(["[attr]macro mine=macro -ident", *lines]) + "\n")
        paths, repository = some_paths(chance), opened(repo)
        fields = asked(repo, "check-attr", "-z", "--stdin", *names, paths=paths)
        values: dict[str, dict[str, bool | str]] = {path: {} for path in paths}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            if value != "unspecified":
                values[path][name] = {"set": True, "unset": False}.get(value, value)
        for path in paths:
            assert GitAttributes(repository).of(repository.handle.index, path) == values[path], (
                path,
                [f.read_text() for f in places],
            )
