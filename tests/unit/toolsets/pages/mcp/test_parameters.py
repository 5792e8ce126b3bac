"""Arguments of the `pages` tools are checked before anything is searched."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.pages.mcp import ReadPage, SearchPages


@each_case(
    "wrong",
    [
        {"created_after": "31.05.2024"},
        {"updated_before": "2024-13-01"},
        {"stale": "30"},
        {"created_within": "0d x"},
        {"updated_within": "-3d"},
        {"limit": 0},
        {"limit": 10**6},
        {"limit": "3"},
        {"sort": "size"},
        {"labels": "one"},
        {"colour": "red"},
    ],
)
def test_what_no_search_can_mean_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, InvalidInputError)):
        SearchPages.model_validate({"query": "x", **wrong})


def test_values_are_taken_as_they_are() -> None:
    taken = SearchPages.model_validate({"query": "", "created_after": "2024-05-31", "stale": "6m", "labels": []})
    assert (taken.query, taken.created_after, taken.stale, taken.limit) == ("", "2024-05-31", "6m", 10)
    assert (ReadPage().path, ReadPage().id) == (None, None)


def test_the_schema_says_what_a_day_and_a_duration_look_like() -> None:
    shown = SearchPages.model_json_schema()["properties"]
    assert {"type": "string", "format": "date"} in shown["created_after"]["anyOf"]
    assert {"type": "string", "pattern": "^[0-9]+[dwmy]$"} in shown["stale"]["anyOf"]
