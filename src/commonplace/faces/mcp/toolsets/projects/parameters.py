"""The arguments of the `projects` toolset's tools.

Limits are shown here and enforced by the rules, whose errors name the argument in words. Arguments that no tool knows
are ignored: clients of this kind of server send some.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema

from commonplace.domain.projects import limits
from commonplace.services.projects.knowledge import DEFAULT_LIMIT, MAX_LIMIT

Position = Literal["before", "after", "end"]


def _text(description: str, most: int, least: int = 1) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description, "minLength": least, "maxLength": most})


def _bytes(description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "description": description})


ProjectId = Annotated[str, _text("The repository's name, else the folder's", limits.MAX_PROJECT_ID)]
Filename = Annotated[str, _text("Stored name, or the name it was created with", limits.MAX_FILENAME)]
Title = Annotated[str, _text("One line", limits.MAX_TITLE)]
Header = Annotated[str, _text("Header line, such as '## Testing'", limits.MAX_TITLE)]
Chapter = Annotated[str, _bytes("Markdown, up to 1 MB")]
Main = Annotated[str, _bytes("Markdown, up to 10 MB")]
TaskText = Annotated[str, _bytes("Markdown, up to 100 KB")]
Number = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
Index = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0, "description": "From 0"})]


class Parameters(BaseModel):
    """Base of all: types are taken literally, unknown names ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True, populate_by_name=True)


class Nothing(Parameters):
    """No arguments."""


class OfProject(Parameters):
    """A project."""

    project_id: ProjectId


class OfDocument(OfProject):
    """A document of a project."""

    filename: Filename


class UpdateMain(OfProject):
    """Arguments of update_project_main."""

    content: Main


class UpdateSection(OfProject):
    """Arguments of update_project_section."""

    section_header: Header
    new_content: Main = Field(validation_alias=AliasChoices("new_content", "content"))


class AddSection(OfProject):
    """Arguments of add_project_section."""

    section_header: Header
    content: Main
    position: Position = "end"
    reference_header: Header | None = None


class OfSection(OfProject):
    """Arguments of remove_project_section."""

    section_header: Header


class Search(OfProject):
    """Arguments of search_knowledge."""

    query: Annotated[str, _text("Up to 20 words, OR-ed", limits.MAX_QUERY)]
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT


class NewChapter(Parameters):
    """A chapter of a new document."""

    title: Title
    content: Chapter


class CreateFile(OfDocument):
    """Arguments of create_knowledge_file."""

    title: Title
    introduction: Annotated[str, _text("What the document is about", limits.MAX_INTRODUCTION, 0)]
    keywords: list[Annotated[str, _text("A keyword", limits.MAX_KEYWORD)]]
    chapters: list[NewChapter]


class UpdateChapter(OfDocument):
    """Arguments of update_chapter."""

    chapter_title: Title
    new_content: Chapter
    new_summary: Annotated[str, _text("Becomes the first paragraph", limits.MAX_SUMMARY)] | None = None


class AddChapter(OfDocument):
    """Arguments of add_chapter."""

    chapter_title: Title
    content: Chapter
    position: Position = "end"
    reference_chapter: Title | None = None


class OfChapter(OfDocument):
    """Arguments of remove_chapter."""

    chapter_title: Title


class GetChapter(OfDocument):
    """Arguments of get_chapter."""

    chapter_title: Title | None = None
    chapter_index: Index | None = None


class GetNextChapter(OfDocument):
    """Arguments of get_next_chapter."""

    current_chapter_title: Title | None = None
    current_index: Index | None = Field(
        default=None, validation_alias=AliasChoices("current_index", "current_chapter_index")
    )


class NewTask(Parameters):
    """A task."""

    title: Title
    content: TaskText = ""


class CreateTodo(OfProject):
    """Arguments of create_todo."""

    description: Annotated[str, _text("What the list is for", limits.MAX_DESCRIPTION)]
    tasks: list[NewTask] | None = None


class OfTodo(OfProject):
    """A to-do list of a project."""

    todo_number: Number


class AddTask(OfTodo):
    """Arguments of add_todo_task."""

    title: Title
    content: TaskText = ""


class OfTask(OfTodo):
    """A task of a to-do list."""

    task_number: Number
