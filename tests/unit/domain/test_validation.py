"""Each rule that a field can break, broken and kept."""

from __future__ import annotations

import pytest

from commonplace.domain.json import Json
from commonplace.domain.schema import EntryType, FieldRule, Schema
from commonplace.domain.validation import is_date, violations


def schema_with(rule: FieldRule) -> Schema:
    return Schema(types={"thing": EntryType(name="thing", fields={"x": rule})})


@pytest.mark.parametrize(
    ("rule", "good", "bad", "expected"),
    [
        (FieldRule(type="number", min=1, max=10), 10, 99, "a number at least 1 and at most 10"),
        (FieldRule(type="number"), 1.5, "one", "a number"),
        (FieldRule(type="number"), 0, True, "a number"),
        (FieldRule(type="checkbox"), False, "no", "true or false"),
        (FieldRule(type="date"), "2026-02-28", "2026-02-30", "a date YYYY-MM-DD"),
        (FieldRule(type="datetime"), "2026-02-28T10:00:00Z", "yesterday", "a date YYYY-MM-DD"),
        (FieldRule(type="select", options=("a", "b")), "a", "c", "one of a, b"),
        (FieldRule(type="multi-select", options=("a", "b")), ["a", "b"], ["a", "c"], "a list of a, b"),
        (FieldRule(type="list"), [1], "1", "a list"),
        (FieldRule(type="tags"), ["x"], {"x": 1}, "a list"),
        (FieldRule(type="text", format=r"[A-Z]{2}-\d+"), "AB-1", "ab-1", r"text of the form [A-Z]{2}-\d+"),
    ],
)
def test_a_value_that_breaks_its_rule_is_named(rule: FieldRule, good: Json, bad: Json, expected: str) -> None:
    schema = schema_with(rule)
    assert violations(schema, "thing", {"title": "T", "x": good}) == []
    (found,) = violations(schema, "thing", {"title": "T", "x": bad})
    assert (found.field, found.rule, found.expected) == ("x", rule.type, expected)


def test_a_required_field_must_have_a_value() -> None:
    found = violations(schema_with(FieldRule(required=True)), "thing", {"title": ""})
    assert [(one.field, one.rule) for one in found] == [("title", "required"), ("x", "required")]


def test_an_unknown_type_has_no_rules() -> None:
    assert violations(schema_with(FieldRule(required=True)), "other", {}) == []


def test_a_pattern_that_is_none_constrains_nothing() -> None:
    assert violations(schema_with(FieldRule(format="(")), "thing", {"title": "T", "x": "y"}) == []


@pytest.mark.parametrize("text", ["2024-02-29", "2000-02-29", "2026-12-31", "2026-01-01T00:00:00Z", "2026-01-01 09:30"])
def test_calendar_dates_are_dates(text: str) -> None:
    assert is_date(text)


@pytest.mark.parametrize("text", ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "", "tomorrow"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert not is_date(text)
