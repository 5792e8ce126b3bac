"""Codes of the toolset `projects` that no argument brings about: a store that was edited, damaged or set up wrongly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from mcp import MCPError

from agent import Agent
from knowledge import create, failure, index, projects, repository, subjects
from support import GitRepo, eventually

FAULT = """\
import commonplace.toolsets.projects.service.todos as todos

def fail(*_):
    raise ZeroDivisionError("a secret of the code")

todos.list_todos = fail
"""
"""A fault in the code, put into the real process by Python's own hook for a site: one function fails as none should."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two projects; each test has its own copy."""
    store = tmp_path_factory.mktemp("begun") / "home"
    with projects(store) as client:
        create(client)
        client.call("update_project_main", project_id="app", content="# App\n")
        client.call("update_project_main", project_id="other", content="# Other\n")
    return store


@pytest.fixture
def home(tmp_path: Path, cache_dir: Path, begun: Path) -> Path:
    assert cache_dir.is_dir()
    return Path(shutil.copytree(begun, tmp_path / "home", symlinks=True))


def noted(home: Path, method: str) -> list[str]:
    """The error codes of a method's calls in the activity log, when the last is there."""
    lines = [json.loads(line) for line in (home / "activity.log").read_text().splitlines()]
    return [line["errorCode"] for line in lines if line["method"] == method and not line["success"]]


def shown_error(client: Agent, uri: str) -> str:
    with pytest.raises(MCPError) as caught:
        client.run(client.client.read_resource, uri)
    return caught.value.error.message


def test_a_resource_that_there_is_not_is_not_found(home: Path) -> None:
    with projects(home) as client:
        uris = ("knowledge://projects/app/nothing", "knowledge://elsewhere", "knowledge://projects/..%2Fapp/main")
        for uri in uris:
            assert shown_error(client, uri) == "Resource not found."
        eventually(lambda: noted(home, "resources/read")[-3:] == ["NOT_FOUND"] * 3)
        shown_error(client, "knowledge://projects/none/files")
        shown_error(client, "knowledge://projects/app/chapters/none")
        eventually(lambda: noted(home, "resources/read")[-2:] == ["PROJECT_NOT_FOUND", "DOCUMENT_NOT_FOUND"])


def test_something_else_in_the_place_of_a_file_is_an_invalid_path(home: Path) -> None:
    app = home / "projects/app"
    with projects(home) as client:
        for put in ((app / "main.md").mkdir, lambda: (app / "main.md").symlink_to("/etc/hosts")):
            (app / "main.md").unlink()
            put()
            assert client.call("get_project_main", project_id="app")["exists"] is False
            assert failure(client, "update_project_main", project_id="app", content="x") == "INVALID_PATH"
            if (app / "main.md").is_dir():
                (app / "main.md").rmdir()
                (app / "main.md").touch()
        shutil.rmtree(app / "knowledge")
        (app / "knowledge").write_text("a file")
        given_values = {"filename": "n", "title": "T", "introduction": "", "keywords": ["k"], "chapters": []}
        assert failure(client, "create_knowledge_file", project_id="app", **given_values) == "INVALID_PATH"
        assert client.call("search_knowledge", project_id="app", query="x")["total_documents"] == 0


def test_a_folder_in_the_index_that_none_may_have_is_an_invalid_path_and_the_others_are_served(home: Path) -> None:
    (home / "index.json").write_text('{"projects": {"app": "app", "odd": "git~1", "dotted": "x."}}')
    with projects(home) as client:
        rows = client.call("list_projects")["projects"]
        assert [(row["project_id"], row["file_count"]) for row in rows] == [("app", 1), ("dotted", 0), ("odd", 0)]
        for project_id in ("odd", "dotted"):
            for tool, more in (
                ("get_project_main", {}),
                ("update_project_main", {"content": "x"}),
                ("search_knowledge", {"query": "x"}),
                ("delete_project", {}),
            ):
                assert failure(client, tool, project_id=project_id, **more) == "INVALID_PATH"
        assert client.call("get_project_main", project_id="app")["content"] == "# App\n"


def test_an_index_that_cannot_be_rebuilt_stops_no_reading(home: Path) -> None:
    (home / "index.json").unlink()
    (home / "index.json").mkdir()
    with projects(home) as client:
        assert {row["project_id"] for row in client.call("list_projects")["projects"]} == {"app", "other"}
        assert client.call("get_knowledge_file", project_id="app", filename="auth")["success"]
        assert failure(client, "update_project_main", project_id="app", content="x") == "INVALID_PATH"
        (home / "index.json").rmdir()
        client.call("update_project_main", project_id="app", content="x")
    assert set(index(home)) == {"app", "other"}


