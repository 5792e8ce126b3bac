"""Validation of entries against their types: each violated rule and the expected value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Protocol
from urllib.parse import urlsplit

from commonplace.domain.json import Json, JsonObject, number_of, scalar_text, text_of
from commonplace.domain.schema import FieldRule, Schema

MAX_FORMAT_TEXT = 500
"""Maximum length of a text that is matched against a field's `format` or `pattern`.

Longer texts are accepted, because matching could take too long.
"""
MAX_SHOWN_FIELD = 40
"""Maximum length in characters of a wrong value in a message."""

TypeOfReference = Callable[[str], str | None]
"""Returns the type of the entry that a reference names; None if there is no such entry."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A value that violates a rule of its type."""

    field: str
    rule: str
    expected: str
    got: str
    enforced: bool | None = None
    """Whether the violation rejects a write; None for the base's `validation.enforce`."""
    message: str = ""
    """Message of the base's owner; "" for none."""

    def __str__(self) -> str:
        own = f" ({self.message})" if self.message else ""
        return f"{self.field}: expected {self.expected}, got {self.got}{own}"


def violations(
    schema: Schema, entry_type: str, values: JsonObject, type_of_reference: TypeOfReference | None = None
) -> list[Violation]:
    """Violations of the rules for all types and of the entry's type, in the order of their declaration.

    Args:
        schema: The schema of the base.
        entry_type: The type of the entry.
        values: The entry's frontmatter, with its title.
        type_of_reference: Returns the type of the entry that an `object-ref` names; None to skip this check.
    """
    declared = schema.types.get(entry_type)
    rules = [*schema.rules, *(declared.fields.items() if declared else ())]
    messages = {name: rule.message for name, rule in rules if rule.required and rule.message}
    demanded: dict[str, bool | None] = dict.fromkeys(declared.required if declared else ())
    for name, rule in rules:
        if rule.required:
            demanded[name] = rule.enforce if name not in demanded else demanded[name] or rule.enforce
    found_violations = [
        Violation(name, "required", "a value", "nothing", enforced, messages.get(name, ""))
        for name, enforced in demanded.items()
        if values.get(name) in (None, "", [])
    ]
    for name, rule in rules:
        value = values.get(name)
        if value is not None:
            found_violations += _broken(name, rule, value)
            if type_of_reference:
                found_violations += _misdirected(name, rule, value, type_of_reference)
    return _distinct([*found_violations, *_sources(schema, values)])


def _distinct(found_violations: Iterable[Violation]) -> list[Violation]:
    """Each violation once; among equal ones, one that rejects a write is preferred."""
    said: dict[str, Violation] = {}
    for found_violation in found_violations:
        violation = said.get(str(found_violation))
        if violation is None or (
            found_violation.enforced or (found_violation.enforced is None and violation.enforced is False)
        ):
            said[str(found_violation)] = found_violation
    return list(said.values())


def _broken(name: str, rule: FieldRule, value: Json) -> Iterator[Violation]:
    expected = _EXPECTATIONS[rule.type](rule, value)
    if expected:
        yield _violation(name, rule, expected, value)
        return
    if expected := _option_expectation(rule, value):
        yield _violation(name, rule, expected, value, enforced=False if rule.allow_other else rule.enforce)
        return
    for check in (_length_expectation, _form_expectation):
        if expected := check(rule, value):
            yield _violation(name, rule, expected, value)
    for pattern in _slow(rule):
        yield _violation(name, rule, f"text that is compared in time with {pattern}", value, enforced=False)
    if rule.items is not None and isinstance(value, list):
        for number, item in enumerate(value, 1):
            for violation in _broken(name, rule.items, item):
                yield replace(violation, expected=f"{violation.expected} as item {number}")


def _violation(name: str, rule: FieldRule, expected: str, value: Json, **more: bool | None) -> Violation:
    enforced = more.get("enforced", rule.enforce)
    return Violation(name, rule.type, expected, _shown(value), enforced, rule.message)


