"""Commands and agents on a Git remote, without a server or a checkout: `-C URL`, and `mcp --replica-of URL`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent import agent
from remotes.replicas import push, team
from shell import Shell
from support import GitRepo


@pytest.fixture
def base(tmp_path: Path, cache_dir: Path) -> tuple[GitRepo, Path, str]:
    """A work tree, its remote, and the remote's URL."""
    del cache_dir
    work, remote = team(tmp_path)
    return work, remote, f"file://{remote}"


def subjects(remote: Path, work: GitRepo) -> list[str]:
    return work.git("--git-dir", str(remote), "log", "--format=%s", "HEAD").splitlines()


def test_a_command_reads_what_the_remote_has_now(base: tuple[GitRepo, Path, str], tmp_path: Path) -> None:
    work, _, url = base
    shell = Shell(tmp_path)
    assert shell.ok("search", "first", "-C", url, "--json").json["hits"][0]["path"] == "a.md"
    commit = push(work, "b.md", "# Beta\n\nsecond words, see [alpha](a.md)\n")
    assert shell.ok("read", "b", "-C", url).text == "# Beta\n\nsecond words, see [alpha](a.md)\n"
    assert "b.md" in shell.ok("links", "a", "--back", "-C", url).text
    (state,) = shell.ok("status", "-C", url, "--json").json["collections"]
    assert (state["commit"], state["read_only"]) == (commit, "")
    assert shell.ok("search", "second", "--kb", url, "--at", f"before {commit}", "--json").json["total"] == 0
    work.git("tag", "v10", f"{commit}^")
    work.git("push", "--quiet", "origin", "v10")
    assert shell.ok("search", "second", "--kb", url, "--at", "v10", "--json").json["total"] == 0
    assert (
        shell.ok("search", "second", "--kb", url, "--at", f"{datetime.now(UTC):%Y-%m-%d}", "--json").json["total"] == 1
    )


def test_a_write_has_reached_the_remote_when_the_command_ends(base: tuple[GitRepo, Path, str], tmp_path: Path) -> None:
    work, remote, url = base
    shell = Shell(tmp_path)
    json = shell.ok("write", "new", "-m", "Add a page", "-C", url, "--json", stdin="# New\n").json
    assert json["commit"] == work.git("--git-dir", str(remote), "rev-parse", "HEAD")
    assert subjects(remote, work)[0] == "Add a page"
    shell.ok("mv", "new", "newer", "-C", url)
    assert "newer.md" in work.git("--git-dir", str(remote), "ls-tree", "--name-only", "HEAD").split()
    assert not list(tmp_path.glob("*.md"))
    done = shell("write", "other", "--no-commit", "-C", url, stdin="# Other\n")
    assert (done.code, "is a commit" in done.stderr) == (2, True)


def test_while_the_remote_is_away_commands_read_what_they_had_and_write_nothing(
    base: tuple[GitRepo, Path, str], tmp_path: Path
) -> None:
    work, remote, url = base
    shell = Shell(tmp_path)
    shell.ok("list", "-C", url)
    remote.rename(tmp_path / "away.git")
    done = shell.ok("read", "a", "-C", url)
    assert "first words" in done.text
    assert "cannot be read" in done.stderr
    assert work.git("rev-parse", "HEAD")[:12] in done.stderr
    refused = shell("write", "new", "-C", url, "--json", stdin="# New\n")
    assert (refused.code != 0, refused.error["code"] if refused.stderr.startswith("{") else "unavailable") == (
        True,
        "unavailable",
    )
    never = shell("read", "a", "-C", f"file://{tmp_path}/never.git")
    assert never.code != 0
    assert "cannot be read" in never.stderr


def test_a_base_has_the_name_that_it_declares_from_the_first_start(base: tuple[GitRepo, Path, str]) -> None:
    work, _, url = base
    push(work, "kb.yaml", "name: Ships\n")
    with agent("mcp", "--replica-of", url, "--replica-writes", "--toolset", "kb", "--tier", "admin") as client:
        made = client.call("kb_create", kb_name="Ships", entry_type="note", title="Fram", body="A ship.\n")
        assert made["created"]
        refused = client.refusal("kb_commit", kb="Ships", message="All")
        assert "its remote has already" in refused["error"]


def test_among_several_bases_no_push_takes_the_name_of_another(base: tuple[GitRepo, Path, str], tmp_path: Path) -> None:
    work, remote, url = base
    work.git("clone", "--quiet", "--bare", str(remote), str(tmp_path / "other.git"))
    push(work, "kb.yaml", "name: other\n")
    line = ("mcp", "--replica-of", url, "--replica-of", f"file://{tmp_path}/other.git", "--toolset", "kb")
    with agent(*line) as client:
        assert sorted(knowledge_base["name"] for knowledge_base in client.call("kb_list")["knowledge_bases"]) == sorted(
            [remote.stem, "other"]
        )


@pytest.mark.parametrize("line", [["doctor"], ["open", "a"], ["new", "b", "--edit"], ["lsp"]])
def test_what_needs_files_says_so(base: tuple[GitRepo, Path, str], tmp_path: Path, line: list[str]) -> None:
    done = Shell(tmp_path)(*line, "-C", base[2])
    assert (done.code, "needs files" in done.stderr) == (2, True)


def test_folders_and_remotes_are_not_mixed(base: tuple[GitRepo, Path, str], tmp_path: Path) -> None:
    done = Shell(tmp_path)("list", "-C", base[2], "-C", tmp_path)
    assert (done.code, "Name folders, or remotes to follow" in done.stderr) == (2, True)


def test_an_entry_for_a_client_names_the_remote(base: tuple[GitRepo, Path, str], tmp_path: Path) -> None:
    line = ("connect", "cursor", "-C", base[2], "--tier", "write", "--file", tmp_path / "mcp.json", "--json")
    entry = Shell(tmp_path).ok(*line).json["entry"]
    assert entry["mcpServers"]["team"]["args"] == [
        "mcp", "--replica-of", base[2], "--replica-writes", "--tier", "write"
    ]  # fmt: skip


def test_an_agent_on_standard_input_reads_and_writes_a_remote(base: tuple[GitRepo, Path, str]) -> None:
    work, remote, url = base
    with agent("mcp", "--replica-of", url, "--replica-writes", "--tier", "write") as client:
        assert "first words" in client.text("read", page="a")
        client.text("write", page="new", text="# New\n\nby an agent\n")
        assert len(subjects(remote, work)) == 2
        assert "by an agent" in client.text("read", page="new")
    with agent("mcp", url, "--tier", "write") as reader:
        assert "by an agent" in reader.text("read", page="new")
        assert reader.raw("write", page="x", text="# X\n").is_error
