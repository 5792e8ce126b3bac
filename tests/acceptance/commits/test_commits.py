"""Every way to write into a repository of code: its commits hold what was written or named, and nothing else leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent import agent, text_of
from forms import fields, page, sent
from serving import served
from shell import Shell
from support import GitRepo, new_repo

NUL = "contains a NUL character"
UNASKED = [" M src/app.py", "A  src/staged.py", "?? src/new.py", "?? unasked.env"]
"""The developer's uncommitted changes, as `git status` prints them."""


@dataclass(frozen=True, slots=True)
class Code:
    """A program with a few pages, its remote, and work in progress."""

    repo: GitRepo
    origin: GitRepo

    def committed(self) -> set[str]:
        """Paths that commits since the beginning changed."""
        return set(self.repo.git("log", "--all", "--name-only", "--format=", "--not", "begin").split())

    def published(self) -> tuple[list[str], set[str]]:
        """References of the remote, and paths in their commits."""
        names = self.origin.git("for-each-ref", "--format=%(refname)").split()
        return names, set(self.origin.git("log", "--all", "--name-only", "--format=").split())


@pytest.fixture
def code(tmp_path: Path, cache_dir: Path) -> Code:
    assert cache_dir.is_dir()
    origin = GitRepo(tmp_path / "origin.git")
    origin.path.mkdir()
    origin.git("init", "--quiet", "--bare", "--initial-branch=main")
    files = {"src/app.py": "print(1)\n", "docs/Home.md": "# Home\n\nWelcome.\n", "docs/kb.yaml": "name: docs\n"}
    repo = new_repo(tmp_path / "code", files)
    repo.git("remote", "add", "origin", str(origin.path))
    repo.git("push", "--quiet", "origin", "main")
    repo.git("tag", "--annotate", "--message", "x", "begin")
    repo.git("config", "push.followTags", "true")
    repo.write("src/app.py", "print(2)\n")
    repo.write("src/staged.py", "print(3)\n")
    repo.git("add", "src/staged.py")
    repo.write("src/new.py", "print(4)\n")
    repo.write("unasked.env", "TOKEN=x\n")
    return Code(repo, origin)


def with_kb_and_commits(root: Path) -> set[str]:
    with agent("mcp", "--toolset", "kb", root, "--tier", "write", "--commit", "auto") as client:
        client.call("kb_create", kb_name="code", entry_type="note", title="One", body="x")
        client.call("kb_get", entry_id="docs/Home", kb_name="code")
        client.call("kb_update", entry_id="docs/Home", body="Anew.", kb_name="code")
    return {"notes/one.md", "docs/Home.md"}


def with_kb_commit(root: Path) -> set[str]:
    with agent("mcp", "--toolset", "kb", root, "--tier", "admin") as client:
        client.call("kb_create", kb_name="code", entry_type="note", title="One", body="x")
        done = client.call("kb_commit", kb="code", message="All that changed")
        assert done["files"] == ["notes/one.md"]
        (root / "picture.png").write_bytes(b"png")
        done = client.call("kb_commit", kb="code", message="A picture", paths=["picture.png"])
        assert done["files"] == ["picture.png"]
        refusal = client.refusal("kb_commit", kb="code", message="Again")
        assert "paths" in refusal["suggestion"]
        client.call("kb_push", kb="code")
    return {"notes/one.md", "picture.png"}


def with_kb_in_a_folder(root: Path) -> set[str]:
    (root / "docs/beside.env").write_text("TOKEN=x\n")
    with agent("mcp", "--toolset", "kb", root / "docs", "--tier", "admin") as client:
        client.call("kb_create", kb_name="docs", entry_type="note", title="One", body="x")
        type_def = {"description": "A ship"}
        client.call("kb_manage", action="add_type", kb_name="docs", type_name="vessel", type_def=type_def)
        client.call("kb_commit", kb="docs", message="All that changed")
        client.call("kb_push", kb="docs")
    (root / "docs/beside.env").unlink()
    return {"docs/notes/one.md", "docs/kb.yaml"}


