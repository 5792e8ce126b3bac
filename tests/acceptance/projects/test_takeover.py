"""Files in the folder of a store that the store takes over at its first start, and later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent import agent
from knowledge import create, projects, repository
from support import GitRepo, new_repo


def by_hand(folder: Path) -> None:
    """Two projects without an `index.json`."""
    repo = GitRepo(folder)
    repo.write("projects/web/main.md", "# HANDMAIN\n")
    repo.write("projects/web/knowledge/d.md", "---\ntitle: D\n---\n\n## A\n\ntext\n")
    repo.write("projects/api/main.md", "# API\n")


def committed(repo: GitRepo) -> None:
    """Commit everything that is there, as the older server did."""
    repo.git("add", "--all")
    who = ["-c", "user.name=Knowledge MCP Server", "-c", "user.email=knowledge-mcp@localhost"]
    repo.git(*who, "commit", "--quiet", "--message", "Sync storage")


@pytest.mark.parametrize("kind", ["plain", "Git without a commit", "Git", "adopted"])
def test_projects_made_by_hand_are_there_whatever_the_folder_is(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    if kind == "adopted":
        new_repo(home, {"app.py": "print()\n"})
    by_hand(home)
    if kind.startswith("Git"):
        GitRepo(home).git("init", "--quiet", "--initial-branch=main")
    if kind == "Git":
        committed(GitRepo(home))
    with agent("mcp", home, "--toolset", "projects", *(["--adopt"] if kind == "adopted" else [])) as client:
        assert client.call("get_project_main", project_id="web")["content"] == "# HANDMAIN\n"
        client.call("update_project_main", project_id="web", content="# New\n")
        assert {row["project_id"] for row in client.call("list_projects")["projects"]} == {"web", "api"}
    assert sorted(path.name for path in (home / "projects").iterdir()) == ["api", "web"]
    assert json.loads((home / "index.json").read_text())["projects"] == {"api": "api", "web": "web"}


def test_only_what_projects_consist_of_is_taken_over(tmp_path: Path) -> None:
    home = tmp_path / "home"
    by_hand(home)
    repo = GitRepo(home)
    mine = ["projects/web/.env", "projects/web/.secret/note.md", "projects/web/key.pem", "projects/web/TODO/a.txt"]
    for path in mine:
        repo.write(path, "TOKEN=canary\n")
    with projects(home) as client:
        create(client, project_id="web", filename="made")
        client.call("create_todo", project_id="web", description="List")
        repo.write("projects/web/.later.md", "TOKEN=canary\n")
        repo.write("projects/web/TODO/1/TASK-009-hand.md", "# Hand\n")
        client.call("sync_storage")
        assert client.call("get_storage_status")["status_details"] == ""
    parts = set(repository(home).git("log", "--all", "--name-only", "--format=").split())
    assert not parts & {*mine, "projects/web/.later.md"}
    assert {"projects/web/main.md", "projects/web/knowledge/d.md", "projects/web/TODO/1/index.json"} <= parts
    assert "projects/web/TODO/1/TASK-009-hand.md" in parts


def test_what_is_committed_already_is_followed_unless_it_is_hidden(tmp_path: Path) -> None:
    home = tmp_path / "home"
    by_hand(home)
    repo = GitRepo(home)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("projects/web/figure.svg", "<svg/>")
    repo.write("projects/web/.env", "A=1\n")
    committed(repo)
    with projects(home) as client:
        repo.write("projects/web/figure.svg", "<svg></svg>")
        repo.write("projects/web/.env", "TOKEN=canary\n")
        assert client.call("sync_storage")["files_committed"] == 1
    assert repo.git("status", "--porcelain") == " M projects/web/.env"
