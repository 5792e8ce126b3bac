"""An example plugin: tools, a prompt, resources, a type, a validator, a relation and a hook, each the smallest."""

from __future__ import annotations

import sys
from typing import Any

MAX_RANGE = 17.0
"""Metres between low and high water; no tide on earth has more."""


class HarbourTides:
    """What `commonplace` finds through the entry point; every method is optional."""

    name = "harbour-tides"

    def set_context(self, context: Any) -> None:
        """Keep the open index for the tools, and the way to tell clients of a change."""
        self._db = context.db
        self._changed = context.changed
        self._level = "0 m"
        self._written = 0

    def get_mcp_tools(self, tier: str) -> dict[str, Any]:
        """Tools that only read, and so belong to every tier."""
        assert tier in {"read", "write", "admin"}
        return {
            "tide_gauges": {
                "description": "Tide gauges by the words that describe them.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"words": {"type": "string", "minLength": 1}},
                    "required": ["words"],
                },
                "handler": self._gauges,
            },
            "read_gauge": {
                "description": "Ask the user for the water's height at the quay, and note it.",
                "inputSchema": {"type": "object", "properties": {}},
                "converse": self._read_gauge,
            },
            # There already is such a tool: this one is skipped, and the log says so.
            "kb_search": {"description": "Not this one.", "inputSchema": {"type": "object"}, "handler": self._gauges},
        }

    def get_mcp_prompts(self) -> dict[str, Any]:
        """A message that a person can start with."""
        harbour = {"name": "harbour", "description": "Where from", "required": True}
        return {
            "plan_crossing": {
                "description": "When to leave a harbour.",
                "arguments": [harbour],
                "render": _plan,
            }
        }

    def get_mcp_resources(self) -> dict[str, Any]:
        """Something to read, and a family of such."""
        return {
            "tides://level": {"name": "The water's height", "read": lambda _: self._level},
            "tides://gauges/{id}": {"name": "A gauge", "read": lambda variables: self._db.get(variables["id"])["body"]},
        }

    def get_entry_types(self) -> dict[str, Any]:
        """A type as `kb.yaml` would declare it."""
        return {
            "tide_gauge": {
                "description": "Where the water's height is measured",
                "subdirectory": "gauges",
                "fields": {"range": {"type": "number", "min": 0}},
            }
        }

    def get_relationship_types(self) -> dict[str, str]:
        """A relation and its inverse."""
        return {"measures": "measured_by"}

    def get_validators(self) -> list[Any]:
        """Functions that judge an entry's fields."""
        return [_plausible_range]

    def get_hooks(self) -> dict[str, list[Any]]:
        """Functions round every write."""
        return {"before_save": [_require_name_of_place], "before_index": [self._count]}

    def get_kb_presets(self) -> dict[str, Any]:
        """A `kb.yaml` to begin with."""
        return {"harbour": {"kb_type": "harbour", "description": "Quays, tides and who looks after them"}}

    def get_cli_commands(self) -> dict[str, Any]:
        """`commonplace tide-range LOW HIGH`."""
        return {"tide-range": _tide_range}

    def get_orient_supplement(self, kb_name: str) -> dict[str, Any]:
        """What an orientation holds besides."""
        return {"tides": f"{kb_name} keeps its gauges under gauges/", "gauges_written": self._written}

    def _count(self, entry: dict[str, Any], context: Any) -> None:
        del context
        self._written += entry["entry_type"] == "tide_gauge"

    def _gauges(self, arguments: dict[str, Any]) -> dict[str, Any]:
        rows = self._db.search(arguments["words"])
        return {"gauges": [row["id"] for row in rows if row["entry_type"] == "tide_gauge"]}

    def _read_gauge(self, _: dict[str, Any], client: Any) -> str:
        height = {"type": "object", "properties": {"metres": {"type": "number"}}, "required": ["metres"]}
        question = {"message": "How high is the water?", "requestedSchema": height}
        answer = client.ask({"height": {"method": "elicitation/create", "params": question}})["height"]
        if answer["action"] != "accept":
            return "Nothing was noted."
        self._level = f"{answer['content']['metres']} m"
        self._changed("tides://level")
        return f"Noted: {self._level}"


def _tide_range(low: float, high: float) -> int:
    """Metres between two heights of the water."""
    sys.stdout.write(f"{high - low:g} m\n")
    return 0 if high >= low else 1


def _plan(given: dict[str, str], client: Any) -> str:
    return f"When is there water enough to leave {given['harbour']}?"


def _plausible_range(entry_type: str, data: dict[str, Any], context: Any) -> list[dict[str, Any]]:
    value = data.get("range")
    if entry_type != "tide_gauge" or not isinstance(value, (int, float)) or value <= MAX_RANGE:
        return []
    return [{"field": "range", "rule": "plausible_range", "expected": f"at most {MAX_RANGE} m", "got": str(value)}]


def _require_name_of_place(entry: dict[str, Any], context: Any) -> None:
    if entry["entry_type"] == "tide_gauge" and not entry.get("location") and "place:" not in entry["body"]:
        raise ValueError("a tide gauge needs a line `place: …` in its text, or a location")
