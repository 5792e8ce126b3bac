"""An example plugin: a tool, a type of entry, a validator, a relation, a hook and a supplement, each the smallest."""

from __future__ import annotations

from typing import Any

MAX_RANGE = 17.0
"""Metres between low and high water; no tide on earth has more."""


class HarbourTides:
    """What `commonplace` finds through the entry point; every method is optional."""

    name = "harbour-tides"

    def set_context(self, context: Any) -> None:
        """Keep the open index for the tools."""
        self._db = context.db

    def get_mcp_tools(self, tier: str) -> dict[str, Any]:
        """A tool that only reads, and so belongs to every tier."""
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
            # There already is such a tool: this one is skipped, and the log says so.
            "kb_search": {"description": "Not this one.", "inputSchema": {"type": "object"}, "handler": self._gauges},
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
        return {"before_save": [_require_name_of_place]}

    def get_orient_supplement(self, kb_name: str) -> dict[str, Any]:
        """What an orientation holds besides."""
        return {"tides": f"{kb_name} keeps its gauges under gauges/"}

    def _gauges(self, arguments: dict[str, Any]) -> dict[str, Any]:
        rows = self._db.search(arguments["words"])
        return {"gauges": [row["id"] for row in rows if row["entry_type"] == "tide_gauge"]}


def _plausible_range(entry_type: str, data: dict[str, Any], context: Any) -> list[dict[str, Any]]:
    value = data.get("range")
    if entry_type != "tide_gauge" or not isinstance(value, (int, float)) or value <= MAX_RANGE:
        return []
    return [{"field": "range", "rule": "plausible_range", "expected": f"at most {MAX_RANGE} m", "got": str(value)}]


def _require_name_of_place(entry: dict[str, Any], context: Any) -> None:
    if entry["entry_type"] == "tide_gauge" and not entry.get("location") and "place:" not in entry["body"]:
        raise ValueError("a tide gauge needs a line `place: …` in its text, or a location")
