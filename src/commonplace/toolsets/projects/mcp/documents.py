"""Tools of documents and their search, and documents as resources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.tokens import size_of
from commonplace.domain.words.text_decoder import decoded
from commonplace.faces.mcp.toolset import Call, Resource, ResourceContents, Resources, ResourceTemplate
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import (
    LaidOutAnswer,
    indented_text,
    logged_call,
    new_project_notice,
    with_subsections,
)
from commonplace.toolsets.projects.rules.chapters import (
    TOP_LEVEL,
    Chapter,
    Metadata,
    introduction_of,
    iso_text,
    metadata_of,
    read_chapters,
    unclosed_warning,
)
from commonplace.toolsets.projects.rules.search import DocumentMatch, MatchingPart
from commonplace.toolsets.projects.service import PROJECTS_KEY, chapters, instructions, knowledge
from commonplace.toolsets.projects.service.chapters import ChapterReference, ChapterResult
from commonplace.toolsets.projects.service.instructions import InsertPosition, Project
from commonplace.toolsets.projects.service.knowledge import DEFAULT_SEARCH_LIMIT, NewDocument
from commonplace.toolsets.projects.service.project_store import ProjectStore

# The tools of the `projects` toolset for knowledge documents and their chapters.


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
    candidate = [chapter for chapter in read_chapters(document) if chapter.section.level == TOP_LEVEL]
    return {
        "document": {
            "filename": document.address.name,
            "metadata": show_metadata(metadata_of(document)),
            "introduction": introduction_of(document),
            "chapters": [
                {"title": chapter.title, "content": chapter.text, "summary": chapter.summary} for chapter in candidate
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
    name, found_chapters, warning = chapters.list_chapters(projects, arguments.project_id, arguments.filename)
    return {
        "project_id": arguments.project_id,
        "filename": name,
        "total_chapters": len(found_chapters),
        "chapters": [
            {"title": chapter.title, "summary": chapter.summary, "index": chapter.index} for chapter in found_chapters
        ],
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


# The tool `search_knowledge` of the `projects` toolset, with answers of limited size.
#
# Some clients read an answer twice, as structured content and as text, so the budget covers both.


MAX_ANSWER_SIZE = 6400
"""Maximum size of the results, structured and text together, in quarters of a token."""
SIZE_PER_HIT = 660
"""Budget in quarters of a token per requested document, if the sum for a given `limit` exceeds `MAX_ANSWER_SIZE`."""
MIN_DOCUMENTS = 5
"""Number of documents for which room is reserved if no `limit` is given; with a `limit`, room is reserved for all."""
MAX_SHOWN_CHAPTERS = 3
"""Maximum number of shown chapters per document; `match_count` counts all."""
LEVELS = 2
"""Number of indented levels of an answer's text: the answer and its results. Each result is on one line."""
MAX_EXCERPTS = 3
"""Maximum number of shown excerpts per chapter, each for another keyword."""


def search_knowledge(projects: ProjectStore, arguments: parameters.SearchKnowledge) -> LaidOutAnswer:
    """Documents that contain words of the query as substrings, best first."""
    limit = arguments.limit or DEFAULT_SEARCH_LIMIT
    answer = knowledge.search_documents(projects, arguments.project_id, arguments.query, limit)
    results = _within_budget(answer.matches, arguments.limit)
    shown: JsonObject = {
        "total_documents": answer.total_documents,
        "total_matches": answer.total_matches,
        "results": list[Json](results),
    }
    if len(results) < min(limit, answer.total_documents):
        note = f"Showing {len(results)} of {answer.total_documents} documents; pass limit={limit} for more."
        shown = {**shown, "message": note}
    return LaidOutAnswer(shown, LEVELS)


def _within_budget(matches: Sequence[DocumentMatch], limit: int | None) -> list[JsonObject]:
    """The matches. The best ones have their chapters.

    Args:
        matches: The matches, best first.
        limit: The requested number of matches; None if none was given. Without a limit, matches beyond the budget are
            omitted; with one, they are shown without chapters.
    """
    shown: list[JsonObject] = []
    left = max(MAX_ANSWER_SIZE, SIZE_PER_HIT * (limit or 0))
    without_chapters = [_size(_show_match(match, ())) for match in matches]
    for number, match in enumerate(matches):
        reserved = sum(without_chapters[number + 1 : limit or MIN_DOCUMENTS])
        row, size = _fitting(match, left - reserved, at_least_one=not shown and limit is None)
        if limit is None and size > left and shown:
            break
        shown.append(row)
        left -= size
    return shown


def _fitting(match: DocumentMatch, room: int, *, at_least_one: bool) -> tuple[JsonObject, int]:
    """A match with as many chapters as fit, and its size."""
    for count in range(min(len(match.parts), MAX_SHOWN_CHAPTERS), 0, -1):
        row = _show_match(match, match.parts[:count])
        size = _size(row)
        if size <= room or (at_least_one and count == 1):
            return row, size
    row = _show_match(match, ())
    return row, _size(row)


