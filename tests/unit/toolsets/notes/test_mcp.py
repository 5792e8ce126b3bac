"""What agents call to read a page of the toolset `notes`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.schema import SCHEMA_FILE
from commonplace.domain.tokens import tokens_of
from commonplace.faces.mcp.server import server_instructions
from commonplace.faces.mcp.toolset import Tool, allowed_tools
from commonplace.registration import default_toolset
from commonplace.settings import default_settings
from commonplace.toolsets.kb import registration
from commonplace.toolsets.notes.mcp import NOTES
from commonplace.toolsets.pages.rules.space import SPACE_FILE


def test_a_page_is_read_by_its_tool_with_the_question_and_the_budget() -> None:
    call = NOTES.read_call
    assert call is not None
    assert call.tool == "read"
    assert call.arguments("base", "a.md", 100, "why?") == {"page": "base:a.md", "query": "why?", "max_tokens": 100}
    assert call.arguments("base", "a.md", 0, "") == {"page": "base:a.md", "query": ""}


MOST_TOKENS = {"read": 1_400, "write": 2_700, "admin": 2_700}


def wire(tool: Tool) -> dict[str, object]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.handler.input_schema(),
        "annotations": {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


@pytest.mark.parametrize(("tier", "most"), MOST_TOKENS.items())
def test_the_list_of_tools_keeps_to_its_tokens(tier: str, most: int) -> None:
    text = json.dumps([wire(tool) for tool in allowed_tools(NOTES.tools, tier)], separators=(",", ":"))
    assert tokens_of(text) <= most


def test_the_instructions_name_only_what_the_tier_has() -> None:
    names = frozenset(tool.name for tool in allowed_tools(NOTES.tools, "read"))
    said = server_instructions(NOTES, names)
    assert "brief" in said
    assert "transaction" not in said
    assert "with edit" not in said
    assert "only reads" in said


def test_the_default_toolset_is_what_the_folder_declares(tmp_path: Path) -> None:
    plain, typed, store = (tmp_path / name for name in ("plain", "typed", "store"))
    for folder in (plain, typed, store / "projects"):
        folder.mkdir(parents=True)
    (typed / SCHEMA_FILE).write_text("name: typed\n")
    (store / "index.json").write_text("{}")
    settings = default_settings()
    assert registration.KB_FILE == SCHEMA_FILE
    assert SPACE_FILE.path == registration.SPACE_FILE
    assert default_toolset(replace(settings, kb=(plain,))) == "notes"
    assert default_toolset(replace(settings, kb=(plain, typed))) == "kb"
    assert default_toolset(replace(settings, kb=(store,))) == "projects"
    assert default_toolset(replace(settings, kb=(plain,), toolset="wiki")) == "wiki"