def _misdirected(name: str, rule: FieldRule, value: Json, type_of: TypeOfReference) -> Iterator[Violation]:
    """Violations by references to entries of another type; references to missing entries are warnings."""
    if rule.items is not None and isinstance(value, list):
        yield from _misdirected(name, rule.items, value, type_of)
    if rule.type != "object-ref" or not rule.target_types:
        return
    for reference in value if isinstance(value, list) else [value]:
        target = type_of(text_of(reference).strip().removeprefix("[[").removesuffix("]]"))
        if target not in rule.target_types:
            expected = f"the id of an entry of the type {' or '.join(rule.target_types)}"
            enforced = rule.enforce if target is not None else False
            yield _violation(name, rule, expected, reference, enforced=enforced)


def _sources(schema: Schema, values: JsonObject) -> Iterator[Violation]:
    """Violations of the policy `minimum_sources`, which never reject a write."""
    least = number_of(schema.policies.get("minimum_sources")) or 0
    sources = values.get("sources")
    count = len(sources) if isinstance(sources, list) else int(sources not in (None, ""))
    if count < least:
        yield Violation("sources", "minimum_sources", f"at least {least:g} sources", str(count), enforced=False)


def _form_expectation(rule: FieldRule, value: Json) -> str:
    texts = [value] if not isinstance(value, list) else value
    known_format = FORMATS.get(rule.format.lower())
    if known_format and not all(isinstance(text, str) and known_format[1](text) for text in texts):
        return known_format[0]
    for pattern in _expressions(rule):
        if not all(_matches(pattern, scalar_text(text)) for text in texts):
            return f"text of the form {pattern}"
    return ""


def _expressions(rule: FieldRule) -> Iterable[str]:
    """The regular expressions of a rule."""
    return filter(None, (rule.pattern, "" if rule.format.lower() in FORMATS else rule.format))


def _slow(rule: FieldRule) -> Iterator[str]:
    """The patterns of a rule that are no longer applied, because a match took too long."""
    for pattern in _expressions(rule):
        expression = compiled(pattern)
        if expression is not None and expression.too_slow:
            yield pattern


def _length_expectation(rule: FieldRule, value: Json) -> str:
    size = len(value if isinstance(value, list) else scalar_text(value))
    low, high = rule.min_length, rule.max_length
    if (low is None or size >= low) and (high is None or size <= high):
        return ""
    return f"{_bounds(low, high)} {'items' if isinstance(value, list) else 'characters'}"


def _matches(pattern: str, text: str) -> bool:
    """Whether a text matches a pattern; true if the pattern is unusable, which `schema.problems` lists."""
    usable = compiled(pattern)
    return len(text) > MAX_FORMAT_TEXT or usable is None or usable.matches(text)


def _bounds(low: float | None, high: float | None) -> str:
    bounds = [f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else ""]
    return " and ".join(bound for bound in bounds if bound)


def _number_expectation(rule: FieldRule, value: Json) -> str:
    number = number_of(value)
    low, high = rule.min, rule.max
    if number is not None and (low is None or number >= low) and (high is None or number <= high):
        return ""
    return f"a number {_bounds(low, high)}".strip()


def _text_expectation(_: FieldRule, value: Json) -> str:
    return "a text" if isinstance(value, Mapping) else ""


def _checkbox_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _date_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, str) and is_date(value) else "a date YYYY-MM-DD"


def _moment_expectation(_: FieldRule, value: Json) -> str:
    return "" if isinstance(value, str) and is_date(value) else "a date YYYY-MM-DD, or with a time YYYY-MM-DDTHH:MM"


def _select_expectation(rule: FieldRule, value: Json) -> str:
    return "one of " + ", ".join(rule.options) if isinstance(value, list | Mapping) and rule.options else ""


def _list_expectation(rule: FieldRule, value: Json) -> str:
    of_options = f" of {', '.join(rule.options)}" if rule.options else ""
    return "" if isinstance(value, list) else f"a list{of_options}"


def _option_expectation(rule: FieldRule, value: Json) -> str:
    """The valid values if the value is none of the options, else ""; fields of every type can have options."""
    if not rule.options:
        return ""
    if isinstance(value, list):
        fits = all(scalar_text(element) in rule.options for element in value)
        return "" if fits else f"a list of {', '.join(rule.options)}"
    return "" if scalar_text(value) in rule.options else f"one of {', '.join(rule.options)}"


def _reference_expectation(_: FieldRule, value: Json) -> str:
    texts = value if isinstance(value, list) else [value]
    return "" if all(isinstance(text, str) and text.strip() for text in texts) else "the id of an entry"


