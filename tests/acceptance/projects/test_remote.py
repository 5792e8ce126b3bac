"""A store of projects and its remote: a bare repository on disk that goes away, moves on, conflicts, is rewritten."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from agent import Told, start, text_of
from knowledge import clean, create, projects, repository
from support import GitRepo, eventually


@pytest.fixture
def home(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    return tmp_path / "home"


@pytest.fixture
def origin(tmp_path: Path) -> GitRepo:
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    return bare


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after a first start that made a project with one document; each test has its own copy."""
    store = tmp_path_factory.mktemp("begun") / "home"
    with projects(store) as client:
        client.call("update_project_main", project_id="app", content="# Main\n")
        create(client)
    return store


@pytest.fixture
def other(tmp_path: Path, home: Path, origin: GitRepo, begun: Path) -> GitRepo:
    """Another clone of the store, which has been pushed."""
    shutil.copytree(begun, home)
    repository(home).git("remote", "add", "origin", str(origin.path))
    repository(home).git("push", "--quiet", "origin", "main")
    clone = GitRepo(tmp_path / "other")
    clone.path.mkdir()
    clone.git("clone", "--quiet", str(origin.path), ".")
    clone.git("config", "user.name", "Other")
    clone.git("config", "user.email", "other@example.org")
    return clone


def main_of(origin: GitRepo, path: str) -> str:
    return origin.git("show", f"main:{path}")


def status(client: Any) -> str:
    return client.call("get_storage_status")["remote_status"]


def test_each_commit_is_pushed_in_the_background(home: Path, origin: GitRepo, other: GitRepo) -> None:
    assert other.path.is_dir()
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="second")
        eventually(lambda: main_of(origin, "projects/app/main.md") == "second")
        eventually(lambda: status(client) == "origin/main (up to date)")
        reported_told = Told()
        done = json.loads(text_of(start(client, "sync_storage", reported_told).result()))
        assert (reported_told.counts[0], reported_told.counts[-1], reported_told.is_growing) == ((1, 3), (3, 3), True)
        assert done["pushed"] is True
        assert "push_error" not in done
    clean(home)


def test_a_pending_push_is_flushed_at_exit(home: Path, origin: GitRepo, other: GitRepo) -> None:
    assert other.path.is_dir()
    with projects(home) as client:
        for number in range(5):
            client.call("update_project_main", project_id="app", content=f"version {number}")
    assert main_of(origin, "projects/app/main.md") == "version 4"


def test_a_failing_push_fails_no_write_and_the_backlog_is_pushed_later(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path
) -> None:
    assert other.path.is_dir()
    away = tmp_path / "away.git"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="while away")
        create(client, filename="offline")
        reported_value = client.call("sync_storage")
        assert reported_value["pushed"] is False
        assert reported_value["push_error"]
        assert str(tmp_path) not in reported_value["push_error"]
        assert status(client) == "origin/main (2 ahead, 0 behind)"
        away.rename(origin.path)
        report = client.call("sync_storage")
        assert report["pushed"] is True
        assert status(client) == "origin/main (up to date)"
    assert main_of(origin, "projects/app/main.md") == "while away"
    assert main_of(origin, "projects/app/knowledge/offline.md")


def test_a_remote_that_rejects_the_branch_says_why(home: Path, origin: GitRepo, other: GitRepo) -> None:
    assert other.path.is_dir()
    origin.git("config", "core.bare", "false")  # Git then refuses to move the branch that is checked out there
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="not taken")
        reported_value = client.call("sync_storage")
    assert reported_value["pushed"] is False
    assert "branch is currently checked out" in reported_value["push_error"]


def test_work_done_while_the_remote_was_away_arrives_after_a_restart(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path
) -> None:
    assert other.path.is_dir()
    away = tmp_path / "away.git"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="while away")
    away.rename(origin.path)
    with projects(home) as client:
        eventually(lambda: main_of(origin, "projects/app/main.md") == "while away")
        assert client.call("get_project_main", project_id="app")["content"] == "while away"
    clean(home)


def test_local_commits_are_replayed_on_a_remote_that_moved(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path
) -> None:
    away = tmp_path / "away.git"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("update_project_main", project_id="local", content="from here")
        where = {"project_id": "app", "filename": "auth"}
        client.call("update_chapter", **where, chapter_title="Tokens", new_content="Changed here.")
    away.rename(origin.path)
    with projects(other.path) as client:
        client.call("update_project_main", project_id="remote", content="from there")
        where = {"project_id": "app", "filename": "auth"}
        client.call("update_chapter", **where, chapter_title="Keys", new_content="Changed there.")
        assert client.call("sync_storage")["pushed"]
    with projects(home) as client:
        ids = [row["project_id"] for row in client.call("list_projects")["projects"]]
        assert ids == ["app", "local", "remote"]
        document = client.call("get_knowledge_file", **where)["document"]
        assert [c["content"] for c in document["chapters"]] == ["Changed here.", "Changed there."]
        assert client.call("get_storage_status")["rescue_branches"] == []
        assert client.call("sync_storage")["pushed"]
    assert set(json.loads(main_of(origin, "index.json"))["projects"]) == {"app", "local", "remote"}
    assert origin.git("log", "--merges", "--oneline", "main") == ""
    clean(home)


