"""The arguments of the `projects` toolset's tools.

Limits are shown here and enforced by the rules, whose errors name the argument in words. Arguments that no tool knows
are ignored: clients of this kind of server send some.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema

from commonplace.toolsets.projects.rules import limits
from commonplace.toolsets.projects.service.knowledge import DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT

PositionChoice = Literal["before", "after", "end"]


def _text(description: str, most: int, least: int = 1) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description, "minLength": least, "maxLength": most})


def _bytes(description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description})


ProjectId = Annotated[str, _text("The repository's name, else the folder's", limits.MAX_PROJECT_ID)]
Filename = Annotated[str, _text("Stored name, or the name it was created with", limits.MAX_FILENAME)]
Title = Annotated[str, _text("One line", limits.MAX_TITLE)]
Header = Annotated[str, _text("Header line, such as '## Testing'", limits.MAX_TITLE)]
ChapterText = Annotated[str, _bytes("Markdown, up to 1 MB")]
InstructionsText = Annotated[str, _bytes("Markdown, up to 10 MB")]
TaskText = Annotated[str, _bytes("Markdown, up to 100 KB")]
Number = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
ChapterIndex = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0, "description": "From 0"})]


class ProjectsParameters(BaseModel):
    """Base of all: types are taken literally, unknown names ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True, populate_by_name=True)


class NoArguments(ProjectsParameters):
    """No arguments."""


class ProjectArguments(ProjectsParameters):
    """A project."""

    project_id: ProjectId


class ListProjects(ProjectsParameters):
    """Arguments of list_projects."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class DocumentArguments(ProjectArguments):
    """A document of a project."""

    filename: Filename


class UpdateMain(ProjectArguments):
    """Arguments of update_project_main."""

    content: InstructionsText


class UpdateSection(ProjectArguments):
    """Arguments of update_project_section."""

    section_header: Header
    new_content: InstructionsText = Field(validation_alias=AliasChoices("new_content", "content"))


class AddSection(ProjectArguments):
    """Arguments of add_project_section."""

    section_header: Header
    content: InstructionsText
    position: PositionChoice = "end"
    reference_header: Header | None = None


class SectionArguments(ProjectArguments):
    """Arguments of remove_project_section."""

    section_header: Header


class SearchKnowledge(ProjectArguments):
    """Arguments of search_knowledge."""

    query: Annotated[str, _text("Up to 20 words, OR-ed", limits.MAX_QUERY)]
    limit: Annotated[
        int | None,
        Field(
            ge=1,
            le=MAX_SEARCH_LIMIT,
            description=f"Documents; by default up to {DEFAULT_SEARCH_LIMIT} in 2,000 tokens",
        ),
    ] = None


class NewChapter(ProjectsParameters):
    """A chapter of a new document."""

    title: Title
    content: ChapterText


class CreateFile(DocumentArguments):
    """Arguments of create_knowledge_file."""

    title: Title
    introduction: Annotated[str, _text("What the document is about", limits.MAX_INTRODUCTION, 0)]
    keywords: list[Annotated[str, _text("A keyword", limits.MAX_KEYWORD)]]
    chapters: list[NewChapter]


class UpdateChapter(DocumentArguments):
    """Arguments of update_chapter."""

    chapter_title: Title
    new_content: ChapterText
    new_summary: Annotated[str, _text("Becomes the first paragraph", limits.MAX_SUMMARY)] | None = None


class AddChapter(DocumentArguments):
    """Arguments of add_chapter."""

    chapter_title: Title
    content: ChapterText
    position: PositionChoice = "end"
    reference_chapter: Title | None = None


class ChapterArguments(DocumentArguments):
    """Arguments of remove_chapter."""

    chapter_title: Title


class GetChapter(DocumentArguments):
    """Arguments of get_chapter."""

    chapter_title: Title | None = None
    chapter_index: ChapterIndex | None = None


class GetNextChapter(DocumentArguments):
    """Arguments of get_next_chapter."""

    current_chapter_title: Title | None = None
    current_index: ChapterIndex | None = Field(
        default=None, validation_alias=AliasChoices("current_index", "current_chapter_index")
    )


class NewTask(ProjectsParameters):
    """A task."""

    title: Title
    content: TaskText = ""


class CreateTodo(ProjectArguments):
    """Arguments of create_todo."""

    description: Annotated[str, _text("What the list is for", limits.MAX_TODO_DESCRIPTION)]
    tasks: list[NewTask] | None = None


class TodoArguments(ProjectArguments):
    """A to-do list of a project."""

    todo_number: Number


class AddTask(TodoArguments):
    """Arguments of add_todo_task."""

    title: Title
    content: TaskText = ""


class TaskArguments(TodoArguments):
    """A task of a to-do list."""

    task_number: Number
