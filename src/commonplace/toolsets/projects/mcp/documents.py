"""The tools of the `projects` toolset for knowledge documents and their chapters."""

from __future__ import annotations

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import new_project_notice, with_subsections
from commonplace.toolsets.projects.rules.chapters import (
    TOP_LEVEL,
    Chapter,
    introduction_of,
    read_chapters,
    unclosed_warning,
)
from commonplace.toolsets.projects.rules.knowledge import Metadata, metadata_of
from commonplace.toolsets.projects.service import chapters, knowledge
from commonplace.toolsets.projects.service.chapters import ChapterReference, ChapterResult
from commonplace.toolsets.projects.service.instructions import InsertPosition
from commonplace.toolsets.projects.service.knowledge import NewDocument
from commonplace.toolsets.projects.service.project_store import ProjectStore


def create_knowledge_file(projects: ProjectStore, arguments: parameters.CreateFile) -> JsonObject:
    """Create a document."""
    new = NewDocument(
        filename=arguments.filename,
        title=arguments.title,
        introduction=arguments.introduction,
        keywords=arguments.keywords,
        chapters=[(chapter.title, chapter.content) for chapter in arguments.chapters],
    )
    notice = new_project_notice(projects, arguments.project_id)
    name = knowledge.create_document(projects, arguments.project_id, new)
    message = f"Knowledge file '{name}' created successfully"
    return {"filepath": f"{knowledge.KNOWLEDGE}/{name}", "message": message, **notice}


def get_knowledge_file(projects: ProjectStore, arguments: parameters.DocumentArguments) -> JsonObject:
    """A whole document."""
    document = knowledge.get_document(projects, arguments.project_id, arguments.filename)
    found = [chapter for chapter in read_chapters(document) if chapter.section.level == TOP_LEVEL]
    return {
        "document": {
            "filename": document.address.name,
            "metadata": show_metadata(metadata_of(document)),
            "introduction": introduction_of(document),
            "chapters": [
                {"title": chapter.title, "content": chapter.text, "summary": chapter.summary} for chapter in found
            ],
            "full_content": decoded(document.raw),
        },
        **_warned(unclosed_warning(document)),
    }


def delete_knowledge_file(projects: ProjectStore, arguments: parameters.DocumentArguments) -> JsonObject:
    """Delete a document."""
    name = knowledge.delete_document(projects, arguments.project_id, arguments.filename)
    return {"message": f"Knowledge file '{name}' deleted successfully"}


def list_knowledge_files(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """The documents of a project."""
    return {"files": list_files(projects, arguments.project_id)}


def update_chapter(projects: ProjectStore, arguments: parameters.UpdateChapter) -> JsonObject:
    """Replace the text of a chapter."""
    where = arguments.project_id, arguments.filename
    gone = chapters.update_chapter(
        projects, where, arguments.chapter_title, arguments.new_content, arguments.new_summary
    )
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' updated successfully{with_subsections(gone)}"}


def add_chapter(projects: ProjectStore, arguments: parameters.AddChapter) -> JsonObject:
    """Add a chapter to a document."""
    place = InsertPosition(arguments.position, arguments.reference_chapter or "")
    chapters.add_chapter(
        projects, (arguments.project_id, arguments.filename), arguments.chapter_title, arguments.content, place
    )
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' added successfully"}


def remove_chapter(projects: ProjectStore, arguments: parameters.ChapterArguments) -> JsonObject:
    """Remove a chapter."""
    gone = chapters.remove_chapter(projects, (arguments.project_id, arguments.filename), arguments.chapter_title)
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' removed successfully{with_subsections(gone)}"}


def list_chapters(projects: ProjectStore, arguments: parameters.DocumentArguments) -> JsonObject:
    """Titles and summaries of a document's chapters."""
    name, found, warning = chapters.list_chapters(projects, arguments.project_id, arguments.filename)
    return {
        "project_id": arguments.project_id,
        "filename": name,
        "total_chapters": len(found),
        "chapters": [{"title": chapter.title, "summary": chapter.summary, "index": chapter.index} for chapter in found],
        **_warned(warning),
    }


def get_chapter(projects: ProjectStore, arguments: parameters.GetChapter) -> JsonObject:
    """One chapter, by title or index."""
    which = ChapterReference(arguments.chapter_title, arguments.chapter_index)
    return _show_reading(chapters.get_chapter(projects, arguments.project_id, arguments.filename, which))


def get_next_chapter(projects: ProjectStore, arguments: parameters.GetNextChapter) -> JsonObject:
    """The chapter after the given one."""
    which = ChapterReference(arguments.current_chapter_title, arguments.current_index)
    return _show_reading(chapters.get_next_chapter(projects, arguments.project_id, arguments.filename, which))


def list_files(projects: ProjectStore, project_id: str) -> list[Json]:
    """The documents of a project as JSON objects."""
    return [
        {"filename": listed.filename, **show_metadata(listed.metadata)}
        for listed in knowledge.list_documents(projects, project_id)
    ]


def show_metadata(metadata: Metadata) -> dict[str, Json]:
    """Title, keywords and dates of a document."""
    return {
        "title": metadata.title,
        "keywords": list(metadata.keywords),
        "created": metadata.created or None,
        "updated": metadata.updated or None,
    }


def _show_reading(reading: ChapterResult) -> JsonObject:
    chapter: Chapter | None = reading.chapter
    if chapter is None:
        return {
            "title": None,
            "content": None,
            "summary": None,
            "index": None,
            "total_chapters": reading.total,
            "has_next": False,
            "has_previous": reading.total > 0,
            "message": "No more chapters: this was the last one",
            **_warned(reading.warning),
        }
    return {
        "title": chapter.title,
        "content": chapter.whole,
        "summary": chapter.summary,
        "index": chapter.index,
        "total_chapters": reading.total,
        "has_next": chapter.index + 1 < reading.total,
        "has_previous": chapter.index > 0,
        **_warned(reading.warning),
    }


def _warned(warning: str) -> dict[str, Json]:
    """The key `warning`; {} without one."""
    return {"warning": warning} if warning else {}
