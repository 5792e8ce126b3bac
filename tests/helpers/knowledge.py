"""Agents on a store of projects, and shorthands for what many tests write into one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent import Agent, agent
from support import GitRepo

CHAPTERS = [{"title": "Tokens", "content": "Tokens expire.\n\nMore."}, {"title": "Keys", "content": "Keys rotate."}]


@contextmanager
def projects(
    home: Path, env: Mapping[str, str] | None = None, log: Path | None = None, *, fresh: bool = False
) -> Iterator[Agent]:
    """An agent on the store at this path, whose process is `fresh` where it must be."""
    with agent("mcp", home, "--toolset", "projects", env=env, log=log, fresh=fresh) as client:
        yield client


def empty(client: Agent) -> None:
    """Delete every project, so that the next test on this server begins with none."""
    for row in client.call("list_projects")["projects"]:
        client.call("delete_project", project_id=row["project_id"])


def create(client: Agent, project_id: str = "app", filename: str = "Auth", **changes: Any) -> Any:
    """A document of two chapters."""
    given_values = {
        "title": "Authentication",
        "introduction": "How users sign in.",
        "keywords": ["auth", "login"],
        "chapters": CHAPTERS,
        **changes,
    }
    return client.call("create_knowledge_file", project_id=project_id, filename=filename, **given_values)


def failure(client: Agent, tool: str, /, **arguments: Any) -> str:
    """The code of a refusal, whose envelope must be as the contract has it."""
    shown = client.refusal(tool, **arguments)
    assert set(shown) == {"success", "error", "code", "context"}
    assert shown["success"] is False
    context = shown["context"]
    assert len(context["traceId"]) == 32
    assert int(context["traceId"], 16) >= 0
    assert context["timestamp"].endswith("Z")
    assert "projects/" not in shown["error"]
    assert "TODO/" not in shown["error"]
    return shown["code"]


def repository(home: Path) -> GitRepo:
    """The store's repository."""
    return GitRepo(home)


def subjects(home: Path) -> list[str]:
    """Subjects of all commits, newest first."""
    return repository(home).git("log", "--format=%s").splitlines()


def index(home: Path) -> dict[str, str]:
    """The content of `index.json`."""
    return json.loads((home / "index.json").read_text())["projects"]


def clean(home: Path) -> None:
    """Nothing uncommitted, nothing damaged, no lock left."""
    repo = repository(home)
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict", "--no-dangling")
    assert not list((home / ".git").rglob("*.lock")) or [p.name for p in (home / ".git").rglob("*.lock")] == [
        "commonplace.lock"
    ]
