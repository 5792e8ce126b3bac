"""Registration of the toolset `kb`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.registration import ToolsetRegistration

if TYPE_CHECKING:
    from commonplace.settings import Settings

KB_FILE = "kb.yaml"
"""File that declares a typed knowledge base; equal to `domain.schema.SCHEMA_FILE`, whose import is slow."""
SPACE_FILE = ".confluence.json"
"""File that declares a synced space, for the toolset `pages`; equal to `toolsets.pages.rules.space.SPACE_FILE`."""


def _declares_kb(settings: Settings) -> bool:
    """Whether layers are configured, or a folder is a typed knowledge base."""
    if settings.manifest is not None or settings.personal is not None:
        return True
    if len(settings.kb) == 1 and os.path.isfile(settings.kb[0] / SPACE_FILE):
        return False
    return any(os.path.isfile(folder / KB_FILE) for folder in settings.kb)


KB = ToolsetRegistration(
    name="kb",
    mcp="commonplace.toolsets.kb.mcp:KB",
    web="commonplace.toolsets.kb.web:KB_PAGES",
    detects=_declares_kb,
    extend="commonplace.plugins.toolset_extension:with_plugins",
)
