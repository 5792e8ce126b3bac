"""The use cases of project knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.services import ServiceKey

if TYPE_CHECKING:
    from commonplace.toolsets.projects.service.project_store import ProjectStore

PROJECTS_KEY: ServiceKey[ProjectStore] = ServiceKey("projects")
"""The store of projects."""
