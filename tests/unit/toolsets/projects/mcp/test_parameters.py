"""Arguments of the `projects` tools: types are literal, unknown names ignored, older names understood."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from cases import each_case
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.rules import limits


def test_unknown_arguments_are_ignored() -> None:
    taken = parameters.ProjectArguments.model_validate({"project_id": "a", "verbose": True})
    assert taken.model_dump() == {"project_id": "a"}


@pytest.mark.parametrize(
    ("model", "older", "newer", "more"),
    [
        (parameters.UpdateSection, "content", "new_content", {"section_header": "## A"}),
        (parameters.GetNextChapter, "current_chapter_index", "current_index", {"filename": "f"}),
    ],
)
def test_an_older_name_of_an_argument_means_the_same(
    model: type[BaseModel], older: str, newer: str, more: dict[str, str]
) -> None:
    value = 3 if "index" in older else "text"
    both = [model.model_validate({"project_id": "a", **more, name: value}) for name in (older, newer)]
    assert both[0] == both[1]


@each_case(
    ("model", "given"),
    [
        (parameters.ListProjects, {"limit": 0}),
        (parameters.ListProjects, {"limit": "5"}),
        (parameters.ListProjects, {"offset": -1}),
        (parameters.SearchKnowledge, {"project_id": "a", "query": "x", "limit": 0}),
        (parameters.TodoArguments, {"project_id": "a", "todo_number": "1"}),
        (
            parameters.AddChapter,
            {"project_id": "a", "filename": "f", "chapter_title": "t", "content": "", "position": "x"},
        ),
        (parameters.CreateTodo, {"project_id": "a", "description": "d", "tasks": ["Buy tea"]}),
        (parameters.ProjectArguments, {}),
    ],
)
def test_another_type_or_value_is_refused(model: type[BaseModel], given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(given)


def test_the_schema_tells_the_limits_that_the_rules_enforce() -> None:
    shown = parameters.AddSection.model_json_schema()["properties"]
    assert shown["project_id"]["maxLength"] == limits.MAX_PROJECT_ID
    assert shown["section_header"]["maxLength"] == limits.MAX_TITLE
    assert shown["position"]["enum"] == ["before", "after", "end"]
