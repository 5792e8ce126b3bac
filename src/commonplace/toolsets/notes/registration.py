"""Registration of the toolset `notes`, the default for folders that declare no other toolset."""

from __future__ import annotations

from commonplace.registration import ToolsetRegistration

NOTES = ToolsetRegistration(
    name="notes",
    mcp="commonplace.toolsets.notes.mcp:NOTES",
    extend="commonplace.plugins.toolset_extension:with_plugins",
)
