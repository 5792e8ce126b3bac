"""Validation of entries against their types: each violated rule and the expected value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema import FieldRule, Schema

MAX_FORMAT_TEXT = 500
"""Maximum length of a text that is matched against a field's `format`.

Longer ones pass, as matching could take too long.
"""
MAX_SHOWN_FIELD = 40
"""Maximum length in characters of a wrong value in a message."""

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}.*)?")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Violation:
    """A value that violates a rule of its type."""

    field: str
    rule: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.field}: expected {self.expected}, got {self.got}"


def violations(schema: Schema, entry_type: str, values: JsonObject) -> list[Violation]:
    """Violations of the rules for all types and of the entry's type, in the order of their declaration."""
    declared = schema.types.get(entry_type)
    fields = {**schema.rules, **(declared.fields if declared else {})}
    required = declared.required if declared else ()
    found = [
        Violation(name, "required", "a value", "nothing")
        for name in dict.fromkeys([*required, *(n for n, rule in fields.items() if rule.required)])
        if values.get(name) in (None, "", [])
    ]
    for name, rule in fields.items():
        value = values.get(name)
        if value is not None:
            found += _broken(name, rule, value)
    return found


def is_date(text: str) -> bool:
    """Whether a text is a calendar date `YYYY-MM-DD`, optionally followed by a time."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    if not 1 <= month <= len(_DAYS) or not 1 <= day <= _DAYS[month - 1]:
        return False
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (month, day) != (2, 29) or leap


def _broken(name: str, rule: FieldRule, value: Json) -> list[Violation]:
    expected = _EXPECTATIONS.get(rule.type, _text_expectation)(rule, value)
    return [Violation(name, rule.type, expected, _shown(value))] if expected else []


def _text_expectation(rule: FieldRule, value: Json) -> str:
    if not rule.format or (isinstance(value, str) and _matches(rule.format, value)):
        return ""
    return f"text of the form {rule.format}"


def _matches(pattern: str, text: str) -> bool:
    """Whether a text matches. Patterns are the owner's; an invalid one constrains nothing."""
    try:
        return len(text) > MAX_FORMAT_TEXT or re.fullmatch(pattern, text) is not None
    except re.error:
        return True


def _number_expectation(rule: FieldRule, value: Json) -> str:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    low, high = rule.min, rule.max
    if number is not None and (low is None or number >= low) and (high is None or number <= high):
        return ""
    bounds = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
    return " ".join(["a number", " and ".join(bound for bound in bounds if bound)]).strip()


def _checkbox_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _date_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, str) and is_date(value) else "a date YYYY-MM-DD"


def _select_expectation(rule: FieldRule, value: Json) -> str:
    return "" if str(value) in rule.options else f"one of {', '.join(rule.options)}"


def _multi_select_expectation(rule: FieldRule, value: Json) -> str:
    fits = isinstance(value, list) and all(str(one) in rule.options for one in value)
    return "" if fits else f"a list of {', '.join(rule.options)}"


def _list_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, list) else "a list"


_EXPECTATIONS: Mapping[str, Callable[[FieldRule, Json], str]] = {
    "number": _number_expectation,
    "checkbox": _checkbox_expectation,
    "date": _date_expectation,
    "datetime": _date_expectation,
    "select": _select_expectation,
    "multi-select": _multi_select_expectation,
    "list": _list_expectation,
    "tags": _list_expectation,
}
"""For each type of field, a function that returns the expectation if a value violates it, else ""."""


def _shown(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN_FIELD else f"{text[: MAX_SHOWN_FIELD - 3]}..."