def _size(row: JsonObject) -> int:
    """Quarters of a token of a result, structured and in the text block."""
    return 2 * size_of(indented_text(row, 0)) + len(",\n    ,")


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
    """The first excerpt of each keyword that no earlier excerpt contains."""
    shown: dict[str, Json] = {}
    said = ""
    for keyword, excerpts in part.excerpts.items():
        if len(shown) == MAX_EXCERPTS:
            break
        if excerpts and keyword.casefold() not in said:
            shown[keyword] = [excerpts[0]]
            said += excerpts[0].casefold()
    return shown


# The resources of the `projects` toolset, under `knowledge://projects/`.


URI_PREFIX = "knowledge://projects/"
JSON_TYPE = "application/json"


def list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """The instructions and the list of documents of every project."""
    with logged_call(call, "resources/list", {}) as projects:
        resources = [resource for project in instructions.list_projects(projects) for resource in _resources(project)]
    return resources[offset : offset + limit], offset + limit < len(resources)


def read_resource(call: Call, uri: str) -> ResourceContents:
    """The content of a URI.

    Raises:
        NotFoundError: there is no such resource.
    """
    parts = [unquote(part) for part in uri.removeprefix(URI_PREFIX).split("/")] if uri.startswith(URI_PREFIX) else []
    about: dict[str, Json] = dict(zip(("project_id", "", "filename"), parts, strict=False))
    with logged_call(call, "resources/read", about) as projects:
        try:
            return _content(projects, parts)
        except InvalidInputError as error:
            raise NotFoundError(str(error), kind=error.kind) from error


def _content(projects: ProjectStore, parts: Sequence[str]) -> ResourceContents:
    match parts:
        case [project_id, "main"]:
            main = instructions.get_main(projects, project_id)
            if not main.exists:
                raise NotFoundError("The project has no instructions", kind="project")
            return ResourceContents(main.content)
        case [project_id, "files"]:
            files = list_files(projects, project_id)
            return _json({"files": files, "count": len(files)})
        case [project_id, "chapters", filename]:
            document = knowledge.get_document(projects, project_id, filename)
            _, found_chapters, _ = chapters.list_chapters(projects, project_id, filename)
            shown = [
                {"title": chapter.title, "level": chapter.section.level, "summary": chapter.summary}
                for chapter in found_chapters
            ]
            title = metadata_of(document).title
            return _json({"filename": document.address.name, "title": title, "chapters": shown, "count": len(shown)})
        case _:
            raise NotFoundError("There is no such resource", kind="resource")


def _resources(project: Project) -> list[Resource]:
    base = f"{URI_PREFIX}{quote(project.id, safe='')}"
    files = Resource(uri=f"{base}/files", name=f"{project.id}: files", mime_type=JSON_TYPE)
    if project.main is None:
        return [files]
    written = datetime.fromtimestamp(project.main.mtime_ns / 1e9, UTC)
    main = Resource(
        uri=f"{base}/main",
        name=f"{project.id}: main",
        title=f"Instructions of {project.id}",
        size=project.main.size,
        last_modified=iso_text(written),
    )
    return [main, files]


def _json(value: Json) -> ResourceContents:
    return ResourceContents(json.dumps(value, ensure_ascii=False, indent=2), JSON_TYPE)


def _complete_project(call: Call, typed: str, _: Mapping[str, str]) -> list[str]:
    projects = call.services.of(PROJECTS_KEY)
    return [
        project.id for project in instructions.list_projects(projects) if project.id.lower().startswith(typed.lower())
    ]


def _complete_filename(call: Call, typed: str, others: Mapping[str, str]) -> list[str]:
    listed = knowledge.list_documents(call.services.of(PROJECTS_KEY), others.get("project_id", ""))
    return [document.filename for document in listed if document.filename.startswith(typed.lower())]


_OF_PROJECT = {"project_id": _complete_project}

RESOURCES = Resources(
    templates=(
        ResourceTemplate(
            uri_template=f"{URI_PREFIX}{{project_id}}/main",
            name="main",
            title="Instructions of a project",
            complete=_OF_PROJECT,
        ),
        ResourceTemplate(
            uri_template=f"{URI_PREFIX}{{project_id}}/files",
            name="files",
            title="Documents of a project",
            mime_type=JSON_TYPE,
            complete=_OF_PROJECT,
        ),
        ResourceTemplate(
            uri_template=f"{URI_PREFIX}{{project_id}}/chapters/{{filename}}",
            name="chapters",
            title="Chapters of a document",
            mime_type=JSON_TYPE,
            complete={**_OF_PROJECT, "filename": _complete_filename},
        ),
    ),
    list=list_resources,
    read=read_resource,
)
