"""The answers of the tools for chaptered documents."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import JsonObject
from commonplace.toolsets.projects.mcp import documents, parameters
from commonplace.toolsets.projects.service.project_store import ProjectStore

GUIDE = {"project_id": "shop", "filename": "guide.md"}


@pytest.fixture
def guide(projects: ProjectStore) -> JsonObject:
    """The answer of the tool that creates the document."""
    return documents.create_knowledge_file(
        projects,
        parameters.CreateFile(
            project_id="shop",
            filename="Guide",
            title="The guide",
            introduction="All of it.",
            keywords=["Tea", "tea"],
            chapters=[
                parameters.NewChapter(title="Start", content="Boil.\n\n### Kettle\n\nA big one."),
                parameters.NewChapter(title="End", content="Drink."),
            ],
        ),
    )


def chapter(projects: ProjectStore, **which: str | int) -> JsonObject:
    return documents.get_chapter(projects, parameters.GetChapter.model_validate({**GUIDE, **which}))


def test_a_document_is_told_whole_and_in_parts(projects: ProjectStore, guide: JsonObject) -> None:
    assert "guide.md" in str(guide)
    whole = documents.get_knowledge_file(projects, parameters.DocumentArguments(**GUIDE))["document"]
    assert isinstance(whole, dict)
    assert [value["title"] for value in whole["chapters"]] == ["Start", "End"]  # type: ignore[index,union-attr]
    assert "### Kettle" in str(whole["full_content"])
    (listed,) = documents.list_files(projects, "shop")
    assert isinstance(listed, dict)
    assert (listed["filename"], listed["title"]) == ("guide.md", "The guide")


def test_chapters_are_walked_from_the_first_to_the_last(projects: ProjectStore, guide: JsonObject) -> None:
    del guide
    first = chapter(projects, chapter_index=0)
    assert (first["title"], first["has_previous"], first["has_next"], first["total_chapters"]) == (
        "Start",
        False,
        True,
        3,
    )
    step = parameters.GetNextChapter(**GUIDE, current_chapter_title="Start")
    second = documents.get_next_chapter(projects, step)
    assert (second["title"], second["has_previous"], second["has_next"]) == ("Kettle", True, True)
    after = documents.get_next_chapter(projects, parameters.GetNextChapter(**GUIDE, current_index=2))
    assert (after["title"], after["has_next"], after["has_previous"]) == (None, False, True)
    assert "last one" in str(after["message"])


def test_subsections_that_go_with_an_edit_are_named(projects: ProjectStore, guide: JsonObject) -> None:
    del guide
    update = parameters.UpdateChapter(**GUIDE, chapter_title=" Start ", new_content="Cold.")
    assert documents.update_chapter(projects, update)["message"] == "Chapter 'Start' updated successfully"
    update = parameters.UpdateChapter(**GUIDE, chapter_title="Start", new_content="Cold.\n\n### Pot\n\nA small one.")
    assert documents.update_chapter(projects, update)["message"] == (
        "Chapter 'Start' updated successfully, with 1 subsection: 'Kettle'"
    )
    removed = documents.remove_chapter(projects, parameters.ChapterArguments(**GUIDE, chapter_title="Start"))
    assert removed["message"] == "Chapter 'Start' removed successfully, with 1 subsection: 'Pot'"
    listed = documents.list_chapters(projects, parameters.DocumentArguments(**GUIDE))
    assert (listed["total_chapters"], listed["filename"]) == (1, "guide.md")


def test_a_chapter_goes_where_it_is_wished(projects: ProjectStore, guide: JsonObject) -> None:
    del guide
    add = parameters.AddChapter(
        **GUIDE, chapter_title="Middle", content="Wait.", position="before", reference_chapter="End"
    )
    assert documents.add_chapter(projects, add)["message"] == "Chapter 'Middle' added successfully"
    assert [chapter(projects, chapter_index=number)["title"] for number in range(4)] == [
        "Start",
        "Kettle",
        "Middle",
        "End",
    ]
    for wrong in ({"reference_chapter": "None"}, {"reference_chapter": None}):
        with pytest.raises(KnowledgeError):
            documents.add_chapter(projects, add.model_copy(update={"chapter_title": "Other", **wrong}))


def test_a_deleted_document_is_gone(projects: ProjectStore, guide: JsonObject) -> None:
    del guide
    said = documents.delete_knowledge_file(projects, parameters.DocumentArguments(**GUIDE))
    assert said["message"] == "Knowledge file 'guide.md' deleted successfully"
    assert documents.list_knowledge_files(projects, parameters.ProjectArguments(project_id="shop")) == {"files": []}
