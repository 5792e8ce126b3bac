"""What an agent is told of a server at its beginning, made from the toolset that is served."""

from __future__ import annotations

import re

from commonplace.faces.mcp.dialect import Dialect

READS_ONLY = "Nothing can be changed here: this server only reads."
SKILLS = "Skills (instructions for tasks) are listed by skills/list."
_SENTENCE_END = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


def briefing(dialect: Dialect, served: frozenset[str]) -> str:
    """The dialect's instructions without sentences about tools that are not served, and what holds for this server.

    Args:
        dialect: The toolset.
        served: Names of the tools that the tier allows.
    """
    absent = [tool for tool in dialect.tools if tool.name not in served]
    sentences = _SENTENCE_END.split(dialect.instructions)
    said = [one for one in sentences if not any(_names(one, tool.name) for tool in absent)]
    changing = {tool.name for tool in dialect.tools if not tool.read_only}
    if changing and not changing & served:
        said.append(READS_ONLY)
    if dialect.skills:
        said.append(SKILLS)
    return " ".join(one for one in said if one)


def _names(sentence: str, tool: str) -> bool:
    return re.search(rf"\b{re.escape(tool)}\b", sentence) is not None
