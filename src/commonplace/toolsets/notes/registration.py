"""The toolset `notes` as the program knows it: what is served where nothing else is declared."""

from __future__ import annotations

from commonplace.registration import ToolsetRegistration

NOTES = ToolsetRegistration(
    name="notes",
    mcp="commonplace.toolsets.notes.mcp:NOTES",
    extend="commonplace.plugins.toolset_extension:with_plugins",
)
