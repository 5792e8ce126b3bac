"""Registration of the toolset `pages`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.domain.errors import NotFoundError
from commonplace.registration import OpenContext, ToolsetRegistration
from commonplace.services.services import ServiceProvider, Services
from commonplace.toolsets.pages.rules.space import SPACE_FILE
from commonplace.toolsets.pages.service import PAGES_KEY
from commonplace.toolsets.pages.spaces import Spaces

if TYPE_CHECKING:
    from commonplace.services.collections import Collection
    from commonplace.settings import Settings
    from commonplace.toolsets.pages.service.pages import SpacePages


def _is_space(settings: Settings) -> bool:
    layered = settings.manifest is not None or settings.personal is not None
    alone = len(settings.kb) == 1 and not layered
    return alone and os.path.isfile(settings.kb[0] / SPACE_FILE.path)


def _open_service(context: OpenContext) -> ServiceProvider[SpacePages]:
    spaces = Spaces(context.settings, context.closing)

    def space_of(collection: Collection) -> SpacePages | None:
        served = next((served for served in context.collections if served.name == collection.name), None)
        if served is None or collection.store is served.store:
            return spaces.of(collection)
        return spaces.as_proposer_has(collection, served)

    def pages(services: Services) -> SpacePages:
        for collection in services.collections:
            space_pages = space_of(collection)
            if space_pages is not None:
                return space_pages
        raise NotFoundError(
            "None of the folders that are served is a synced space.",
            kind="collection",
            hint="Serve a folder that has a .confluence.json.",
        )

    return ServiceProvider(PAGES_KEY, pages)


PAGES = ToolsetRegistration(
    name="pages",
    mcp="commonplace.toolsets.pages.mcp:PAGES",
    web="commonplace.toolsets.pages.web:PAGES_WEB",
    detects=_is_space,
    opens=_open_service,
    serve_stdio="commonplace.cn:serve_stdio_space",
)
