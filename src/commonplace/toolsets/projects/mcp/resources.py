"""The resources of the `projects` toolset, under `knowledge://projects/`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.json import Json
from commonplace.faces.mcp.toolset import Call, Resource, ResourceContents, Resources, ResourceTemplate
from commonplace.toolsets.projects.mcp.call_envelope import logged_call
from commonplace.toolsets.projects.mcp.documents import list_files
from commonplace.toolsets.projects.rules.knowledge import iso_text, metadata_of
from commonplace.toolsets.projects.service import PROJECTS_KEY, chapters, instructions, knowledge, overview
from commonplace.toolsets.projects.service.overview import Project
from commonplace.toolsets.projects.service.project_store import ProjectStore

URI_PREFIX = "knowledge://projects/"
JSON_TYPE = "application/json"


def list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """The instructions and the list of documents of every project."""
    with logged_call(call, "resources/list", {}) as projects:
        found = [resource for project in overview.list_projects(projects) for resource in _resources(project)]
    return found[offset : offset + limit], offset + limit < len(found)


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
            _, found, _ = chapters.list_chapters(projects, project_id, filename)
            shown = [{"title": one.title, "level": one.section.level, "summary": one.summary} for one in found]
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
    return [project.id for project in overview.list_projects(projects) if project.id.lower().startswith(typed.lower())]


def _complete_filename(call: Call, typed: str, others: Mapping[str, str]) -> list[str]:
    listed = knowledge.list_documents(call.services.of(PROJECTS_KEY), others.get("project_id", ""))
    return [one.filename for one in listed if one.filename.startswith(typed.lower())]


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