def test_a_true_conflict_keeps_the_remotes_text_and_a_rescue_branch(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path
) -> None:
    away = tmp_path / "away.git"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="mine")
        create(client, filename="kept")
    away.rename(origin.path)
    other.commit("Theirs", **{"projects/app/main.md": "theirs"})
    other.git("push", "--quiet", "origin", "main")
    with projects(home) as client:
        assert client.call("get_project_main", project_id="app")["content"] == "theirs"
        assert client.call("get_knowledge_file", project_id="app", filename="kept")
        (rescue,) = client.call("get_storage_status")["rescue_branches"]
        assert rescue.startswith("rescue/")
        assert client.call("sync_storage")["pushed"]
    assert repository(home).git("show", f"{rescue}:projects/app/main.md") == "mine"
    assert main_of(origin, "projects/app/main.md") == "theirs"
    assert main_of(origin, "projects/app/knowledge/kept.md")
    clean(home)


@pytest.mark.parametrize("rewound", [True, False])
def test_commits_that_the_remote_dropped_are_rescued_and_not_sent_back(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path, *, rewound: bool
) -> None:
    away = tmp_path / "away.git"
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="was on the remote")
    assert main_of(origin, "projects/app/main.md") == "was on the remote"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("update_project_main", project_id="local", content="only here")
    away.rename(origin.path)
    if not rewound:
        other.commit("Rewritten", **{"elsewhere.md": "new"})
    other.git("push", "--quiet", "--force", "origin", "main")
    with projects(home) as client:
        assert client.call("get_project_main", project_id="app")["content"] == "# Main\n"
        assert client.call("get_project_main", project_id="local")["content"] == "only here"
        (rescue,) = client.call("get_storage_status")["rescue_branches"]
        assert client.call("sync_storage")["pushed"]
    assert repository(home).git("show", f"{rescue}:projects/app/main.md") == "was on the remote"
    assert main_of(origin, "projects/app/main.md") == "# Main"
    assert main_of(origin, "projects/local/main.md") == "only here"
    clean(home)


@pytest.mark.parametrize("moved", [True, False])
def test_a_running_server_rescues_what_the_remote_dropped_and_does_not_send_it_back(
    home: Path, origin: GitRepo, other: GitRepo, *, moved: bool
) -> None:
    assert other.path.is_dir()
    with projects(home) as client:
        for text in ("first", "second"):
            client.call("update_project_main", project_id="app", content=text)
        eventually(lambda: main_of(origin, "projects/app/main.md") == "second")
        eventually(lambda: status(client) == "origin/main (up to date)")
        if moved:
            other.commit("Rewritten", **{"elsewhere.md": "new"})
            other.git("push", "--quiet", "--force", "origin", "main")
        else:
            origin.git("update-ref", "refs/heads/main", "main~2")
        git = origin.git("rev-parse", "main")
        client.call("update_project_main", project_id="after", content="after the rewind")
        eventually(lambda: "projects/after/main.md" in origin.git("ls-tree", "-r", "--name-only", "main"))
        (rescue,) = client.call("get_storage_status")["rescue_branches"]
        assert client.call("get_project_main", project_id="app")["content"] == "# Main\n"
        assert client.call("sync_storage")["pushed"] is True
    assert main_of(origin, "projects/app/main.md") == "# Main"
    assert origin.git("rev-list", "--count", f"{git}..main") == "1"
    assert repository(home).git("show", f"{rescue}:projects/app/main.md") == "second"
    clean(home)


def test_a_history_that_was_rewritten_here_never_replaces_that_of_the_remote(
    home: Path, origin: GitRepo, other: GitRepo
) -> None:
    assert other.path.is_dir()
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="on the remote")
        eventually(lambda: status(client) == "origin/main (up to date)")
        pushed = origin.git("rev-parse", "main")
        repository(home).git("reset", "--quiet", "--hard", "HEAD~1")
        client.call("update_project_main", project_id="local", content="after the reset")
        assert client.call("sync_storage")["pushed"] is True
    assert origin.git("merge-base", pushed, "main") == pushed
    assert main_of(origin, "projects/app/main.md") == "on the remote"
    assert main_of(origin, "projects/local/main.md") == "after the reset"


def test_a_remote_that_lost_its_branch_gets_the_whole_store(home: Path, origin: GitRepo, other: GitRepo) -> None:
    assert other.path.is_dir()
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="first")
        eventually(lambda: status(client) == "origin/main (up to date)")
        origin.git("update-ref", "-d", "refs/heads/main")
        client.call("update_project_main", project_id="app", content="second")
        eventually(lambda: origin.git("for-each-ref", "refs/heads/main") != "")
        assert client.call("sync_storage")["pushed"] is True
    assert main_of(origin, "projects/app/main.md") == "second"
    assert main_of(origin, "projects/app/knowledge/auth.md")


