"""Writes docs/tools.md, the table of every tool of every toolset, from the toolsets; `--check` compares it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from sources import ROOT

from commonplace.domain.errors import ConfigError
from commonplace.faces.mcp.proposals import tools_with_proposals
from commonplace.faces.mcp.toolset import TIERS, JsonSchema, Tool, Toolset, allowed_tools
from commonplace.registration import load, registered, registration_of
from commonplace.settings import Tier

PAGE = ROOT / "docs" / "tools.md"
HEAD = """\
# Tools

Every tool of every toolset, as `tools/list` offers it. Required arguments are **bold**, defaults stand behind `=`. A
server is started at one tier and has that tier's tools and those of the tiers before it; the others can be neither
seen nor called. The tier propose has the tools of write, too, and what they write are [proposals](proposals.md).
Tokens are the characters of `tools/list` as compact JSON, divided by four.

This page is made by `python tools/list_tools.py`.
"""
MAX_DEFAULT = 30
"""Maximum length in characters of a default value that is shown."""


def main(argv: list[str] | None = None) -> int:
    """Write or check the page; return 1 if the check finds it out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when the page is out of date")
    parser.add_argument("--page", type=Path, default=PAGE, help="where the page is")
    namespace = parser.parse_args(argv)
    made = page()
    if not namespace.check:
        namespace.page.write_text(made, encoding="utf-8")
    elif not namespace.page.exists() or namespace.page.read_text(encoding="utf-8") != made:
        print(f"{namespace.page.name} is not as the toolsets are: run python tools/list_tools.py", file=sys.stderr)
        return 1
    return 0


def page() -> str:
    """The page for the current toolsets."""
    toolsets = [_load_toolset(registration.name) for registration in registered()]
    return "\n".join([HEAD, *_costs(toolsets), *(line for toolset in toolsets for line in _toolset(toolset))])


def tokens(tools: list[Tool]) -> int:
    """The token cost of listing the tools: characters of compact JSON / 4."""
    text = json.dumps([wire(tool) for tool in tools], separators=(",", ":"), ensure_ascii=False)
    return round(len(text) / 4)


def wire(tool: Tool) -> Mapping[str, object]:
    """A tool in the form of `tools/list`."""
    shown: dict[str, object] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.handler.input_schema(),
        "outputSchema": tool.output_schema,
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }
    return {name: value for name, value in shown.items() if value is not None}


def _load_toolset(name: str) -> Toolset:
    return cast("Toolset", load(registration_of(name).mcp))


def _costs(toolsets: list[Toolset]) -> Iterator[str]:
    """Table rows with the number of tools and their token cost, per toolset and tier."""
    yield f"| toolset | {' | '.join(f'{tier}: tools | tokens' for tier in TIERS)} |"
    yield f"|---|{'---:|' * 2 * len(TIERS)}"
    for toolset in toolsets:
        allowed = [_served(toolset, tier) for tier in TIERS]
        cells = [cell for tools in allowed for cell in ((str(len(tools)), f"{tokens(tools):,}") if tools else ("", ""))]
        yield f"| `{toolset.name}` | {' | '.join(cells)} |"
    yield ""


def _served(toolset: Toolset, tier: Tier) -> list[Tool]:
    """The tools of a toolset at a tier; none at a tier at which it is not served."""
    try:
        return list(allowed_tools(tools_with_proposals(toolset, tier), tier))
    except ConfigError:
        return []


def _toolset(toolset: Toolset) -> Iterator[str]:
    yield f"## {toolset.name}\n"
    counts = [(tier, tools) for tier in TIERS if (tools := _served(toolset, tier))]
    reported_text = "; ".join(f"{tier} {len(tools)} tools, {tokens(tools):,} tokens" for tier, tools in counts)
    yield f"Served at tier {toolset.default_tier} unless said otherwise. By tier: {reported_text}.\n"
    yield "| tool | tier | effect | arguments | what it does |"
    yield "|---|---|---|---|---|"
    for tool in toolset.tools:
        cells = (f"`{tool.name}`", tool.tier, _effect(tool), _arguments(tool.handler.input_schema()), tool.description)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"
    yield ""


def _effect(tool: Tool) -> str:
    if tool.read_only:
        return "reads"
    return f"{'changes' if tool.destructive else 'adds'}{', repeatable' if tool.idempotent else ''}"


def _arguments(schema: JsonSchema) -> str:
    required = cast("list[str]", schema.get("required", []))
    properties = cast("Mapping[str, JsonSchema]", schema.get("properties", {}))
    return (
        ", ".join(_argument(name, schema, required=name in required) for name, schema in properties.items()) or "none"
    )


def _argument(name: str, schema: JsonSchema, *, required: bool) -> str:
    if required:
        return f"**{name}**"
    default = schema.get("default")
    shown = json.dumps(default, ensure_ascii=False)
    return name if default in (None, [], {}) or len(shown) > MAX_DEFAULT else f"{name}={shown}"


if __name__ == "__main__":
    sys.exit(main())
