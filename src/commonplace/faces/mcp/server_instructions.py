"""The `instructions` of a server, derived from the toolset that it serves."""

from __future__ import annotations

import re

from commonplace.faces.mcp.toolset import Toolset

READS_ONLY = "Nothing can be changed here: this server only reads."
SKILLS = "Skills (instructions for tasks) are listed by skills/list."
_SENTENCE_END = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


def server_instructions(toolset: Toolset, served: frozenset[str]) -> str:
    """The toolset's instructions without sentences about tools that are not served, plus sentences about this server.

    Args:
        toolset: The toolset.
        served: Names of the tools that the tier permits.
    """
    absent = [tool for tool in toolset.tools if tool.name not in served]
    sentences = _SENTENCE_END.split(toolset.instructions)
    said = [one for one in sentences if not any(_names(one, tool.name) for tool in absent)]
    changing = {tool.name for tool in toolset.tools if not tool.read_only}
    if changing and not changing & served:
        said.append(READS_ONLY)
    if toolset.skills:
        said.append(SKILLS)
    return " ".join(one for one in said if one)


def _names(sentence: str, tool: str) -> bool:
    return re.search(rf"\b{re.escape(tool)}\b", sentence) is not None