def test_hand_edits_are_committed_first_and_newly_ignored_files_untracked(
    home: Path, origin: GitRepo, other: GitRepo
) -> None:
    with projects(other.path) as client:
        client.call("update_project_main", project_id="remote", content="from there")
    (home / "projects/app/knowledge/hand.md").write_text("# By hand\n")
    (home / "projects/app/draft.tmp").write_text("draft")
    repository(home).git("add", "--all")
    repository(home).git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "drafts")
    with (home / ".gitignore").open("a") as file:
        file.write("*.tmp\n")
    (home / "projects/app/knowledge/hand.md").write_text("# By hand, again\n")
    with projects(home) as client:
        assert client.call("get_project_main", project_id="remote")["content"] == "from there"
        eventually(lambda: "projects/app/knowledge/hand.md" in origin.git("ls-tree", "-r", "--name-only", "main"))
    assert "By hand, again" in main_of(origin, "projects/app/knowledge/hand.md")
    assert (home / "projects/app/draft.tmp").read_text() == "draft"
    assert "draft.tmp" not in origin.git("ls-tree", "-r", "--name-only", "main")
    clean(home)


def test_a_store_on_another_branch_is_kept_there_and_pushed_to_main(
    home: Path, origin: GitRepo, other: GitRepo
) -> None:
    assert other.path.is_dir()
    repository(home).git("branch", "-m", "master")
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="on master")
        assert client.call("get_storage_status")["current_branch"] == "master"
    assert repository(home).git("branch", "--show-current") == "master"
    assert main_of(origin, "projects/app/main.md") == "on master"


def test_two_to_do_lists_of_one_number_are_not_mixed(
    home: Path, origin: GitRepo, other: GitRepo, tmp_path: Path
) -> None:
    away = tmp_path / "away.git"
    origin.path.rename(away)
    with projects(home) as client:
        client.call("create_todo", project_id="app", description="mine", tasks=[{"title": "Mine"}])
    away.rename(origin.path)
    with projects(other.path) as client:
        client.call("create_todo", project_id="app", description="theirs", tasks=[{"title": "Theirs"}])
        assert client.call("sync_storage")["pushed"]
    with projects(home) as client:
        shown = client.call("get_todo_tasks", project_id="app", todo_number=1)
        assert shown["todo"]["description"] == "theirs"
        assert [task["description"] for task in shown["tasks"]] == ["Theirs"]
        assert client.call("get_storage_status")["rescue_branches"]
    clean(home)


def test_an_unrelated_remote_is_brought_in_below_what_is_here(home: Path, origin: GitRepo, tmp_path: Path) -> None:
    with projects(tmp_path / "first") as client:
        client.call("update_project_main", project_id="theirs", content="there")
    repository(tmp_path / "first").git("push", "--quiet", str(origin.path), "main:main")
    with projects(home) as client:
        client.call("update_project_main", project_id="mine", content="here")
    repository(home).git("remote", "add", "origin", str(origin.path))
    with projects(home) as client:
        assert client.call("get_project_main", project_id="theirs")["content"] == "there"
        assert client.call("get_project_main", project_id="mine")["content"] == "here"
        assert client.call("sync_storage")["pushed"]
    assert set(json.loads(main_of(origin, "index.json"))["projects"]) == {"theirs", "mine"}
    clean(home)


def test_calls_are_answered_while_the_remote_does_not_answer(home: Path) -> None:
    with projects(home) as client:
        client.call("update_project_main", project_id="app", content="x")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        repository(home).git("remote", "add", "origin", f"http://127.0.0.1:{silent.getsockname()[1]}/x.git")
        with projects(home) as client:
            assert client.call("get_project_main", project_id="app")["content"] == "x"
            client.call("update_project_main", project_id="app", content="y")
            assert client.call("get_project_main", project_id="app")["content"] == "y"


def test_a_list_that_took_the_number_of_another_is_named_before_it_can_be_changed(
    home: Path, origin: GitRepo, other: GitRepo
) -> None:
    with projects(home) as client:
        eventually(lambda: status(client) == "origin/main (up to date)")
        theirs = "---\ncompleted: false\n---\n\n# Their task\n"
        about = {"created": "2026-01-01T00:00:00.000Z", "description": "Theirs"}
        folder = "projects/app/TODO/1"
        other.commit("Theirs", **{f"{folder}/index.json": json.dumps(about), f"{folder}/TASK-001-theirs.md": theirs})
        other.git("push", "--quiet", "origin", "main")
        mine = client.call("create_todo", project_id="app", description="Mine", tasks=[{"title": "My task"}])
        assert mine["todo_number"] == 1
        eventually(
            lambda: client.call("sync_storage")["success"] and "Theirs" in (home / folder / "index.json").read_text()
        )
        shown = client.refusal("complete_todo_task", project_id="app", todo_number=1, task_number=1)
        assert shown["code"] == "TODO_NOT_FOUND"
        assert "TODO #1 is now 'Theirs'" in shown["error"]
        assert "It was 'Mine'" in shown["error"]
        assert "completed: false" in main_of(origin, f"{folder}/TASK-001-theirs.md")
        assert "notice" not in client.call("get_next_todo_task", project_id="app", todo_number=1), "it was told"
        assert client.call("complete_todo_task", project_id="app", todo_number=1, task_number=1)["task_number"] == 1