def with_the_wiki(root: Path) -> set[str]:
    with agent("mcp", root, "--toolset", "wiki", "--tier", "write") as client:
        client.text("write_note", path="Journal", content="# Journal\n")
        client.text("rename_note", path="Journal", new_path="Diary")
        client.text("write_note", path="Old", content="x")
        client.text("delete_note", path="Old")
    return {"Journal.md", "Diary.md", "Old.md"}


def with_rest(root: Path) -> set[str]:
    with served(root) as server:
        assert server.ask("PUT", "/api/v1/pages/Page", {"content": "# Page\n"}).status == 201
        content = {"filename": "a.txt", "content": "eA=="}
        assert server.ask("POST", "/api/v1/pages/Page/attachments", content).status == 201
    return {"Page.md", "Page/a.txt"}


def with_commands(root: Path) -> set[str]:
    shell = Shell(root)
    shell.ok("write", "new", stdin="one\n")
    shell.ok("write", "new", "--set", "status=done")
    shell.ok("write", "new", "--rename", "other")
    shell.ok("write", "other", "--force", stdin="two\n")
    shell.ok("write", "other", "--delete", "--force")
    return {"new.md", "other.md"}


def with_projects(root: Path) -> set[str]:
    with agent("mcp", root, "--toolset", "projects", "--adopt") as client:
        client.call("update_project_main", project_id="app", content="# App\n")
        client.call("create_todo", project_id="app", description="x", tasks=[{"title": "One"}])
        (root / "projects/app/main.md").write_text("by hand")
        assert client.call("sync_storage")["pushed"] is True
    return {
        "index.json",
        *(f"projects/app/{element}" for element in ("main.md", "TODO/1/index.json", "TODO/1/TASK-001-one.md")),
    }


WAYS: list[Callable[[Path], set[str]]] = [
    with_kb_and_commits,
    with_kb_commit,
    with_kb_in_a_folder,
    with_the_wiki,
    with_rest,
    with_commands,
    with_projects,
]


@pytest.mark.parametrize("write", WAYS)
def test_a_commit_holds_what_was_written_and_a_push_sends_nothing_else(
    code: Code, write: Callable[[Path], set[str]]
) -> None:
    requested_texts = write(code.repo.path)
    committed = code.committed()
    assert committed, "the way makes commits"
    assert committed <= requested_texts
    assert sorted(code.repo.git("status", "--porcelain").splitlines()) == sorted(UNASKED)
    names, published = code.published()
    assert names == ["refs/heads/main"]
    assert published <= requested_texts | {"src/app.py", "docs/Home.md", "docs/kb.yaml"}
    assert code.origin.git("show", "main:src/app.py") == "print(1)"


def test_a_nul_in_a_commit_message_is_refused_everywhere_and_nothing_is_written(
    tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", {"Home.md": "# Home\n\nWelcome.\n"})
    head, message = repo.git("rev-parse", "HEAD"), "Why\0not"
    with served(repo.path, "--tier", "write", "--commit", "auto") as server:
        shown = fields(page(server, "/edit/Home"))
        assert sent(server, "/edit/Home", **{**shown, "text": "Else.\n", "message": message}).status == 422
        answers = [
            server.ask("PUT", "/api/v1/pages/New", {"content": "x", "commit_message": message}),
            server.ask("DELETE", "/api/v1/pages/Home", {"commit_message": message}),
            server.ask("POST", "/api/v1/undo", {"commits": [head], "message": message}),
        ]
        assert {(answer.status, NUL in answer.body.decode()) for answer in answers} == {(422, True)}
    calls: list[tuple[str, str, dict[str, object]]] = [
        ("wiki", "write_note", {"path": "New", "content": "x", "commit_message": message}),
        ("notes", "write", {"page": "New", "text": "x", "message": message}),
        ("kb", "kb_commit", {"kb": "base", "message": message, "paths": ["Home.md"]}),
    ]
    for toolset, tool, arguments in calls:
        tier = "admin" if toolset == "kb" else "write"
        with agent("mcp", repo.path, "--toolset", toolset, "--tier", tier, "--commit", "auto") as client:
            result = client.raw(tool, **arguments)
            assert result.is_error, tool
            assert NUL in text_of(result), text_of(result)
    assert repo.git("rev-parse", "HEAD") == head
    assert repo.git("status", "--porcelain") == ""
