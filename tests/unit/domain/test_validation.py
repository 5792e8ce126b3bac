"""Each rule that a field can break, broken and kept."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.json import Json
from commonplace.domain.schema import EntryType, FieldRule, Schema
from commonplace.domain.validation import is_date, violations

DAY = "a date YYYY-MM-DD"


def schema_with(rule: FieldRule) -> Schema:
    return Schema(types={"thing": EntryType(name="thing", fields={"x": rule})})


@each_case(
    ("rule", "good", "bad", "expected"),
    [
        (FieldRule(type="number", min=1, max=10), 10, 99, "a number at least 1 and at most 10"),
        (FieldRule(type="number"), 1.5, "one", "a number"),
        (FieldRule(type="number"), 0, True, "a number"),
        (FieldRule(type="checkbox"), False, "no", "true or false"),
        (FieldRule(type="date"), "2026-02-28", "2026-02-30", DAY),
        (
            FieldRule(type="datetime"),
            "2026-02-28T10:00:00Z",
            "yesterday",
            "a date YYYY-MM-DD, or with a time YYYY-MM-DDTHH:MM",
        ),
        (FieldRule(type="select", options=("a", "b")), "a", "c", "one of a, b"),
        (FieldRule(type="multi-select", options=("a", "b")), ["a", "b"], ["a", "c"], "a list of a, b"),
        (FieldRule(type="list"), [1], "1", "a list"),
        (FieldRule(type="tags"), ["x"], {"x": 1}, "a list"),
        (FieldRule(type="text", format=r"[A-Z]{2}-\d+"), "AB-1", "ab-1", r"text of the form [A-Z]{2}-\d+"),
        (FieldRule(pattern="[a-z]+"), ["a", "b"], ["a", "B"], "text of the form [a-z]+"),
        (FieldRule(format="ISO8601"), "2026-01-31", "31.1.2026", "a date YYYY-MM-DD (ISO8601)"),
        (FieldRule(format="date"), "2026-01-31", "2026-02-31", "a date YYYY-MM-DD"),
        (FieldRule(format="url"), "https://example.org/a", "example.org", "a URL such as https://example.org/page"),
        (FieldRule(format="email"), "a@example.org", "a@b", "an email address"),
        (FieldRule(format="id"), "harbour/alpha-1", "alpha 1", "an id such as alpha-beta"),
        (FieldRule(options=("a", "b")), "a", "c", "one of a, b"),
        (FieldRule(type="select", options=("true", "2")), True, False, "one of true, 2"),
        (FieldRule(min_length=2, max_length=3), "abc", "abcd", "at least 2 and at most 3 characters"),
        (FieldRule(type="list", max_length=1), ["a"], ["a", "b"], "at most 1 items"),
        (FieldRule(type="list", items=FieldRule(options=("a",))), ["a"], ["a", "b"], "one of a as item 2"),
        (FieldRule(type="object-ref"), "alpha", 5, "the id of an entry"),
    ],
)
def test_a_value_that_breaks_its_rule_is_named(rule: FieldRule, good: Json, bad: Json, expected: str) -> None:
    schema = schema_with(rule)
    assert violations(schema, "thing", {"title": "T", "x": good}) == []
    (violation,) = violations(schema, "thing", {"title": "T", "x": bad})
    assert (violation.field, violation.expected) == ("x", expected)


def test_a_required_field_must_have_a_value() -> None:
    found_violations = violations(schema_with(FieldRule(required=True)), "thing", {"title": ""})
    assert [(violation.field, violation.rule) for violation in found_violations] == [
        ("title", "required"),
        ("x", "required"),
    ]


def test_an_unknown_type_has_no_rules() -> None:
    assert violations(schema_with(FieldRule(required=True)), "other", {}) == []


def test_a_pattern_that_is_none_constrains_nothing() -> None:
    assert violations(schema_with(FieldRule(format="(")), "thing", {"title": "T", "x": "y"}) == []


@each_case("text", ["2024-02-29", "2000-02-29", "2026-12-31", "2026-01-01T00:00:00Z", "2026-01-01 09:30"])
def test_calendar_dates_are_dates(text: str) -> None:
    assert is_date(text)


@each_case("text", ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "", "tomorrow"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert not is_date(text)


def test_every_rule_for_a_field_counts_those_of_all_types_first() -> None:
    rules = (("x", FieldRule(type="number", min=1, max=5)), ("x", FieldRule(required=True)))
    own = EntryType(name="thing", fields={"x": FieldRule(options=("2", "9"))})
    schema = Schema(types={"thing": own}, rules=rules)
    assert [violation.expected for violation in violations(schema, "thing", {"title": "T"})] == ["a value"]
    assert [violation.expected for violation in violations(schema, "thing", {"title": "T", "x": 9})] == [
        "a number at least 1 and at most 5"
    ]
    assert [violation.expected for violation in violations(schema, "thing", {"title": "T", "x": 3})] == ["one of 2, 9"]


@each_case(
    ("rule", "value", "enforced"),
    [
        (FieldRule(options=("a",)), "b", None),
        (FieldRule(type="select", options=("a",), allow_other=True), "b", False),
        (FieldRule(type="multi-select", options=("a",), allow_other=True), ["b"], False),
        (FieldRule(type="multi-select", options=("a",), allow_other=True, enforce=True), "a", True),
        (FieldRule(type="number", max=1, enforce=True), 2, True),
        (FieldRule(type="number", max=1, enforce=False), 2, False),
    ],
)
def test_a_rule_says_whether_it_refuses(rule: FieldRule, value: Json, enforced: bool | None) -> None:
    (violation,) = violations(schema_with(rule), "thing", {"title": "T", "x": value})
    assert violation.enforced is enforced


def test_a_reference_must_name_an_entry_of_its_type() -> None:
    schema = schema_with(FieldRule(type="object-ref", target_types=("person",), enforce=True))
    types = {"ada": "person", "paris": "place"}

    def found(value: Json) -> list[bool | None]:
        return [violation.enforced for violation in violations(schema, "thing", {"title": "T", "x": value}, types.get)]

    assert found("ada") == found("[[ada]]") == []
    assert found(["ada", "paris"]) == [True]
    assert found("nobody") == [False], "an entry that is not there yet refuses nothing"


def test_too_few_sources_are_a_warning() -> None:
    schema = Schema(types={}, policies={"minimum_sources": 2})
    (violation,) = violations(schema, "thing", {"sources": ["a book"]})
    assert (violation.field, violation.expected, violation.got, violation.enforced) == (
        "sources",
        "at least 2 sources",
        "1",
        False,
    )