_EXPECTATIONS: Mapping[str, Callable[[FieldRule, Json], str]] = {
    "text": _text_expectation,
    "number": _number_expectation,
    "checkbox": _checkbox_expectation,
    "date": _date_expectation,
    "datetime": _moment_expectation,
    "select": _select_expectation,
    "multi-select": _list_expectation,
    "object-ref": _reference_expectation,
    "list": _list_expectation,
    "tags": _list_expectation,
}
"""Functions by type of field that return the expectation if a value violates it, otherwise ""."""


def _shown(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN_FIELD else f"{text[: MAX_SHOWN_FIELD - 3]}..."


# Named formats of texts, such as dates and URLs.


_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}.*)?")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+")
_ID = re.compile(r"[^\W_](?:[\w./-]*\w)?")


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


def is_moment(text: str) -> bool:
    """Whether a text is a calendar date with a time, `YYYY-MM-DDTHH:MM` or longer."""
    return is_date(text) and len(text) > len("YYYY-MM-DD")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.scheme == "mailto") and not re.search(r"\s", text))


FORMATS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "iso8601": ("a date YYYY-MM-DD (ISO8601)", is_date),
    "date": ("a date YYYY-MM-DD", is_date),
    "datetime": ("a date and a time YYYY-MM-DDTHH:MM", is_moment),
    "url": ("a URL such as https://example.org/page", _is_url),
    "uri": ("a URI such as https://example.org/page", _is_url),
    "email": ("an email address", lambda text: _EMAIL.fullmatch(text) is not None),
    "id": ("an id such as alpha-beta", lambda text: _ID.fullmatch(text) is not None),
}
"""Named formats, by name in lower case: description of a valid value, and the test."""


# Regular expressions of a `kb.yaml`, matched with a time limit, because the expressions are untrusted.


MAX_SECONDS = 0.5
"""Maximum CPU time of one match in seconds. Ordinary expressions need a thousandth of it."""
MAX_LENGTH = 2_000
"""Maximum length of an expression in characters."""
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{\d+(?:,\d*)?\}|\{,\d*\}|(\{)", re.DOTALL)
"""Captures a brace that does not begin a repetition count: a literal in `re`, but fuzzy matching in `regex`."""


class _Compiled(Protocol):
    """A compiled expression of the package `regex`, which has no type annotations."""

    def fullmatch(self, text: str, /, *, timeout: float) -> object: ...
    def search(self, text: str, /, *, timeout: float) -> object: ...


class Expression:
    """A valid expression. After a match has taken too long, the expression matches everything."""

    def __init__(self, expression: _Compiled) -> None:
        self._expression = expression
        self.too_slow = False
        """Whether a match took too long."""

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole text."""
        return self._answer(self._expression.fullmatch, text)

    def occurs_in(self, text: str) -> bool:
        """Whether the expression matches a part of the text."""
        return self._answer(self._expression.search, text)

    def _answer(self, match: Callable[..., object], text: str) -> bool:
        if not self.too_slow:
            try:
                return match(text, timeout=MAX_SECONDS) is not None
            except (TimeoutError, MemoryError):
                self.too_slow = True
        return True


def compiled(pattern: str, *, by_line: bool = False) -> Expression | None:
    """The expression; None if it is invalid or too long.

    Python's `re` determines whether the expression is valid. Matching uses the package `regex`, which has a timeout: a
    match by `re` may take exponential time (https://en.wikipedia.org/wiki/ReDoS) and cannot be interrupted.

    Args:
        pattern: The expression.
        by_line: Whether to ignore case, and to match `^` and `$` at the ends of each line.
    """
    return _compiled(pattern, by_line)


@lru_cache(maxsize=256)
def _compiled(pattern: str, by_line: bool, /) -> Expression | None:
    engine = import_module("regex")  # imported on demand: most bases have no expression
    flags = engine.VERSION0 | (engine.IGNORECASE | engine.MULTILINE if by_line else 0)
    if len(pattern) > MAX_LENGTH:
        return None
    try:
        re.compile(pattern)
        return Expression(engine.compile(_BRACE.sub(lambda m: rf"\{m[0]}" if m[1] else m[0], pattern), flags))
    except (re.error, engine.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None
