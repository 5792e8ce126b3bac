"""A toolset as a value: schemas that clients see, arguments that are checked before any code runs, tiers."""

from __future__ import annotations

from typing import Annotated, cast

import pytest
from pydantic import Field

from cases import each_case
from commonplace.domain.errors import ConfigError, InvalidInputError
from commonplace.faces.mcp.toolset import Call, Parameters, Tool, allowed_tools, bind, result_schema
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.settings import Tier


class Arguments(Parameters):
    """Arguments of the example tool."""

    title: str
    limit: Annotated[int, Field(ge=1, le=10)] = 5
    tags: list[str] | None = None


def example(call: Call, arguments: Arguments) -> str:
    return f"{call.tier} {arguments.title} {arguments.limit}"


BOUND = bind(Arguments, example)
CALL = Call(services=Services(collections=Collections(list)), tier="read", progress=lambda _done, _total: None)


def test_a_schema_holds_types_limits_and_defaults_and_no_padding() -> None:
    assert BOUND.input_schema() == {
        "type": "object",
        "additionalProperties": False,
        "required": ["title"],
        "properties": {
            "title": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    }


def test_valid_arguments_reach_the_function_with_defaults() -> None:
    assert BOUND.run(CALL, {"title": "A"}) == "read A 5"


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(InvalidInputError, match="Missing argument: title") as caught:
        BOUND.run(CALL, {})
    assert caught.value.context["missing"] == ["title"]


@each_case(
    ("arguments", "message"),
    [
        ({"title": "A", "limit": 11}, "Invalid argument limit: .*less than or equal to 10; got 11"),
        ({"title": "A", "limit": "3"}, 'Invalid argument limit: .*valid integer; got "3"'),
        ({"title": 5}, "Invalid argument title: .*valid string; got 5"),
        ({"title": "A", "tags": "x"}, 'Invalid argument tags: .*valid list; got "x"'),
        ({"title": "A", "titel": "B"}, "Unknown argument titel"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected_and_what_came(
    arguments: dict[str, str | int], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        BOUND.run(CALL, arguments)


def test_an_unknown_argument_is_answered_with_the_valid_ones() -> None:
    for arguments in ({"title": "A", "titel": "B"}, {"titel": "B"}):
        with pytest.raises(InvalidInputError, match="Unknown argument titel") as caught:
            BOUND.run(CALL, arguments)
        assert caught.value.hint.endswith(" Valid: title, limit, tags.")
    with pytest.raises(InvalidInputError) as caught:
        BOUND.run(CALL, {"title": 5})
    assert "Valid:" not in caught.value.hint


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidInputError) as caught:
        BOUND.run(CALL, {"title": "A", "limit": "x" * 10_000})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("tier", "names"), [("read", "r"), ("write", "rw"), ("admin", "rwa")])
def test_a_tier_holds_its_own_tools_and_those_below(tier: Tier, names: str) -> None:
    rows = [Tool(name=t[0], title=t, description=t, handler=BOUND, tier=cast("Tier", t)) for t in ("read", "write")]
    rows.append(Tool(name="a", title="a", description="a", handler=BOUND, tier="admin"))
    assert "".join(row.name for row in allowed_tools(rows, tier)) == names


def test_an_unknown_tier_is_an_error_that_names_all() -> None:
    with pytest.raises(ConfigError, match="'root': expected one of read, propose, write, admin"):
        allowed_tools([], "root")


def test_reading_is_idempotent_and_writing_only_where_a_tool_says_so() -> None:
    reader = Tool(name="r", title="r", description="r", handler=BOUND)
    writer = Tool(name="w", title="w", description="w", handler=BOUND, tier="write")
    again = Tool(name="w", title="w", description="w", handler=BOUND, tier="write", repeatable=True)
    assert [row.idempotent for row in (reader, writer, again)] == [True, False, True]
    assert [row.read_only for row in (reader, writer, again)] == [True, False, False]


def test_a_result_schema_names_its_keys_and_requires_the_stated_ones() -> None:
    assert result_schema("a", b="array") == {
        "type": "object",
        "properties": {"a": {}, "b": {"type": "array"}},
        "required": ["a"],
    }


def test_the_schema_of_a_tool_is_made_once_as_every_call_over_http_asks_for_it() -> None:
    assert BOUND.input_schema() is bind(Arguments, example).input_schema()
