"""Objects of Git that are cut off: every command that reads the past ends, with an error of Git and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo, MakeRepo

LONG = "".join(f"{number * 7919 % 10007:x}\n" for number in range(4_000))
COMMANDS = (
    ("diff", "b"),
    ("diff", "b", "--from", "HEAD"),
    ("log", "b", "--diff", "HEAD"),
    ("log", "sub/c"),
    ("log",),
    ("read", "b", "--at", "HEAD"),
    ("read", "sub/c", "--at", "HEAD"),
    ("list", "--at", "HEAD"),
    ("search", "words", "--at", "HEAD"),
    ("status",),
    ("list",),
    ("check",),
    ("doctor",),
    ("write", "new"),
)
ENDINGS = {0, 1, 3, 4, 5, 10}
"""Exit codes that name what is wrong; 70 is an internal error."""


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """A long page, and a folder with many."""
    many = {f"sub/{number * 7919 % 10007:05}.md": f"words {number}\n" for number in range(250)}
    made = git_repo("repo", {"b.md": LONG, "sub/c.md": "words\n", **many})
    made.git("commit", "--allow-empty", "--amend", "-q", "-m", LONG)
    return made


@pytest.mark.parametrize("name", ["HEAD", "HEAD^{tree}", "HEAD:sub", "HEAD:b.md"])
@pytest.mark.parametrize("share", [pytest.param(0.5, marks=pytest.mark.soak), 0.9])
@pytest.mark.sampled(6)
def test_commands_end_where_an_object_is_cut(repo: GitRepo, tmp_path: Path, name: str, share: float) -> None:
    identifier = repo.git("rev-parse", name)
    file = repo.path / ".git/objects" / identifier[:2] / identifier[2:]
    content = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(content[: int(len(content) * share)])
    shell = Shell(tmp_path)
    for command in COMMANDS:
        done = shell(*command, "-C", str(repo.path), stdin="x\n")
        assert "Traceback" not in done.stderr, command
        assert done.code in ENDINGS, (command, done.stderr)
