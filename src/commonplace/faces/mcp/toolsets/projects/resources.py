"""The resources of the `projects` toolset, under `knowledge://projects/`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.projects.knowledge import iso_text, metadata_of
from commonplace.faces.mcp.dialect import Call, Content, Resource, Resources, ResourceTemplate
from commonplace.faces.mcp.toolsets.projects.calling import noted
from commonplace.faces.mcp.toolsets.projects.documents import list_files
from commonplace.services.projects import chapters, instructions, knowledge, overview
from commonplace.services.projects.home import Home
from commonplace.services.projects.overview import Project

PREFIX = "knowledge://projects/"
JSON_TYPE = "application/json"


def list_resources(call: Call, offset: int, limit: int) -> tuple[Sequence[Resource], bool]:
    """Instructions and list of documents of every project."""
    with noted(call, "resources/list", {}) as home:
        found = [resource for project in overview.list_projects(home) for resource in _resources(project)]
    return found[offset : offset + limit], offset + limit < len(found)


def read_resource(call: Call, uri: str) -> Content:
    """What a URI holds.

    Raises:
        NotFoundError: there is nothing.
    """
    parts = [unquote(part) for part in uri.removeprefix(PREFIX).split("/")] if uri.startswith(PREFIX) else []
    about: dict[str, Json] = dict(zip(("project_id", "", "filename"), parts, strict=False))
    with noted(call, "resources/read", about) as home:
        try:
            return _content(home, parts)
        except InvalidInputError as error:
            raise NotFoundError(str(error), kind=error.kind) from error


def _content(home: Home, parts: Sequence[str]) -> Content:
    match parts:
        case [project_id, "main"]:
            main = instructions.get_main(home, project_id)
            if not main.exists:
                raise NotFoundError("The project has no instructions", kind="project")
            return Content(main.content)
        case [project_id, "files"]:
            files = list_files(home, project_id)
            return _json({"files": files, "count": len(files)})
        case [project_id, "chapters", filename]:
            document = knowledge.read(home, project_id, filename)
            _, found = chapters.list_chapters(home, project_id, filename)
            shown = [{"title": one.title, "level": one.section.level, "summary": one.summary} for one in found]
            title = metadata_of(document).title
            return _json({"filename": document.address.name, "title": title, "chapters": shown, "count": len(shown)})
        case _:
            raise NotFoundError("There is no such resource", kind="resource")


def _resources(project: Project) -> list[Resource]:
    base = f"{PREFIX}{quote(project.id, safe='')}"
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


def _json(value: Json) -> Content:
    return Content(json.dumps(value, ensure_ascii=False, indent=2), JSON_TYPE)


def _complete_project(call: Call, typed: str, _: Mapping[str, str]) -> list[str]:
    home = call.services.projects
    return [project.id for project in overview.list_projects(home) if project.id.lower().startswith(typed.lower())]


def _complete_filename(call: Call, typed: str, others: Mapping[str, str]) -> list[str]:
    listed = knowledge.list_documents(call.services.projects, others.get("project_id", ""))
    return [one.filename for one in listed if one.filename.startswith(typed.lower())]


_OF_PROJECT = {"project_id": _complete_project}

RESOURCES = Resources(
    templates=(
        ResourceTemplate(
            uri_template=f"{PREFIX}{{project_id}}/main",
            name="main",
            title="Instructions of a project",
            complete=_OF_PROJECT,
        ),
        ResourceTemplate(
            uri_template=f"{PREFIX}{{project_id}}/files",
            name="files",
            title="Documents of a project",
            mime_type=JSON_TYPE,
            complete=_OF_PROJECT,
        ),
        ResourceTemplate(
            uri_template=f"{PREFIX}{{project_id}}/chapters/{{filename}}",
            name="chapters",
            title="Chapters of a document",
            mime_type=JSON_TYPE,
            complete={**_OF_PROJECT, "filename": _complete_filename},
        ),
    ),
    list=list_resources,
    read=read_resource,
)
