"""The toolset `kb` as the program knows it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.registration import ToolsetRegistration

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.settings import Settings

KB_FILE = "kb.yaml"
"""Declares a typed knowledge base; the same as `domain.schema.SCHEMA_FILE`, which takes long to load."""
SPACE_FILE = ".confluence.json"
"""Declares a synced space, which the toolset `pages` serves; the same as `toolsets.pages.rules.space.SPACE_FILE`."""


def _declares_kb(settings: Settings) -> bool:
    """Whether layers are named, or a folder says that it is a typed knowledge base or a store of projects."""
    if settings.manifest is not None or settings.personal is not None:
        return True
    if len(settings.kb) == 1 and os.path.isfile(settings.kb[0] / SPACE_FILE):
        return False
    return any(os.path.isfile(folder / KB_FILE) or _is_store(folder) for folder in settings.kb)


def _is_store(folder: Path) -> bool:
    """Whether a folder looks like a store of projects."""
    return os.path.isfile(folder / "index.json") and os.path.isdir(folder / "projects")


KB = ToolsetRegistration(
    name="kb",
    mcp="commonplace.toolsets.kb.mcp:KB",
    web="commonplace.toolsets.kb.web:KB_PAGES",
    detects=_declares_kb,
    extend="commonplace.plugins.toolset_extension:with_plugins",
)
