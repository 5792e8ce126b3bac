"""Another program's `index.lock` during a write: once it is gone, a look brings Git's index up to date."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from agent import agent
from knowledge import create, projects
from serving import served
from shell import Shell
from support import GitRepo, eventually, new_repo

Act = Callable[[], object]


@contextmanager
def kb(folder: Path, *options: str) -> Generator[tuple[Act, Act]]:
    """Writing and reading through the toolset `kb`."""
    with agent("mcp", folder, "--toolset", "kb", *options) as client:
        where = {"entry_id": "n", "kb_name": folder.name}
        revision = client.call("kb_get", **where)["entry"]["revision"]

        def write() -> None:
            client.call("kb_update", **where, body="# acknowledged\n", revision=revision)
            if "auto" not in options:
                client.call("kb_commit", kb=folder.name, message="By request")

        yield write, lambda: client.call("kb_get", **where)


@contextmanager
def wiki(folder: Path) -> Generator[tuple[Act, Act]]:
    """The same through `wiki`."""
    with agent("mcp", folder, "--toolset", "wiki") as client:
        client.text("read_note", path="n")
        yield (
            lambda: client.text("write_note", path="n", content="# acknowledged\n"),
            lambda: client.text("read_note", path="n"),
        )


@contextmanager
def rest(folder: Path) -> Generator[tuple[Act, Act]]:
    """The same through the REST API."""
    with served(folder) as server:
        revision = server.page("GET", "n").json["revision"]
        yield (
            lambda: server.page("PUT", "n", {"content": "# acknowledged\n", "revision": revision}),
            lambda: server.page("GET", "n"),
        )


@contextmanager
def commands(folder: Path) -> Generator[tuple[Act, Act]]:
    """The same with commands, of which each is a process."""
    shell = Shell(folder)
    yield lambda: shell.ok("write", "n", "--force", stdin="# acknowledged\n"), lambda: shell.ok("read", "n")


Way = Callable[[Path], AbstractContextManager[tuple[Act, Act]]]
WAYS: dict[str, Way] = {
    "kb, auto": lambda folder: kb(folder, "--tier", "write", "--commit", "auto"),
    "kb, by request": lambda folder: kb(folder, "--tier", "admin"),
    "wiki": wiki,
    "rest": rest,
    "commands": commands,
}


def is_clean_after(read: Act, repo: GitRepo) -> bool:
    """Whether Git's index is up to date after a read, which passes while another thread holds the writer lock."""
    read()
    return repo.git("--no-optional-locks", "status", "--porcelain", "--untracked-files=no") == ""


def reverts_nothing(repo: GitRepo, path: str) -> None:
    """The user's plain commit changes nothing."""
    head = repo.git("rev-parse", "HEAD")
    assert repo.git("status", "--porcelain", "--untracked-files=no") == ""
    repo.git("commit", "--quiet", "--allow-empty", "--message", "By the user")
    repo.git("commit", "--quiet", "--all", "--allow-empty", "--message", "By the user")
    assert repo.git("diff", "--stat", head, "HEAD") == ""
    assert "acknowledged" in repo.git("show", f"HEAD:{path}")


@pytest.mark.parametrize("way", WAYS)
def test_a_read_is_enough_for_the_users_commit_to_revert_nothing(way: str, tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": "# old\n", "kb/n.md": "# old\n"})
    folder = repo.path / "kb"  # its repository's own folder is not watched: nothing but the read tells
    lock = repo.path / ".git/index.lock"
    with WAYS[way](folder) as (write, read):
        lock.touch()
        write()
        read()
        assert repo.git("status", "--porcelain", "--untracked-files=no") == "MM kb/n.md"
        lock.unlink()
        eventually(lambda: is_clean_after(read, repo))
        reverts_nothing(repo, "kb/n.md")


WAITS = "Git's index does not have this write yet"


def test_the_answer_of_a_write_says_that_the_index_waits(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": "# old\n"})
    (repo.path / ".git/index.lock").touch()
    with agent("mcp", repo.path, "--toolset", "kb", "--tier", "write", "--commit", "auto") as client:
        made = client.call("kb_create", kb_name="base", entry_type="note", title="One")
        assert made["index_waits"].startswith(WAITS)
        assert "index_waits" not in client.call("kb_get", kb_name="base", entry_id="one")
    with agent("mcp", repo.path, "--toolset", "wiki") as client:
        assert WAITS in client.text("write_note", path="two", content="# Two\n")
    with served(repo.path) as server:
        assert server.page("PUT", "three", {"content": "# Three\n"}).json["index_waits"].startswith(WAITS)
    shell = Shell(repo.path)
    assert WAITS in shell.ok("write", "four", stdin="# Four\n").stderr
    (repo.path / ".git/index.lock").unlink()
    assert WAITS not in shell.ok("write", "five", stdin="# Five\n").stderr


def test_what_the_doctor_says_brings_the_index_up_to_date(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": "# old\n"})
    lock = repo.path / ".git/index.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    shell = Shell(repo.path)
    shell.ok("write", "n", "--force", stdin="# acknowledged\n")
    findings = [finding for finding in shell("doctor", "--json").json["findings"] if finding["check"] == "lock"]
    assert "Git's index lacks what commonplace has committed of 1 file" in findings[0]["message"]
    remove, _, then = findings[0]["command"].partition(" && ")
    assert (remove, then) == (f"rm {lock}", f"commonplace status -C {repo.path}")
    lock.unlink()
    shell.ok("status", "-C", repo.path)
    reverts_nothing(repo, "n.md")


def test_the_doctor_says_what_to_do_after_a_git_at_work_if_the_index_waits_for_it(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": "# old\n"})
    lock = repo.path / ".git/index.lock"
    lock.touch()
    shell = Shell(repo.path)
    shell.ok("write", "n", "--force", stdin="# acknowledged\n")
    (value,) = [
        finding
        for finding in shell("doctor", "--json").json["findings"]
        if finding["check"] == "lock" and finding["severity"]
    ]
    assert "Git is at work: index.lock" in value["message"]
    assert "Git's index lacks what commonplace has committed of 1 file" in value["message"]
    assert value["command"] == f"commonplace status -C {repo.path}"


def test_the_store_of_projects_is_mended_by_a_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    chapter = {"project_id": "x", "filename": "d.md", "chapter_title": "A"}
    with projects(home) as client:
        create(client, project_id="x", filename="d", chapters=[{"title": "A", "content": "old"}])
        (home / ".git/index.lock").touch()
        client.call("update_chapter", **chapter, new_content="acknowledged")
        assert GitRepo(home).git("status", "--porcelain", "--untracked-files=no") == "MM projects/x/knowledge/d.md"
        (home / ".git/index.lock").unlink()
        repo = GitRepo(home)
        eventually(lambda: is_clean_after(lambda: client.call("get_chapter", **chapter), repo))
        repo.git("config", "user.name", "U")
        repo.git("config", "user.email", "u@example.org")
        reverts_nothing(repo, "projects/x/knowledge/d.md")


def test_a_server_that_watches_the_repository_needs_no_read(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": "# old\n"})
    with kb(repo.path, "--tier", "write", "--commit", "auto") as (write, _):
        (repo.path / ".git/index.lock").touch()
        write()
        (repo.path / ".git/index.lock").unlink()
        eventually(lambda: is_clean_after(lambda: None, repo))
        reverts_nothing(repo, "n.md")
