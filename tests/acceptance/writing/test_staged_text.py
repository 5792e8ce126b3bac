"""Text that only Git's index has: a commit that sets the entry of its path keeps it, and names where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent
from commonplace.domain.revisions import revision_of
from knowledge import create, projects
from serving import served
from shell import Shell
from support import GitRepo, new_repo

STAGED = "one\nSTAGED\n"
REVISION = revision_of(STAGED.encode())


@pytest.fixture(autouse=True)
def _own_state(cache_dir: Path) -> None:
    """A trash of the test's own, also for the processes that it starts."""


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """`a.md` (MM) and `new.md` (AD) have staged text that neither the last commit nor the file has."""
    repo = new_repo(tmp_path / "base", {"a.md": "one\n", "b.md": "b\n"})
    stage(repo, "a.md", "one\n")
    stage(repo, "new.md", None)
    assert repo.git("status", "--porcelain").split("\n") == ["MM a.md", "AD new.md"]
    return repo


def stage(repo: GitRepo, path: str, text: str | None) -> None:
    """Stage `STAGED` for a path whose file then has another text, or is gone."""
    repo.write(path, STAGED)
    repo.git("add", path)
    if text is None:
        (repo.path / path).unlink()
    else:
        repo.write(path, text)


def named(answer: Any) -> list[tuple[str, str, str, bool]]:
    """The retained copies that an answer lists."""
    return [(value["path"], value["revision"], value["place"], value.get("staged", False)) for value in answer["kept"]]


@pytest.mark.parametrize("path", ["a.md", "new.md"])
def test_the_command_line_keeps_what_only_the_index_had(repo: GitRepo, path: str) -> None:
    shell = Shell(repo.path)
    done = shell.ok("write", path, "--json", *(["--append"] if path == "a.md" else []), stdin="more\n")
    assert named(done.json) == [(path, REVISION, "trash", True)]
    repo.git("gc", "--quiet", "--prune=now")
    shell.ok(*done.json["kept"][0]["restore"].split()[1:], "--to", "again.md")
    assert (repo.path / "again.md").read_text() == STAGED


def test_a_deletion_and_a_file_in_the_way_of_a_new_folder_count_too(repo: GitRepo) -> None:
    stage(repo, "sub", None)
    shell = Shell(repo.path)
    assert named(shell.ok("write", "sub/page", "--json", stdin="x").json) == [("sub", REVISION, "trash", True)]
    rows = named(shell.ok("write", "a", "--delete", "--force", "--json").json)
    assert [row for row in rows if row[2] == "trash"] == [("a.md", REVISION, "trash", True)]


def test_a_restored_page_is_what_the_file_last_was_and_not_what_was_staged(repo: GitRepo) -> None:
    stage(repo, "new.md", "the last text\n")
    shell = Shell(repo.path)
    shell.ok("rm", "new", "--force")
    shell.ok("restore", "new")
    assert (repo.path / "new.md").read_text() == "the last text\n"


def test_staged_text_that_the_write_or_the_commit_has_is_not_kept(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    assert "kept" not in shell.ok("write", "new.md", "--json", stdin=STAGED).json
    repo.write("b.md", "staged and in the file\n")
    repo.git("add", "b.md")
    assert named(shell.ok("write", "b", "--append", "--json", stdin="x").json) == [
        ("b.md", revision_of(b"staged and in the file\n"), "trash", False)
    ]


@pytest.mark.parametrize("version", ["3", "4"])
def test_an_index_of_another_version_is_read_as_well(repo: GitRepo, version: str) -> None:
    if version == "4":
        repo.git("update-index", "--index-version", "4")
    else:
        repo.write("later.md", "x")
        repo.git("add", "--intent-to-add", "later.md")
    assert (repo.path / ".git/index").read_bytes()[4:8] == bytes([0, 0, 0, int(version)])
    done = Shell(repo.path).ok("write", "a", "--append", "--json", stdin="more\n")
    assert named(done.json) == [("a.md", REVISION, "trash", True)]


def test_the_sides_of_a_conflict_are_kept(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "one\n"})
    repo.write("a.md", "stashed\n")
    repo.git("stash")
    repo.commit(**{"a.md": "two\n"})
    with pytest.raises(AssertionError):
        repo.git("stash", "pop")
    done = Shell(repo.path).ok("write", "a", "--append", "--json", stdin="more\n")
    revisions = {revision for _, revision, _, staged in named(done.json) if staged}
    assert revisions == {revision_of(b"one\n"), revision_of(b"stashed\n")}


def test_tools_requests_and_commits_keep_it(repo: GitRepo) -> None:
    with served(repo.path) as server:
        assert named(server.page("PUT", "new", {"content": "y\n"}).json) == [("new.md", REVISION, "trash", True)]
    with agent("mcp", repo.path, "--toolset", "wiki") as wiki:
        stage(repo, "b.md", "b\n")
        revision = revision_of(b"b\n")
        said = wiki.text("edit_note", path="b", revision=revision, old_string="b", new_string="c")
        assert "the staged text of b.md: it is kept until" in said
    with kb(repo) as client:
        stage(repo, "a.md", "one\nby hand\n")
        assert named(client.call("kb_commit", kb="base", message="Commit")) == [("a.md", REVISION, "trash", True)]


def kb(repo: GitRepo) -> Any:
    """A server that commits on request."""
    return agent("mcp", repo.path, "--toolset", "kb", "--tier", "admin")


def test_a_store_of_projects_keeps_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with projects(home) as client:
        create(client, project_id="x", filename="d")
        client.call("update_project_main", project_id="x", content="# Committed\n")
        main = "projects/x/main.md"
        stage(GitRepo(home), main, "# Committed\n")
        answer = client.call("update_project_main", project_id="x", content="# Agent\n")
        assert named(answer) == [(main, REVISION, "trash", True)]
        stage(GitRepo(home), main, "# By hand\n")
        answer = client.call("sync_storage")
        assert named(answer) == [(main, REVISION, "trash", True)]


def commit(client: Agent, **arguments: Any) -> list[str]:
    """The files that a commit names."""
    return client.call("kb_commit", kb="base", message="Commit", **arguments)["files"]


def test_a_commit_of_all_pages_leaves_what_is_staged_of_unchanged_ones(repo: GitRepo) -> None:
    repo.git("rm", "--quiet", "--cached", "b.md")
    repo.write("c.md", "c\n")
    with kb(repo) as client:
        assert commit(client) == ["c.md"]
        assert repo.git("status", "--porcelain").split("\n") == ["MM a.md", "D  b.md", "AD new.md", "?? b.md"]
        repo.write("b.md", "edited after it was taken out of the index\n")
        client.refusal("kb_commit", kb="base", message="Nothing")
        assert "D  b.md" in repo.git("status", "--porcelain")
        client.refusal("kb_commit", kb="base", message="Nothing", paths=["a.md"])
        assert "MM a.md" in repo.git("status", "--porcelain")
        assert commit(client, paths=["b.md"]) == ["b.md"]
