"""What agents call to read a page of the toolset `notes`."""

from __future__ import annotations

from commonplace.toolsets.notes.mcp import NOTES


def test_a_page_is_read_by_its_tool_with_the_question_and_the_budget() -> None:
    call = NOTES.read_call
    assert call is not None
    assert call.tool == "read"
    assert call.arguments("base", "a.md", 100, "why?") == {"page": "base:a.md", "query": "why?", "max_tokens": 100}
    assert call.arguments("base", "a.md", 0, "") == {"page": "base:a.md", "query": ""}
