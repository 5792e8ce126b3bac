"""A plugin as they are written for the older server: types with options, and a hook that guards a workflow."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal


class Urgency(Enum):
    LOW = "low"
    HIGH = "high"


class ErrandEntry:
    name = "errand"
    description = "Something to be done"
    subdirectory = "errands"
    required = ("title", "assignee")
    status: Literal["open", "done"] = "open"
    urgency: Urgency = Urgency.LOW
    assignee: str
    due: str | None = None
    priority: int = 3


class Plugin:
    name = "errands"

    def get_entry_types(self) -> list[type]:
        return [ErrandEntry]

    def get_workflows(self) -> dict[str, Any]:
        return {"errands": {"states": ["open", "done"], "initial": "open"}}

    def get_hooks(self) -> dict[str, Any]:
        return {"before_save": self._guard}

    def get_mcp_tools(self, tier: str) -> dict[str, Any]:
        if tier == "read":
            return {}
        schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
        return {"errand_plan": {"description": "Plan one", "inputSchema": schema, "handler": self._plan}}

    def _plan(self, args: dict[str, Any]) -> dict[str, Any]:
        return {"planned": args["title"]}

    def _guard(self, entry: Any, _: Any) -> Any:
        if entry.entry_type == "errand" and getattr(entry, "status", None) not in {"open", "done"}:
            raise ValueError(f"an errand cannot be {entry.status}")
        return entry
