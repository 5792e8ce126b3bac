"""What agents call to read a page of the toolset `wiki`."""

from __future__ import annotations

from commonplace.toolsets.wiki.mcp import WIKI


def test_a_page_is_read_by_its_tool_with_the_question_and_the_budget() -> None:
    call = WIKI.read_call
    assert call is not None
    assert call.tool == "read_note"
    assert call.arguments("base", "a.md", 100, "why?") == {"path": "a.md"}
    assert call.arguments("base", "a.md", 0, "") == {"path": "a.md"}
