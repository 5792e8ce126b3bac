"""All projects, and the end of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service import instructions, knowledge, todos
from commonplace.toolsets.projects.service.instructions import delete_project, list_projects
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from support import GitRepo


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", tmp_path / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()


def fill(projects: ProjectStore, name: str, documents: int = 1) -> None:
    instructions.update_main(projects, name, "# Main\n")
    for number in range(documents):
        new = knowledge.NewDocument(filename=f"d{number}", title="T", introduction="I", keywords=["k"], chapters=[])
        knowledge.create_document(projects, name, new)


def test_projects_are_listed_by_id_with_what_they_hold(projects: ProjectStore) -> None:
    assert list_projects(projects) == []
    fill(projects, "b", 2)
    fill(projects, "a", 0)
    found_projects = list_projects(projects)
    assert [(project.id, project.documents, project.main is not None) for project in found_projects] == [
        ("a", 0, True),
        ("b", 2, True),
    ]
    assert all(project.updated.endswith("Z") for project in found_projects)


def test_a_project_whose_folder_is_gone_is_listed_without_files(projects: ProjectStore) -> None:
    fill(projects, "app")
    index = Path(projects.path) / "index.json"
    reported_value = json.loads(index.read_text())
    reported_value["projects"] |= {"lost": "nowhere"}
    index.write_text(json.dumps(reported_value))
    rows = {project.id: (project.main, project.documents, project.updated) for project in list_projects(projects)}
    assert rows["lost"] == (None, 0, "")
    assert rows["app"][1] == 1


def test_a_deleted_project_leaves_no_file_and_can_be_made_again(projects: ProjectStore) -> None:
    fill(projects, "app")
    fill(projects, "other")
    todos.create_todo(projects, "app", "Gate", [("T", "")])
    delete_project(projects, "app")
    assert [project.id for project in list_projects(projects)] == ["other"]
    repo = GitRepo(Path(projects.path))
    assert not [path for path in repo.git("ls-files").splitlines() if "/app/" in path]
    assert repo.git("status", "--porcelain") == ""
    with pytest.raises(NotFoundError) as refused:
        delete_project(projects, "App")
    assert refused.value.kind == "project"
    with pytest.raises(InvalidInputError):
        delete_project(projects, "")
    fill(projects, "app")
    assert len(list_projects(projects)) == 2
