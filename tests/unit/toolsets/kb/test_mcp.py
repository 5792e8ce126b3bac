"""What agents call to read a page of the toolset `kb`."""

from __future__ import annotations

from commonplace.toolsets.kb.mcp import KB


def test_a_page_is_read_by_its_tool_with_the_question_and_the_budget() -> None:
    call = KB.read_call
    assert call is not None
    assert call.tool == "kb_get"
    place = {"entry_id": "a.md", "kb_name": "base"}
    assert call.arguments("base", "a.md", 100, "why?") == {**place, "max_tokens": 100, "query": "why?"}
    assert call.arguments("base", "a.md", 0, "") == place
