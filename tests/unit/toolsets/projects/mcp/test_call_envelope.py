"""Texts of answers: nested JSON with few indents, and what a message names."""

from __future__ import annotations

import json

from cases import each_case
from commonplace.domain.json import Json
from commonplace.toolsets.projects.mcp.call_envelope import MAX_NAMED, indented_text, with_subsections

VALUE: Json = {"success": True, "of": [{"a": [1, {"b": None}]}, {}], "none": [], "text": "日本 \u2028"}


@each_case("levels", range(6))
def test_whatever_is_indented_is_the_same_json(levels: int) -> None:
    assert json.loads(indented_text(VALUE, levels)) == VALUE


def test_only_the_outer_levels_take_lines() -> None:
    assert indented_text(VALUE, 0).count("\n") == 0
    assert indented_text({"a": [1, 2], "b": {}}, 1) == '{\n  "a": [1,2],\n  "b": {}\n}'
    assert indented_text({"a": [1, {"c": 3}]}, 2) == '{\n  "a": [\n    1,\n    {"c":3}\n  ]\n}'


def test_subsections_are_counted_and_the_first_are_named() -> None:
    assert with_subsections([]) == ""
    assert with_subsections(["### A"]) == ", with 1 subsection: '### A'"
    many = with_subsections([f"### {number}" for number in range(MAX_NAMED + 3)])
    assert many.startswith(f", with {MAX_NAMED + 3} subsections: '### 0', ")
    assert many.endswith(f"'### {MAX_NAMED - 1}', …")
