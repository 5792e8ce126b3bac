"""Instructions of a project: written whole and by section, each change one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError, TooLargeError
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.rules.limits import MAX_MAIN_BYTES
from commonplace.toolsets.projects.service import instructions
from commonplace.toolsets.projects.service.instructions import InsertPosition, Instructions
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from support import GitRepo

MAIN = "# App\n\n## Setup\n\nRun make.\n\n### Linux\n\napt.\n\n## Rules\n\nBe kind.\n"


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", tmp_path / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()


@pytest.fixture
def repo(projects: ProjectStore) -> GitRepo:
    return GitRepo(Path(projects.path))


def text(projects: ProjectStore) -> str:
    return instructions.get_main(projects, "app").content


def test_a_project_without_instructions_has_empty_ones(projects: ProjectStore) -> None:
    assert instructions.get_main(projects, "app") == Instructions("", exists=False)
    with pytest.raises(InvalidInputError):
        instructions.get_main(projects, "../up")


def test_the_first_text_makes_the_project_and_the_next_replaces_it(projects: ProjectStore, repo: GitRepo) -> None:
    instructions.update_main(projects, "app", MAIN)
    instructions.update_main(projects, "app", "# App\n\nÜber uns.\n")
    assert instructions.get_main(projects, "app") == Instructions("# App\n\nÜber uns.\n", exists=True)
    assert repo.git("log", "-2", "--format=%s").splitlines() == ["Update knowledge for app: Updated main.md"] * 2
    with pytest.raises(TooLargeError):
        instructions.update_main(projects, "app", "x" * (MAX_MAIN_BYTES + 1))


def test_a_section_is_replaced_with_what_lies_below_it(projects: ProjectStore) -> None:
    instructions.update_main(projects, "app", MAIN)
    assert instructions.update_section(projects, "app", "## Setup", "Run it.") == ("Linux",)
    assert "Run it." in text(projects)
    assert "apt." not in text(projects)
    assert "Be kind." in text(projects)
    with pytest.raises(NotFoundError) as refused:
        instructions.update_section(projects, "app", "## None", "x")
    assert refused.value.kind == "section"


def test_a_section_is_added_at_the_end_or_beside_another(projects: ProjectStore) -> None:
    instructions.update_main(projects, "app", MAIN)
    instructions.add_section(projects, "app", "## Last", "End.")
    instructions.add_section(projects, "app", "## First", "Begin.", InsertPosition("before", "## Setup"))
    headings = [line for line in text(projects).splitlines() if line.startswith("## ")]
    assert headings == ["## First", "## Setup", "## Rules", "## Last"]
    with pytest.raises(AlreadyExistsError):
        instructions.add_section(projects, "app", "## Rules", "x")
    with pytest.raises(NotFoundError):
        instructions.add_section(projects, "app", "## New", "x", InsertPosition("after", "## None"))


def test_a_section_is_removed_with_its_subsections(projects: ProjectStore, repo: GitRepo) -> None:
    instructions.update_main(projects, "app", MAIN)
    assert instructions.remove_section(projects, "app", "## Setup") == ("Linux",)
    assert "Linux" not in text(projects)
    assert repo.git("log", "-1", "--format=%s").endswith("Removed section 'Setup' in main.md")
    assert repo.git("status", "--porcelain") == ""


def test_sections_of_an_unknown_project_are_not_found(projects: ProjectStore) -> None:
    for act in (
        lambda: instructions.update_section(projects, "none", "## A", "x"),
        lambda: instructions.add_section(projects, "none", "## A", "x"),
        lambda: instructions.remove_section(projects, "none", "## A"),
    ):
        with pytest.raises(NotFoundError) as refused:
            act()
        assert refused.value.kind == "project"


def test_files_are_imported_one_behind_the_other_and_over_nothing_that_is_there(projects: ProjectStore) -> None:
    files = [("CLAUDE.md", "# One\r\n\r\nText.\r\n\r\n"), ("AGENTS.md", "\n# Two\n")]
    instructions.import_main(projects, "app", files, replace=False)
    assert text(projects) == "# One\n\nText.\n\n# Two\n"
    with pytest.raises(AlreadyExistsError) as refused:
        instructions.import_main(projects, "app", [("x.md", "new")], replace=False)
    assert "--force" in refused.value.hint
    instructions.import_main(projects, "app", [("x.md", "new")], replace=True)
    assert text(projects) == "new\n"
