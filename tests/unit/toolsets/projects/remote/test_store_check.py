"""Folders that are project stores, and folders that are left unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.instructions import update_project_main
from commonplace.toolsets.projects.remote.store_check import require_store
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from support import GitRepo, MakeRepo


def is_adopted(folder: Path, *, adopt: bool = False) -> bool:
    return require_store(folder, IDENTITY, adopt=adopt)


def test_a_folder_that_is_missing_or_empty_becomes_a_store(tmp_path: Path) -> None:
    assert not is_adopted(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    for name in (".DS_Store", "notes.swp", ".git", ".commonplace-x"):
        (tmp_path / "empty" / name).touch()
    assert not is_adopted(tmp_path / "empty")


def test_a_store_stays_one_whatever_lies_beside_its_projects(projects: ProjectStore) -> None:
    update_project_main(projects, parameters.UpdateMain(project_id="shop", content="x"))
    root = Path(projects.path)
    (root / "README.md").write_text("mine")
    assert not is_adopted(root)
    (root / "index.json").write_text("damaged")
    assert not is_adopted(root), "its first commit is this program's"


@pytest.mark.parametrize("name", ["README.md", "src", ".env", "index.json"])
def test_a_folder_of_others_is_refused_and_may_be_adopted(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / name).write_text("{}" if name == "index.json" else "theirs")
    with pytest.raises(ConfigError, match="'theirs' is not a project store") as refused:
        is_adopted(folder)
    assert "--adopt" in refused.value.hint
    if name == "index.json":
        with pytest.raises(ConfigError, match="is not a list of projects"):
            is_adopted(folder, adopt=True)
    else:
        assert is_adopted(folder, adopt=True)


def test_what_would_be_mistaken_for_a_project_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "projects" / "photos").mkdir(parents=True)
    (tmp_path / "projects" / "photos" / "a.jpg").touch()
    with pytest.raises(ConfigError, match="contains 'photos', which is not a project"):
        is_adopted(tmp_path, adopt=True)


def test_a_repository_of_others_with_unpublished_commits_is_not_adopted(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo: GitRepo = git_repo("theirs", {"a.md": "a"})
    assert is_adopted(repo.path, adopt=True)
    repo.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    with pytest.raises(ConfigError, match="1 commits of its current branch"):
        is_adopted(repo.path, adopt=True)
    repo.git("push", "--quiet", "origin", "main")
    assert is_adopted(repo.path, adopt=True)


def test_a_link_in_place_of_a_project_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    (folder / "projects").mkdir(parents=True)
    (tmp_path / "elsewhere" / "knowledge").mkdir(parents=True)
    (folder / "projects" / "shop").symlink_to(tmp_path / "elsewhere")
    (folder / "index.json").write_text('{"projects": {"shop": "shop"}}')
    (folder / "README.md").write_text("mine")
    with pytest.raises(ConfigError, match="is not a project store"):
        is_adopted(folder)
