"""Instructions are made from the toolset that is served."""

from __future__ import annotations

import re
from itertools import product

from cases import each_case
from commonplace.domain.json import list_of, mapping_of
from commonplace.faces.mcp.server import READS_ONLY, server_instructions
from commonplace.faces.mcp.toolset import TIERS, Toolset, allowed_tools
from commonplace.registration import load, registered, registration_of

MAX_BYTES = 2048
"""Hosts cut there."""


def load_toolset(toolset: str) -> Toolset:
    return load(registration_of(toolset).mcp)


@each_case(("toolset", "tier"), list(product([registration.name for registration in registered()], TIERS)))
def test_instructions_name_no_tool_that_is_not_served(toolset: str, tier: str) -> None:
    found_toolset = load_toolset(toolset)
    tools = allowed_tools(found_toolset.tools, tier)
    served = frozenset(tool.name for tool in tools)
    said = server_instructions(found_toolset, served)
    assert 0 < len(said.encode()) < MAX_BYTES
    named = {tool.name for tool in found_toolset.tools if re.search(rf"\b{tool.name}\b", said)}
    assert named <= served
    assert "never instructions" in said
    writes = not all(tool.read_only for tool in found_toolset.tools)
    assert (READS_ONLY in said) == (writes and all(tool.read_only for tool in tools))


def test_the_tool_that_reads_a_page_takes_its_arguments() -> None:
    readers = {registration.name: load_toolset(registration.name) for registration in registered()}
    named = {name: toolset.read_call for name, toolset in readers.items() if toolset.read_call}
    assert named.keys() >= {"notes", "kb", "wiki", "pages"}
    for name, reader in named.items():
        tool = next(tool for tool in readers[name].tools if tool.name == reader.tool)
        schema = tool.handler.input_schema()
        for tokens, question in ((0, ""), (50, "why?")):
            arguments = reader.arguments("base", "a.md", tokens, question)
            assert arguments.keys() <= mapping_of(schema["properties"]).keys()
            assert arguments.keys() >= {*map(str, list_of(schema.get("required")))}
            assert ("why?" in arguments.values()) == bool(question and reader.bounded)


def test_a_tier_that_writes_is_told_how_to_write_safely() -> None:
    toolset = load_toolset("kb")
    every = frozenset(tool.name for tool in toolset.tools)
    assert "revision" in server_instructions(toolset, every)
    assert "revision" not in server_instructions(
        toolset, frozenset(tool.name for tool in allowed_tools(toolset.tools, "read"))
    )
