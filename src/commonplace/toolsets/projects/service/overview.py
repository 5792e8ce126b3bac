"""The list of all projects, and their deletion."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from commonplace.domain.addresses import parse_address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, StorageError
from commonplace.domain.ports import Transaction
from commonplace.toolsets.projects.rules.knowledge import iso_text
from commonplace.toolsets.projects.rules.limits import check_project_id
from commonplace.toolsets.projects.rules.registry import PROJECTS_KEY
from commonplace.toolsets.projects.service.instructions import INSTRUCTIONS_FILE
from commonplace.toolsets.projects.service.knowledge import KNOWLEDGE
from commonplace.toolsets.projects.service.project_store import ProjectStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Project:
    """An entry in the list of projects."""

    id: str
    main: FileStat | None
    """Stat data of the instructions; None if there are none."""
    documents: int
    updated: str
    """Time of the last write to one of the project's files, ISO 8601; "" if there are no files."""


def list_projects(projects: ProjectStore) -> list[Project]:
    """Every project, sorted by id. A project whose folder is missing or cannot be served is listed without files."""
    found: list[Project] = []
    for project_id, folder in sorted(projects.registry().folders.items()):
        try:
            main = projects.store.stat(parse_address(f"{PROJECTS_KEY}/{folder}/{INSTRUCTIONS_FILE}"))
            stats = list(projects.folders.documents(f"{PROJECTS_KEY}/{folder}/{KNOWLEDGE}").values())
        except (InvalidInputError, StorageError) as error:
            log.warning("The folder of project %s is not listed: %s", project_id, error)
            main, stats = None, []
        newest = max((stat.mtime_ns for stat in [*stats, *([main] if main else [])]), default=0)
        updated = iso_text(datetime.fromtimestamp(newest / 1e9, UTC)) if newest else ""
        found.append(Project(project_id, main, len(stats), updated))
    return found


def delete_project(projects: ProjectStore, project_id: str) -> None:
    """Delete a project with all its files.

    Raises:
        NotFoundError: kind "project": there is no such project.
    """
    check_project_id(project_id)

    def act(transaction: Transaction) -> None:
        projects.remove(transaction, project_id)

    projects.write(project_id, "Deleted project", act)
