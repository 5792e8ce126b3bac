"""The tools of the `projects` toolset for knowledge documents and their chapters."""

from __future__ import annotations

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.projects.chapters import TOP_LEVEL, Chapter, introduction_of, read_chapters
from commonplace.domain.projects.finding.matching import Match
from commonplace.domain.projects.knowledge import Metadata, metadata_of
from commonplace.faces.mcp.toolsets.projects import parameters
from commonplace.faces.mcp.toolsets.projects.calling import with_subsections
from commonplace.services.projects import chapters, knowledge
from commonplace.services.projects.chapters import Reading, Which
from commonplace.services.projects.home import Home
from commonplace.services.projects.instructions import Place
from commonplace.services.projects.knowledge import NewDocument


def search_knowledge(home: Home, given: parameters.Search) -> JsonObject:
    """Documents by substrings, best first."""
    answer = knowledge.search(home, given.project_id, given.query, given.limit)
    return {
        "total_documents": answer.total_documents,
        "total_matches": answer.total_matches,
        "results": [_show_match(match) for match in answer.matches],
    }


def create_knowledge_file(home: Home, given: parameters.CreateFile) -> JsonObject:
    """A new document."""
    new = NewDocument(
        filename=given.filename,
        title=given.title,
        introduction=given.introduction,
        keywords=given.keywords,
        chapters=[(chapter.title, chapter.content) for chapter in given.chapters],
    )
    name = knowledge.create(home, given.project_id, new)
    return {"filepath": f"{knowledge.KNOWLEDGE}/{name}", "message": f"Knowledge file '{name}' created successfully"}


def get_knowledge_file(home: Home, given: parameters.OfDocument) -> JsonObject:
    """A whole document."""
    document = knowledge.read(home, given.project_id, given.filename)
    found = [chapter for chapter in read_chapters(document) if chapter.section.level == TOP_LEVEL]
    return {
        "document": {
            "filename": document.address.name,
            "metadata": show_metadata(metadata_of(document)),
            "introduction": introduction_of(document),
            "chapters": [
                {"title": chapter.title, "content": chapter.text, "summary": chapter.summary} for chapter in found
            ],
            "full_content": document.raw.decode("utf-8", "replace"),
        }
    }


def delete_knowledge_file(home: Home, given: parameters.OfDocument) -> JsonObject:
    """One document less."""
    name = knowledge.delete(home, given.project_id, given.filename)
    return {"message": f"Knowledge file '{name}' deleted successfully"}


def list_knowledge_files(home: Home, given: parameters.OfProject) -> JsonObject:
    """The documents of a project."""
    return {"files": list_files(home, given.project_id)}


def update_chapter(home: Home, given: parameters.UpdateChapter) -> JsonObject:
    """Another text for a chapter."""
    where = given.project_id, given.filename
    gone = chapters.update_chapter(home, where, given.chapter_title, given.new_content, given.new_summary)
    return {"message": f"Chapter '{given.chapter_title.strip()}' updated successfully{with_subsections(gone)}"}


def add_chapter(home: Home, given: parameters.AddChapter) -> JsonObject:
    """One more chapter."""
    place = Place(given.position, given.reference_chapter or "")
    chapters.add_chapter(home, (given.project_id, given.filename), given.chapter_title, given.content, place)
    return {"message": f"Chapter '{given.chapter_title.strip()}' added successfully"}


def remove_chapter(home: Home, given: parameters.OfChapter) -> JsonObject:
    """One chapter less."""
    gone = chapters.remove_chapter(home, (given.project_id, given.filename), given.chapter_title)
    return {"message": f"Chapter '{given.chapter_title.strip()}' removed successfully{with_subsections(gone)}"}


def list_chapters(home: Home, given: parameters.OfDocument) -> JsonObject:
    """Titles and summaries."""
    name, found = chapters.list_chapters(home, given.project_id, given.filename)
    return {
        "project_id": given.project_id,
        "filename": name,
        "total_chapters": len(found),
        "chapters": [{"title": chapter.title, "summary": chapter.summary, "index": chapter.index} for chapter in found],
    }


def get_chapter(home: Home, given: parameters.GetChapter) -> JsonObject:
    """One chapter."""
    which = Which(given.chapter_title, given.chapter_index)
    return _show_reading(chapters.get_chapter(home, given.project_id, given.filename, which))


def get_next_chapter(home: Home, given: parameters.GetNextChapter) -> JsonObject:
    """The chapter behind one."""
    which = Which(given.current_chapter_title, given.current_index)
    return _show_reading(chapters.get_next_chapter(home, given.project_id, given.filename, which))


def list_files(home: Home, project_id: str) -> list[Json]:
    """The documents of a project as objects."""
    return [
        {"filename": listed.filename, **show_metadata(listed.metadata)}
        for listed in knowledge.list_documents(home, project_id)
    ]


def show_metadata(metadata: Metadata) -> dict[str, Json]:
    """Title, keywords and dates."""
    return {
        "title": metadata.title,
        "keywords": list(metadata.keywords),
        "created": metadata.created or None,
        "updated": metadata.updated or None,
    }


def _show_reading(reading: Reading) -> JsonObject:
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
        }
    return {
        "title": chapter.title,
        "content": chapter.whole,
        "summary": chapter.summary,
        "index": chapter.index,
        "total_chapters": reading.total,
        "has_next": chapter.index + 1 < reading.total,
        "has_previous": chapter.index > 0,
    }


def _show_match(match: Match) -> JsonObject:
    return {
        "file": match.text.filename,
        "document": match.text.filename,
        "match_count": match.matching,
        "metadata": show_metadata(match.text.metadata),
        "matching_chapters": [
            {
                "chapter": part.chapter,
                "keywords_found": list(part.keywords),
                "match_context": part.excerpts,
                "chapter_summary": part.summary,
            }
            for part in match.parts
        ],
        "chapters": [{"title": part.chapter, "matches": len(part.keywords)} for part in match.parts],
    }
