"""Search and page access of a synced space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.services import ServiceKey

if TYPE_CHECKING:
    from commonplace.toolsets.pages.service.pages import SpacePages

PAGES_KEY: ServiceKey[SpacePages] = ServiceKey("pages")
"""The service of the synced space: the only one, else the first open collection that is a space."""
