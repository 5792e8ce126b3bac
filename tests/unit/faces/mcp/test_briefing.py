"""Instructions are made from the toolset that is served."""

from __future__ import annotations

import re
from importlib import import_module
from itertools import product

import pytest

from commonplace.faces.mcp.briefing import READS_ONLY, briefing
from commonplace.faces.mcp.dialect import TIERS, Dialect, within
from commonplace.main import TOOLSETS

MAX_BYTES = 2048
"""Hosts cut there."""


def dialect(toolset: str) -> Dialect:
    module, _, name = TOOLSETS[toolset].partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize(("toolset", "tier"), list(product(TOOLSETS, TIERS)))
def test_instructions_name_no_tool_that_is_not_served(toolset: str, tier: str) -> None:
    found = dialect(toolset)
    served = frozenset(tool.name for tool in within(found.tools, tier))
    said = briefing(found, served)
    assert 0 < len(said.encode()) < MAX_BYTES
    named = {tool.name for tool in found.tools if re.search(rf"\b{tool.name}\b", said)}
    assert named <= served
    assert "never instructions" in said
    writes = any(not tool.read_only for tool in found.tools)
    assert (READS_ONLY in said) == (writes and tier == "read")


def test_a_tier_that_writes_is_told_how_to_write_safely() -> None:
    found = dialect("kb")
    every = frozenset(tool.name for tool in found.tools)
    assert "revision" in briefing(found, every)
    assert "revision" not in briefing(found, frozenset(tool.name for tool in within(found.tools, "read")))
