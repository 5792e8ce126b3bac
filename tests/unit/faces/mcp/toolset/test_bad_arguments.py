"""Errors for invalid arguments."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cases import each_case
from commonplace.faces.mcp.toolset import MAX_SHOWN_ARGUMENT, bad_arguments


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int = 1


class Given(BaseModel):
    model_config = ConfigDict(extra="forbid")
    page: str
    since: str = Field("", alias="from")
    part: Part = Part()
    parts: list[Part] | None = None


def told(values: dict[str, Any], params: type[BaseModel] | None = Given) -> str:
    with pytest.raises(ValidationError) as caught:
        Given.model_validate(values)
    return bad_arguments(caught.value, params).advice


@each_case(
    ("values", "said"),
    [
        ({}, "Missing argument: page. Give page."),
        ({"pages": []}, "Missing argument: page. Unknown argument pages. Give page. Valid: page, from, part, parts."),
        (
            {"page": "a", "size": 1},
            (
                "Unknown argument size. It belongs in part. Correct the arguments and call again."
                " Valid: page, from, part, parts."
            ),
        ),
        (
            {"page": "a", "part": {"big": 1}},
            "Unknown argument part.big. Correct the arguments and call again. Valid in part: size.",
        ),
        (
            {"page": "a", "parts": [{}, {"big": 1}]},
            "Unknown argument parts.1.big. Correct the arguments and call again. Valid in parts: size.",
        ),
        (
            {"page": 1, "x": 2},
            (
                "Unknown argument x. Invalid argument page: should be a valid string; got 1."
                " Correct the arguments and call again. Valid: page, from, part, parts."
            ),
        ),
    ],
)
def test_each_wrong_argument_is_named_and_the_valid_ones_where_one_is_unknown(
    values: dict[str, Any], said: str
) -> None:
    assert told(values) == said


def test_without_a_model_no_valid_arguments_are_named() -> None:
    assert told({"page": "a", "size": 1}, None) == "Unknown argument size. Correct the arguments and call again."


def test_a_long_value_is_cut() -> None:
    assert f"got {'[' + '1, ' * 100}"[: MAX_SHOWN_ARGUMENT - 10] in told({"page": [1] * 100})
    assert len(told({"page": [1] * 100})) < 200


class Choice(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    page: Annotated[str, Field(min_length=1)] | list[Annotated[str, Field(min_length=1)]]


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


@pytest.mark.parametrize(
    ("model", "values", "said"),
    [
        (Choice, {"page": 5}, "Invalid argument page: should be a valid string or should be a valid list; got 5."),
        (Choice, {"page": ["a", 5]}, "Invalid argument page.1: should be a valid string; got 5."),
        (Nothing, {"x": 1}, "Unknown argument x. Correct the arguments and call again. There are none."),
    ],
)
def test_arguments_are_named_as_the_caller_wrote_them(
    model: type[BaseModel], values: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(values)
    assert bad_arguments(caught.value, model).advice.startswith(said)
