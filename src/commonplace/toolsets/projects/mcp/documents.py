"""The tools of the `projects` toolset for knowledge documents and their chapters."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import with_subsections
from commonplace.toolsets.projects.rules.chapters import TOP_LEVEL, Chapter, introduction_of, read_chapters
from commonplace.toolsets.projects.rules.knowledge import Metadata, metadata_of
from commonplace.toolsets.projects.rules.search.matcher import DocumentMatch, MatchingPart
from commonplace.toolsets.projects.service import chapters, knowledge
from commonplace.toolsets.projects.service.chapters import ChapterReference, ChapterResult
from commonplace.toolsets.projects.service.instructions import InsertPosition
from commonplace.toolsets.projects.service.knowledge import DEFAULT_SEARCH_LIMIT, NewDocument
from commonplace.toolsets.projects.service.project_store import ProjectStore

MAX_ANSWER_CHARS = 7000
"""Characters of the results in the text block: 2,000 tokens, of which each is 3.5 characters of JSON."""
MIN_RESERVED_CHARS = 2500
"""Of these, the characters that chapters leave to documents shown without theirs."""
MAX_SHOWN_CHAPTERS = 3
"""Chapters shown of one document; `match_count` counts all."""
MAX_EXCERPTS = 3
"""Excerpts shown of one chapter, each of another keyword."""


def search_knowledge(projects: ProjectStore, arguments: parameters.SearchKnowledge) -> JsonObject:
    """Documents by substrings, best first."""
    limit = arguments.limit or DEFAULT_SEARCH_LIMIT
    answer = knowledge.search_documents(projects, arguments.project_id, arguments.query, limit)
    results = _within_budget(answer.matches, may_cut=arguments.limit is None)
    shown: JsonObject = {
        "total_documents": answer.total_documents,
        "total_matches": answer.total_matches,
        "results": results,
    }
    if len(results) < min(limit, answer.total_documents):
        note = f"Showing {len(results)} of {answer.total_documents} documents; pass limit={limit} for more."
        return {**shown, "message": note}
    return shown


def _within_budget(matches: Sequence[DocumentMatch], *, may_cut: bool) -> list[Json]:
    """The matches, of which the best ones have their chapters.

    Args:
        matches: Best first.
        may_cut: Whether matches beyond the budget are left out; otherwise they have no chapters.
    """
    shown: list[Json] = []
    left = MAX_ANSWER_CHARS
    for match in matches:
        row = _show_match(match, match.parts[:MAX_SHOWN_CHAPTERS])
        size = _size(row)
        if size > left - MIN_RESERVED_CHARS and shown:
            row = _show_match(match, ())
            size = _size(row)
        if may_cut and size > left and shown:
            break
        shown.append(row)
        left -= size
    return shown


def _size(row: JsonObject) -> int:
    """Characters of a result in the text block."""
    return len(json.dumps({"": [row]}, indent=2, ensure_ascii=False))


def create_knowledge_file(projects: ProjectStore, arguments: parameters.CreateFile) -> JsonObject:
    """A new document."""
    new = NewDocument(
        filename=arguments.filename,
        title=arguments.title,
        introduction=arguments.introduction,
        keywords=arguments.keywords,
        chapters=[(chapter.title, chapter.content) for chapter in arguments.chapters],
    )
    name = knowledge.create_document(projects, arguments.project_id, new)
    return {"filepath": f"{knowledge.KNOWLEDGE}/{name}", "message": f"Knowledge file '{name}' created successfully"}


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
            "full_content": document.raw.decode("utf-8", "replace"),
        }
    }


def delete_knowledge_file(projects: ProjectStore, arguments: parameters.DocumentArguments) -> JsonObject:
    """One document less."""
    name = knowledge.delete_document(projects, arguments.project_id, arguments.filename)
    return {"message": f"Knowledge file '{name}' deleted successfully"}


def list_knowledge_files(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """The documents of a project."""
    return {"files": list_files(projects, arguments.project_id)}


def update_chapter(projects: ProjectStore, arguments: parameters.UpdateChapter) -> JsonObject:
    """Another text for a chapter."""
    where = arguments.project_id, arguments.filename
    gone = chapters.update_chapter(
        projects, where, arguments.chapter_title, arguments.new_content, arguments.new_summary
    )
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' updated successfully{with_subsections(gone)}"}


def add_chapter(projects: ProjectStore, arguments: parameters.AddChapter) -> JsonObject:
    """One more chapter."""
    place = InsertPosition(arguments.position, arguments.reference_chapter or "")
    chapters.add_chapter(
        projects, (arguments.project_id, arguments.filename), arguments.chapter_title, arguments.content, place
    )
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' added successfully"}


def remove_chapter(projects: ProjectStore, arguments: parameters.ChapterArguments) -> JsonObject:
    """One chapter less."""
    gone = chapters.remove_chapter(projects, (arguments.project_id, arguments.filename), arguments.chapter_title)
    return {"message": f"Chapter '{arguments.chapter_title.strip()}' removed successfully{with_subsections(gone)}"}


def list_chapters(projects: ProjectStore, arguments: parameters.DocumentArguments) -> JsonObject:
    """Titles and summaries."""
    name, found = chapters.list_chapters(projects, arguments.project_id, arguments.filename)
    return {
        "project_id": arguments.project_id,
        "filename": name,
        "total_chapters": len(found),
        "chapters": [{"title": chapter.title, "summary": chapter.summary, "index": chapter.index} for chapter in found],
    }


def get_chapter(projects: ProjectStore, arguments: parameters.GetChapter) -> JsonObject:
    """One chapter."""
    which = ChapterReference(arguments.chapter_title, arguments.chapter_index)
    return _show_reading(chapters.get_chapter(projects, arguments.project_id, arguments.filename, which))


def get_next_chapter(projects: ProjectStore, arguments: parameters.GetNextChapter) -> JsonObject:
    """The chapter behind one."""
    which = ChapterReference(arguments.current_chapter_title, arguments.current_index)
    return _show_reading(chapters.get_next_chapter(projects, arguments.project_id, arguments.filename, which))


def list_files(projects: ProjectStore, project_id: str) -> list[Json]:
    """The documents of a project as objects."""
    return [
        {"filename": listed.filename, **show_metadata(listed.metadata)}
        for listed in knowledge.list_documents(projects, project_id)
    ]


def show_metadata(metadata: Metadata) -> dict[str, Json]:
    """Title, keywords and dates."""
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


def _show_match(match: DocumentMatch, parts: Sequence[MatchingPart]) -> JsonObject:
    return {
        "file": match.text.filename,
        "document": match.text.filename,
        "match_count": match.matching,
        "metadata": show_metadata(match.text.metadata),
        "matching_chapters": [
            {
                "chapter": part.chapter,
                "keywords_found": list(part.keywords),
                "match_context": _first_excerpts(part),
                "chapter_summary": part.summary,
            }
            for part in parts
        ],
        "chapters": [{"title": part.chapter, "matches": len(part.keywords)} for part in parts],
    }


def _first_excerpts(part: MatchingPart) -> JsonObject:
    found = list(part.excerpts.items())[:MAX_EXCERPTS]
    return {keyword: list[Json](excerpts[:1]) for keyword, excerpts in found}