def test_a_file_that_git_would_run_a_program_on_fails_with_the_code_of_its_commands(home: Path) -> None:
    (home / ".gitattributes").write_text("main.md filter=lfs\nauth.md working-tree-encoding=UTF-16\n")
    repository(home).git("config", "filter.lfs.clean", "git-lfs clean -- %f")
    before = repository(home).git("rev-parse", "HEAD")
    where = {"project_id": "app", "filename": "auth"}
    with projects(home) as client:
        assert failure(client, "update_project_main", project_id="app", content="x") == "GIT_COMMAND_FAILED"
        assert failure(client, "add_chapter", **where, chapter_title="T", content="x") == "GIT_ERROR"
        (home / "projects/app/main.md").write_text("# By hand\n")
        assert failure(client, "sync_storage") == "GIT_COMMAND_FAILED"
        assert client.call("get_project_main", project_id="app")["content"] == "# By hand\n"
    assert repository(home).git("rev-parse", "HEAD") == before


def test_a_store_that_was_set_up_wrongly_has_no_code_of_its_own(home: Path) -> None:
    with projects(home / ".git") as client:
        assert failure(client, "list_projects") == "UNKNOWN_ERROR"
        assert failure(client, "delete_project", project_id="app") == "UNKNOWN_ERROR"
    assert not (home / ".git/.git").exists()
    assert not (home / ".git/projects").exists()


@pytest.mark.parametrize("damage", ["config", "objects", "file"])
def test_a_repository_that_cannot_be_opened_is_a_git_error(home: Path, damage: str) -> None:
    if damage == "config":
        (home / ".git/config").write_text("[core\n")
    else:
        shutil.move(home / ".git", home.with_name("away"))
        (home / ".git").mkdir() if damage == "objects" else (home / ".git").write_text("gitdir: nowhere\n")
    with projects(home) as client:
        assert failure(client, "get_project_main", project_id="app") == "GIT_ERROR"
        assert failure(client, "get_storage_status") == "GIT_ERROR"


def test_a_fault_in_the_code_is_an_internal_error_that_tells_the_log_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(FAULT)
    log = tmp_path / "log"
    with projects(home, env={"PYTHONPATH": str(tmp_path / "site")}, log=log, fresh=True) as client:
        shown = client.refusal("list_todos", project_id="app")
        assert shown["code"] == "INTERNAL_ERROR"
        assert "secret" not in json.dumps(shown)
        assert client.call("get_project_main", project_id="app")["exists"] is True
        eventually(lambda: shown["context"]["traceId"] in log.read_text())
    reported_text = log.read_text()
    assert "ZeroDivisionError: a secret of the code" in reported_text
    assert noted(home, "list_todos") == ["INTERNAL_ERROR"]


@pytest.fixture
def merging(home: Path, tmp_path: Path) -> GitRepo:
    """A store in the middle of a merge that conflicts, with an origin that has the branch."""
    repo = repository(home)
    repo.git("config", "user.name", "Someone")
    repo.git("config", "user.email", "someone@example.org")
    repo.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    repo.git("push", "--quiet", "origin", "main")
    repo.git("switch", "--quiet", "-c", "side")
    for branch, text in (("side", "# Side\n"), ("main", "# Main\n")):
        repo.git("switch", "--quiet", branch)
        (home / "projects/app/main.md").write_text(text)
        repo.git("commit", "--quiet", "-am", branch)
    with pytest.raises(AssertionError, match="ended with 1"):
        repo.git("merge", "side")
    assert "<<<<<<<" in (home / "projects/app/main.md").read_text()
    return repo


def test_nothing_is_committed_moved_or_pushed_while_a_merge_is_in_progress(home: Path, merging: GitRepo) -> None:
    before = merging.git("rev-parse", "main", "origin/main")
    with projects(home) as client:
        for tool, arguments in (("sync_storage", {}), ("update_project_main", {"project_id": "other", "content": "x"})):
            refused = client.refusal(tool, **arguments)
            assert refused["code"] == "ACCESS_DENIED"
            assert "a merge is in progress" in refused["error"]
        assert "<<<<<<<" in client.call("get_project_main", project_id="app")["content"]
        assert merging.git("rev-parse", "main", "origin/main") == before
        (home / "projects/app/main.md").write_text("# Both\n")
        merging.git("commit", "--quiet", "-am", "merged")
        assert client.call("sync_storage")["pushed"] is True
        assert client.call("get_project_main", project_id="app")["content"] == "# Both\n"
    assert "merged" in subjects(home)
    assert merging.git("rev-parse", "main") == merging.git("rev-parse", "origin/main")
