"""A repository with a submodule in it: every command reads it, and no commit takes the submodule away."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from shell import Shell
from support import GitRepo, new_repo

COMMANDS = [
    "list",
    "list --sort created",
    "search herons",
    "read sub/page",
    "log",
    "log sub/page",
    "diff sub/page",
    "links a",
    "check",
    "status",
    "doctor",
    "index",
    "restore",
]


@pytest.fixture
def outer(tmp_path: Path) -> GitRepo:
    """A page, and a submodule with a page."""
    inner = new_repo(tmp_path / "inner", {"page.md": "# Herons\n"})
    outer = new_repo(tmp_path / "outer", {"a.md": "# A\n"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    outer.git("commit", "--quiet", "--message", "Add a submodule")
    return outer


@pytest.mark.parametrize("there", ["checked out", "not checked out"])
@pytest.mark.sampled(4)
def test_commands_read_a_repository_with_a_submodule(outer: GitRepo, there: str) -> None:
    if there == "not checked out":
        outer.git("submodule", "--quiet", "deinit", "--force", "sub")
    for folder in (outer.path, outer.path / "sub"):
        shell = Shell(folder)
        for command in COMMANDS:
            done = shell(*command.split())
            assert "Traceback" not in done.stderr + done.text, (command, done)
            assert "cannot be read" not in done.stderr + done.text, (command, done)
            assert done.code in {0, 1, 3, 4}, (command, done)
    listed = Shell(outer.path).ok("list", "--json").json["documents"]
    assert [element["path"] for element in listed] == ["a.md", "sub/page.md"][: 2 if there == "checked out" else 1]


@pytest.mark.parametrize("there", ["a submodule", "a repository without a commit of it", "not checked out"])
def test_pages_of_a_submodule_are_not_called_uncommitted(outer: GitRepo, there: str) -> None:
    if there == "a repository without a commit of it":
        new_repo(outer.path / "deep/own", {"page.md": "# Cranes\n"})
    elif there == "not checked out":
        outer.git("submodule", "--quiet", "deinit", "--force", "sub")
        outer.write("sub/page.md", "# By hand\n")
    shell = Shell(outer.path)
    assert shell.ok("status", "--json").json["collections"][0]["uncommitted"] == []
    outer.write("a.md", "# A, edited\n")
    outer.write("new/b.md", "# B\n")
    assert shell.ok("status", "--json").json["collections"][0]["uncommitted"] == ["a.md", "new/b.md"]
    with agent("mcp", outer.path) as client:
        assert client.text("changes").startswith("Not committed: a.md, new/b.md\n")


@pytest.mark.parametrize("change", ["new commit", "edited", "staged"])
def test_a_commit_of_all_leaves_a_changed_submodule_alone(outer: GitRepo, change: str) -> None:
    sub = GitRepo(outer.path / "sub")
    sub.write("page.md", "# Herons, edited\n")
    if change != "edited":
        for name, value in (("user.name", "U"), ("user.email", "u@example.org")):
            sub.git("config", name, value)
        sub.commit("Change")
    if change == "staged":
        outer.git("add", "sub")
    before, status = outer.git("ls-tree", "HEAD", "sub"), outer.git("status", "--porcelain", "sub")
    outer.write("a.md", "# A, edited\n")
    with agent("mcp", outer.path, "--toolset", "kb", "--tier", "admin") as client:
        done = client.call("kb_commit", kb="outer", message="All")
        named = client.refusal("kb_commit", kb="outer", message="The submodule", paths=["sub"])
    assert done["files"] == ["a.md"]
    assert "No such file: sub" in named["error"]
    assert outer.git("ls-tree", "HEAD", "sub") == before
    assert outer.git("status", "--porcelain", "sub") == status


def test_a_submodule_that_is_only_staged_does_not_stop_a_commit(outer: GitRepo, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "other")
    outer.write("a.md", "# A, edited\n")
    with agent("mcp", outer.path, "--toolset", "kb", "--tier", "admin") as client:
        assert client.call("kb_commit", kb="outer", message="All")["files"] == ["a.md"]
    assert "A  other" in outer.git("status", "--porcelain")
