"""A plugin as they are written for the older server: dataclasses as types, relations, a preset, tools, commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import typer

app = typer.Typer(help="Slips of paper.")


@app.command("count")
def count(words: str) -> None:
    """Count the words of a text."""
    typer.echo(f"{len(words.split())} words")


@app.command("stack")
def stack() -> None:
    """More lines than a pipe holds."""
    for number in range(100_000):
        typer.echo(f"slip {number}")


@app.command("lose")
def lose() -> None:
    """Fail as a program fails."""
    raise LookupError("the slip fell behind the shelf")


@dataclass
class Entry:
    """The fields of every entry."""

    id: str
    title: str
    body: str = ""
    tags: list[str] = field(default_factory=list)
    importance: int = 5


@dataclass
class SlipEntry(Entry):
    """One thought on one slip."""

    slip_type: str = "fleeting"
    maturity: str = "seed"
    source_ref: str = ""

    @property
    def entry_type(self) -> str:
        return "slip"

    def to_frontmatter(self) -> dict[str, Any]:
        return {"type": "slip", "slip_type": self.slip_type}


@dataclass
class ReadingEntry(Entry):
    page_refs: list[str] = field(default_factory=list)
    author: str = ""


class Plugin:
    name = "slips"

    def __init__(self) -> None:
        self.ctx: Any = None

    def set_context(self, ctx: Any) -> None:
        self.ctx = ctx

    def get_entry_types(self) -> dict[str, type]:
        return {"slip": SlipEntry, "reading": ReadingEntry}

    def get_kb_types(self) -> list[str]:
        return ["slips"]

    def get_cli_commands(self) -> list[tuple[str, Any]]:
        return [("slips", app)]

    def get_relationship_types(self) -> dict[str, dict[str, str]]:
        return {"elaborates": {"inverse": "elaborated_by", "description": "Says more of another slip"}}

    def get_validators(self) -> list[Any]:
        return [_check]

    def get_kb_presets(self) -> dict[str, dict[str, Any]]:
        return {"slips": {"kb_type": "slips", "types": {"slip": {"required": ["title"]}}}}

    def get_mcp_tools(self, tier: str) -> dict[str, dict[str, Any]]:
        schema = {"type": "object", "properties": {"entry_id": {"type": "string"}}, "required": []}
        tools = {"slip_inbox": {"description": "Fleeting slips", "inputSchema": schema, "handler": self._inbox}}
        if tier in {"write", "admin"}:
            tools["slip_graph"] = {"description": "Links of a slip", "inputSchema": schema, "handler": self._graph}
        return tools

    def _inbox(self, _: dict[str, Any]) -> dict[str, Any]:
        rows = self.ctx.db.search("*", limit=500)
        fleeting = [row["id"] for row in rows if row["metadata"].get("slip_type") == "fleeting"]
        return {"count": len(fleeting), "inbox": fleeting}

    def _graph(self, args: dict[str, Any]) -> dict[str, Any]:
        db = self.ctx.db
        entry = db.get_entry(args["entry_id"], None)
        if not entry:
            return {"error": "not found"}
        return {
            "center": entry["title"],
            "outlinks": [row["id"] for row in db.get_outlinks(args["entry_id"])],
            "backlinks": [row["id"] for row in db.get_backlinks(args["entry_id"])],
        }


def _check(entry_type: str, data: dict[str, Any], context: dict[str, Any]) -> list[dict[str, Any]]:
    if entry_type != "slip" or data.get("maturity") in {"seed", "sapling", "evergreen"}:
        return []
    assert context["kb_name"]
    return [
        {"field": "maturity", "rule": "enum", "expected": ["seed", "sapling", "evergreen"], "got": data["maturity"]}
    ]
