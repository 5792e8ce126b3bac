"""The toolset `kb` as the program knows it."""

from __future__ import annotations

from commonplace.registration import ToolsetRegistration

KB = ToolsetRegistration(
    name="kb",
    mcp="commonplace.faces.mcp.toolsets.kb:KB",
    extend="commonplace.plugins.toolset_extension:with_plugins",
)
