"""A store publishes the branch that it was made or adopted on, whatever else is checked out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent import agent
from knowledge import projects, subjects
from shell import Shell
from support import GitRepo, eventually, new_repo

PRIVATE = "Nobody is to see this yet"


@pytest.fixture
def origin(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    bare = GitRepo(tmp_path / "origin.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare", "--initial-branch=main")
    return bare


@pytest.fixture
def store(tmp_path: Path, origin: GitRepo) -> GitRepo:
    """A program's repository, adopted on `main` and pushed, with a private branch checked out."""
    repo = new_repo(tmp_path / "code", {"app.py": "print()\n"})
    repo.git("remote", "add", "origin", str(origin.path))
    repo.git("push", "--quiet", "origin", "main")
    with agent("mcp", repo.path, "--toolset", "projects", "--adopt") as client:
        client.call("update_project_main", project_id="app", content="# Main\n")
        assert client.call("sync_storage")["pushed"] is True
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit(PRIVATE, **{"p3.c": "int main;\n"})
    return repo


def published(origin: GitRepo) -> str:
    return origin.git("log", "--format=%s", "main")


def test_another_branch_is_not_pushed_and_every_answer_to_a_write_says_so(store: GitRepo, origin: GitRepo) -> None:
    before = published(origin)
    with projects(store.path) as client:
        push_error = client.call("get_storage_status")["push_error"]
        assert "its branch main, and feature is checked out. Run git switch main" in push_error
        assert "push_error" not in client.call("get_project_main", project_id="app")
        assert client.call("update_project_main", project_id="app", content="# New\n")["push_error"] == push_error
        done = client.call("sync_storage")
        assert (done["pushed"], done["push_error"], push_error in done["message"]) == (False, push_error, True)
    assert published(origin) == before
    assert f"Not pushed: {push_error}" in Shell(store.path).ok("projects", "status", "-C", store.path).text
    assert Shell(store.path).ok("projects", "status", "-C", store.path, "--json").json["push_error"] == push_error
    assert published(origin) == before


def test_with_its_branch_checked_out_again_it_pushes_and_follows(store: GitRepo, origin: GitRepo) -> None:
    with projects(store.path) as client:
        store.git("checkout", "--quiet", "main")
        client.call("update_project_main", project_id="app", content="# On main\n")
        eventually(lambda: origin.git("show", "main:projects/app/main.md") == "# On main")
        assert "push_error" not in client.call("get_storage_status")
        store.git("checkout", "--quiet", "feature")
        client.call("update_project_main", project_id="app", content="# On feature\n")
    assert PRIVATE not in published(origin)
    assert origin.git("show", "main:projects/app/main.md") == "# On main"


def test_the_remote_is_not_brought_into_another_branch(store: GitRepo, origin: GitRepo, tmp_path: Path) -> None:
    other = GitRepo(tmp_path / "other")
    other.path.mkdir()
    other.git("clone", "--quiet", str(origin.path), ".")
    other.git("config", "user.name", "Other")
    other.git("config", "user.email", "other@example.org")
    other.commit("Theirs", **{"theirs.md": "x\n"})
    other.git("push", "--quiet", "origin", "main")
    with projects(store.path) as client:
        client.call("sync_storage")
    assert subjects(store.path)[0] == PRIVATE


def test_the_owner_can_have_another_branch_published(store: GitRepo, origin: GitRepo) -> None:
    with projects(store.path) as client:
        command = client.call("get_storage_status")["push_error"].partition("from now on: git ")[2]
        store.git(*command.split())
        assert client.call("sync_storage")["pushed"] is True
    assert PRIVATE in published(origin)


def test_a_branch_that_is_renamed_stays_the_published_one(store: GitRepo, origin: GitRepo) -> None:
    store.git("checkout", "--quiet", "main")
    store.git("branch", "--quiet", "-m", "main", "trunk")
    store.git("branch", "--quiet", "-m", "trunk", "stem")
    with projects(store.path) as client:
        assert client.call("sync_storage")["pushed"] is True
        store.git("checkout", "--quiet", "feature")
        push_error = client.call("sync_storage")["push_error"]
        assert "its branch stem, and feature is checked out" in push_error
    store.git("branch", "--quiet", "-D", "stem")
    with projects(store.path) as client:
        error = client.call("sync_storage")["push_error"]
        assert "its branch stem, which is gone, and feature is checked out. Publish feature" in error
    assert PRIVATE not in published(origin)


@pytest.mark.parametrize("pushed_from", ["main", "trunk"])
def test_a_store_of_an_older_version_publishes_main_or_what_it_pushed_last(
    store: GitRepo, origin: GitRepo, pushed_from: str
) -> None:
    """A store of an older version has no ref that names its branch."""
    store.git("symbolic-ref", "--delete", "refs/commonplace/branch")
    store.git("checkout", "--quiet", "main")
    if pushed_from == "trunk":
        store.git("checkout", "--quiet", "-b", "trunk")
        store.commit("Pushed from trunk", **{"a.md": "a\n"})
        store.git("push", "--quiet", "origin", "trunk:main")
        store.git("update-ref", "refs/commonplace/synced", "trunk")
    else:
        store.git("checkout", "--quiet", "feature")
    with projects(store.path) as client:
        assert client.call("sync_storage")["pushed"] is (pushed_from == "trunk")
    assert PRIVATE not in published(origin)
    assert store.git("symbolic-ref", "refs/commonplace/branch") == f"refs/heads/{pushed_from}"


def test_a_store_made_by_hand_publishes_the_branch_that_it_has(tmp_path: Path, origin: GitRepo, store: GitRepo) -> None:
    home = GitRepo(tmp_path / "home")
    home.path.mkdir()
    home.git("clone", "--quiet", str(origin.path), ".")
    home.git("branch", "--quiet", "-m", "main", "trunk")
    shutil.rmtree(store.path)
    with projects(home.path) as client:
        client.call("update_project_main", project_id="app", content="# By hand\n")
        eventually(lambda: origin.git("show", "main:projects/app/main.md") == "# By hand")
