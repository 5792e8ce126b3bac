"""The rule for a field is read from its declaration; what is not understood is left out."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.json import Json
from commonplace.domain.schema import FIELD_TYPES, FieldRule, field_rule, rules_of


def test_an_empty_declaration_is_an_optional_text() -> None:
    assert field_rule({}) == FieldRule(type="text", required=False)


@each_case("kind", FIELD_TYPES)
def test_every_type_of_field_is_read(kind: str) -> None:
    assert field_rule({"type": kind}).type == kind


@pytest.mark.parametrize(("kind", "read"), [("string", "text"), ("str", "text"), ("colour", "text"), (["a"], "text")])
def test_other_names_of_a_type_are_texts(kind: Json, read: str) -> None:
    assert field_rule({"type": kind}, "number").type == (read if kind != ["a"] else "number")


@each_case(
    ("declared", "options"),
    [
        ({"options": ["low", "high"]}, ("low", "high")),
        ({"values": ["low"]}, ("low",)),
        ({"enum": [1, 2.5, True, None]}, ("1", "2.5", "true")),
        ({"options": [], "enum": ["a"]}, ("a",)),
        ({"options": "low, high"}, ("low", "high")),
        ({"options": ["漢字", "é"]}, ("漢字", "é")),
        ({"options": {"a": 1}}, ()),
    ],
)
def test_options_are_read_as_texts(declared: dict[str, Json], options: tuple[str, ...]) -> None:
    assert field_rule(declared).options == options


@each_case(
    ("declared", "bounds"),
    [
        ({"min": 1, "max": 5.5}, (1, 5.5)),
        ({"range": [1, 5]}, (1, 5)),
        ({"range": [1, 5], "min": 3}, (1, 5)),
        ({"range": [1], "min": 3}, (3, None)),
        ({"range": ["a", 5]}, (None, 5)),
        ({"min": True, "max": "5"}, (None, None)),
    ],
)
def test_bounds_are_numbers(declared: dict[str, Json], bounds: tuple[float | None, float | None]) -> None:
    rule = field_rule(declared)
    assert (rule.min, rule.max) == bounds


@pytest.mark.parametrize("value", [None, "true", 1, [True]])
def test_only_true_is_true(value: Json) -> None:
    rule = field_rule({"required": value, "allow_other": value, "enforce": value})
    assert (rule.required, rule.allow_other, rule.enforce) == (False, False, None)


def test_whether_a_violation_refuses_is_open_unless_it_is_said() -> None:
    assert [field_rule({"enforce": value}).enforce for value in (True, False)] == [True, False]


@pytest.mark.parametrize("items", ["number", {"type": "number"}])
def test_items_of_a_list_have_a_rule_of_their_own(items: Json) -> None:
    rule = field_rule({"type": "list", "items": items}).items
    assert rule is not None
    assert rule.type == "number"


def test_rules_name_their_fields_in_order_and_those_with_bounds_are_about_numbers() -> None:
    rules = rules_of([{"field": "b", "range": [1, 5]}, 7, {"min": 1}, {"field": "a", "format": "url"}, {"field": ""}])
    assert [(name, rule.type) for name, rule in rules] == [("b", "number"), ("a", "text")]
    assert rules[1][1].format == "url"


@pytest.mark.parametrize("value", [None, "field", {"field": "a"}, 5])
def test_rules_that_are_no_list_are_none(value: Json) -> None:
    assert rules_of(value) == ()
