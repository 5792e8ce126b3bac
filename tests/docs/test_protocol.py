"""Every row of the table of the protocol's page names a test that is there."""

from __future__ import annotations

import re

from support import ROOT


def test_every_requirement_names_a_test_that_exists() -> None:
    rows = re.findall(
        r"^\| (MCP-\d+) \|.*\| `([\w/.]+)::(\w+)` \|$", (ROOT / "docs" / "mcp.md").read_text(), re.MULTILINE
    )
    assert [name for name, _, _ in rows] == [f"MCP-{number}" for number in range(1, len(rows) + 1)]
    assert len(rows) > 10
    for name, file, test in rows:
        assert f"def {test}(" in (ROOT / file).read_text(), name
