"""Errors in the declarations of a `kb.yaml`, and the checks of its evaluation rubrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from commonplace.domain.documents import Finding
from commonplace.domain.findings import finding_of
from commonplace.domain.json import Json, JsonObject, list_of, mapping_of, number_of, text_of
from commonplace.domain.query import Record
from commonplace.domain.schema import (
    FIELD_TYPES,
    GIVEN_NAMES,
    OPTION_KEYS,
    TYPE_ALIASES,
    EntryType,
    FieldRule,
    RubricItem,
    Schema,
    field_rule,
    path_pattern,
    placeholders,
    rubric_of,
    rules_of,
)
from commonplace.domain.validation import FORMATS, MAX_LENGTH, compiled

# Errors in the declarations of a `kb.yaml`, and keys without effect.


KEYS = frozenset(
    {
        *("name", "description", "kb_type", "schema_version", "guidelines", "goals", "evaluation_rubric", "policies"),
        *("validation", "types", "relationship_types"),
    }
)
"""Valid keys of a `kb.yaml`."""
TYPE_KEYS = frozenset(
    {
        *("description", "required", "optional", "subdirectory", "file_pattern", "fields", "ai_instructions"),
        *("field_descriptions", "guidelines", "goals", "evaluation_rubric", "display", "layout", "version"),
        *("edge_type", "endpoints"),
    }
)
"""Keys of a type that are enforced, or that inform agents and people (`kb_schema`)."""
FIELD_KEYS = frozenset(
    {
        *("type", "required", "default", "description", *OPTION_KEYS, "allow_other", "items", "min", "max", "range"),
        *("min_length", "max_length", "format", "pattern", "target_type", "enforce", "message"),
    }
)
RULE_KEYS = (FIELD_KEYS - {"default"}) | {"field", "name"}
POLICY_KEYS = frozenset({"stale_after_days", "minimum_sources", "qa_on_write"})
VALIDATION_KEYS = frozenset({"enforce", "qa_on_write", "rules"})
RUBRIC_KEYS = frozenset({"text", "checker", "params"})
ENDPOINT_KEYS = frozenset({"field", "accepts", "description"})
_EFFECTIVE = (
    (("min", "max", "range"), {"number"}, "number; a text or list has min_length and max_length"),
    (("target_type",), {"object-ref"}, "object-ref"),
    (("items",), {"list", "tags", "multi-select"}, "list, tags and multi-select"),
)
"""Keys of a field that have an effect only for some types: keys, types, and description for messages."""
FORMAT_NAMES = ", ".join(FORMATS)
_MAPPINGS = ("policies", "validation", "types", "relationship_types")
_TRUTHS = ("required", "allow_other", "enforce")
_NUMBERS = ("min", "max", "min_length", "max_length")


@dataclass(frozen=True, slots=True)
class SchemaProblems:
    """The problems of a schema, one sentence each. Problems of its YAML are in `Schema.findings`."""

    wrong: tuple[str, ...]
    """Declarations that are contradictory or have a value of the wrong type."""
    not_understood: tuple[str, ...]
    """Declarations without effect, which `kb_schema` shows nevertheless."""


def schema_problems(schema: Schema) -> SchemaProblems:
    """The problems of the declarations in a `kb.yaml`."""
    values = mapping_of(schema.values)
    return SchemaProblems(tuple(_wrong(schema, values)), tuple(_not_understood(schema, values)))


def declaration_findings(schema: Schema) -> Iterator[Finding]:
    """The problems of a `kb.yaml` as findings, those of its YAML first."""
    yield from schema.findings
    problems = schema_problems(schema)
    yield from (finding_of("bad_declaration", message) for message in problems.wrong)
    yield from (finding_of("unknown_declaration", message) for message in problems.not_understood)


def _wrong(schema: Schema, values: JsonObject) -> Iterator[str]:
    for key in _MAPPINGS:
        yield from _kind(key, values.get(key), Mapping, "a mapping")
    yield from _rubric_problems("evaluation_rubric", values.get("evaluation_rubric"))
    validation = mapping_of(values.get("validation"))
    yield from _kind("validation.rules", validation.get("rules"), (list, tuple), "a list")
    for name in ("enforce", "qa_on_write"):
        yield from _kind(f"validation.{name}", validation.get(name), bool, "true or false")
    for name in ("stale_after_days", "minimum_sources"):
        if name in schema.policies and number_of(schema.policies[name]) is None:
            yield f"policies.{name} is {_brief(schema.policies[name])}; expected a number."
    for number, body in enumerate(list_of(validation.get("rules")), 1):
        where = f"validation.rules, rule {number}"
        if text_of(mapping_of(body).get("field")):
            (_, rule), *_ = rules_of([body])
            yield from _rule_problems(f"{where} ({text_of(mapping_of(body)['field'])})", mapping_of(body), rule, schema)
        else:
            yield f"{where} names no field."
    for entry_type in schema.types.values():
        yield from _type_problems(schema, entry_type, values)


def _type_problems(schema: Schema, entry_type: EntryType, values: JsonObject) -> Iterator[str]:
    where = f"types.{entry_type.name}"
    body = entry_type.declared
    if body is None:
        return
    written = mapping_of(values.get("types")).get(entry_type.name)
    yield from _kind(where, written, Mapping, "a mapping")
    for key in ("fields", "endpoints"):
        yield from _kind(f"{where}.{key}", body.get(key), Mapping, "a mapping")
    for key in ("required", "optional"):
        yield from _kind(f"{where}.{key}", body.get(key), (list, tuple, str), "a list of fields")
    yield from _rubric_problems(f"{where}.evaluation_rubric", body.get("evaluation_rubric"))
    yield from _pattern_problems(where, entry_type)
    for name, declared in mapping_of(body.get("fields")).items():
        yield from _kind(f"{where}.fields.{name}", declared, Mapping, "a mapping")
        yield from _rule_problems(f"{where}.fields.{name}", mapping_of(declared), entry_type.fields[name], schema)


def _rule_problems(where: str, body: JsonObject, rule: FieldRule, schema: Schema) -> Iterator[str]:
    kind = text_of(body.get("type"))
    if kind and TYPE_ALIASES.get(kind, kind) not in FIELD_TYPES:
        yield f"{where}.type is {kind!r}; expected one of {', '.join(FIELD_TYPES)}."
    if rule.type in {"select", "multi-select"} and not rule.options:
        yield f"{where} is a {rule.type} without options."
    for name in rule.target_types:
        if name not in schema.types:
            yield f"{where}.target_type {name!r} is not declared.{_nearest(name, schema.types)}"
    if rule.min is not None and rule.max is not None and rule.min > rule.max:
        yield f"{where}: min {rule.min:g} is over max {rule.max:g}."
    yield from _limit_problems(where, body)
    yield from _form_problems(where, rule)
    if rule.items is not None and isinstance(body.get("items"), Mapping):
        yield from _rule_problems(f"{where}.items", mapping_of(body["items"]), rule.items, schema)


def _limit_problems(where: str, body: JsonObject) -> Iterator[str]:
    for name in _TRUTHS:
        yield from _kind(f"{where}.{name}", body.get(name), bool, "true or false")
    for name in _NUMBERS:
        if name in body and number_of(body[name]) is None:
            yield f"{where}.{name} is {_brief(body[name])}; expected a number."
    if "range" in body and [number_of(element) is None for element in list_of(body["range"])] != [False, False]:
        yield f"{where}.range is {_brief(body['range'])}; expected two numbers, as in [1, 5]."


def _form_problems(where: str, rule: FieldRule) -> Iterator[str]:
    for name, pattern in (("format", rule.format), ("pattern", rule.pattern)):
        is_format = name == "format"
        if not pattern or (is_format and pattern.lower() in FORMATS):
            continue
        wrong = _wrong_form(pattern)
        if is_format and pattern.isalnum():  # a single word is probably meant as the name of a format
            near = _nearest(pattern.lower(), FORMATS)
            yield f"{where}.format is {pattern[:60]!r}; expected one of {FORMAT_NAMES}.{near}"
        elif wrong:
            alternatives = f"one of {FORMAT_NAMES}, or " if is_format else ""
            yield f"{where}.{name} is {pattern[:60]!r}; expected {alternatives}{wrong}."


def _wrong_form(pattern: str, *, by_line: bool = False) -> str:
    """The error in a regular expression; "" if it is valid."""
    expression = compiled(pattern, by_line=by_line)
    if expression is None:
        return f"a regular expression that is valid and has at most {MAX_LENGTH:,} characters"
    if expression.too_slow:
        return "a regular expression that matches in time: a match took over half a second, so it is not applied"
    return ""


def _pattern_problems(where: str, entry_type: EntryType) -> Iterator[str]:
    pattern = path_pattern(entry_type)
    try:
        names = {name for _, name, _ in placeholders(pattern) if name is not None}
    except ValueError as error:
        yield f"{where}: {pattern!r} is no pattern for paths: {error}."
        return
    for name in sorted(names - GIVEN_NAMES - entry_type.field_names):
        yield f"{where}: {pattern!r} names {name!r}, which the type does not declare."


def _rubric_problems(where: str, value: Json) -> Iterator[str]:
    yield from _kind(where, value, (list, tuple, str), "a list")
    for number, element in enumerate(list_of(value), 1):
        item = rubric_of([element])
        if not item:
            yield f"{where}, item {number}: expected a text, or {{text, checker, params}}; got {_brief(element)}."
        elif item[0].checker:
            yield from _checker_problems(f"{where}, item {number}", item[0])


def _checker_problems(where: str, item: RubricItem) -> Iterator[str]:
    if item.checker not in CHECKERS:
        near, valid = _nearest(item.checker, CHECKERS), ", ".join(CHECKERS)
        yield f"{where}: there is no checker {item.checker!r}.{near} Valid: {valid}."
        return
    param = CHECKERS[item.checker].param
    value = item.params.get(param)
    if param and not value:
        yield f"{where}: the checker {item.checker!r} needs params.{param}."
    elif param == "pattern" and (wrong := _wrong_form(text_of(value), by_line=True)):
        yield f"{where}: params.pattern is {_brief(value)}; expected {wrong}."


def _not_understood(schema: Schema, values: JsonObject) -> Iterator[str]:
    yield from _unknown("", values, KEYS)
    validation = mapping_of(values.get("validation"))
    yield from _unknown("validation", validation, VALIDATION_KEYS)
    yield from _unknown("policies", schema.policies, POLICY_KEYS)
    for number, body in enumerate(map(mapping_of, list_of(validation.get("rules"))), 1):
        yield from _unknown(f"validation.rules, rule {number}", body, RULE_KEYS)
        for _, rule in rules_of([body]):
            yield from _without_effect(f"validation.rules, rule {number}", body, rule)
    yield from _unknown_in_rubric("evaluation_rubric", values.get("evaluation_rubric"))
    for name, body in mapping_of(values.get("types")).items():
        where, declared = f"types.{name}", mapping_of(body)
        yield from _unknown(where, declared, TYPE_KEYS)
        yield from _unknown_in_rubric(f"{where}.evaluation_rubric", declared.get("evaluation_rubric"))
        for field, rule in mapping_of(declared.get("fields")).items():
            yield from _field_unknown(f"{where}.fields.{field}", mapping_of(rule))
        for end, body_of_end in mapping_of(declared.get("endpoints")).items():
            yield from _unknown(f"{where}.endpoints.{end}", mapping_of(body_of_end), ENDPOINT_KEYS)
        if declared.get("endpoints") and declared.get("edge_type") is not True:
            yield f"{where}.endpoints has no effect without edge_type: true."


def _field_unknown(where: str, body: JsonObject) -> Iterator[str]:
    yield from _unknown(where, body, FIELD_KEYS)
    yield from _without_effect(where, body, field_rule(body))
    if isinstance(body.get("items"), Mapping):
        yield from _field_unknown(f"{where}.items", mapping_of(body["items"]))


def _without_effect(where: str, body: JsonObject, rule: FieldRule) -> Iterator[str]:
    for keys, kinds, what in _EFFECTIVE:
        if rule.type not in kinds and (idle := [key for key in keys if key in body]):
            yield f"{where}.{idle[0]} has no effect on the type {rule.type}; it is for {what}."
    if "allow_other" in body and not rule.options:
        yield f"{where}.allow_other has no effect without options."


def _unknown_in_rubric(where: str, value: Json) -> Iterator[str]:
    for number, mapping in enumerate(map(mapping_of, list_of(value)), 1):
        yield from _unknown(f"{where}, item {number}", mapping, RUBRIC_KEYS)


def _unknown(where: str, body: JsonObject, keys: Collection[str]) -> Iterator[str]:
    for key in body:
        if key not in keys:
            place = f"{where}.{key}" if where and " " not in where else f"{where}: {key}" if where else key
            yield f"{place} is not understood, and nothing enforces it.{_nearest(key, keys)}"


def _kind(where: str, value: Json, kinds: type | tuple[type, ...], expected: str) -> Iterator[str]:
    if value is not None and not isinstance(value, kinds):
        yield f"{where} is {_brief(value)}; expected {expected}."


def _nearest(name: str, formats: Collection[str]) -> str:
    near = get_close_matches(name, sorted(formats), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _brief(value: Json) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."  # noqa: PLR2004 - a message shows the beginning of a value


# Checks the statements of an evaluation rubric that a program can check.
#
# An item that names a checker is checked by this checker. Two forms of plain sentences are checked: a minimum ("at
# least 50 words", "two or more links"), and a required field ("has a summary", "names its owner", "states the date").
# All other sentences are judged by people and agents, and count as fulfilled here.


MAX_PATTERN_TEXT = 20_000
"""Maximum number of characters of a body that are searched for a pattern."""
_NUMBER_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_COUNT = re.compile(
    r"\b(?:at least (?P<least>\d{1,6}|an?|one|two|three|four|five)"
    r"|(?P<more>\d{1,6}|one|two|three|four|five) or more) "
    r"(?P<noun>words?|links?|outlinks?|tags?|sources?)\b",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"\b(?:has|have|names?|states?|gives?|includes?) (?:an? |its |the )?([a-z][a-z_]+)\b", re.IGNORECASE
)
_FIELDS = frozenset(
    {"summary", "description", "date", "owner", "status", "importance", "author", "location", "role", "type", "title"}
)
"""Fields that a sentence can require by name; other words after "has" are ordinary English."""
_GENERIC_TITLES = frozenset(
    {"update", "notes", "note", "todo", "untitled", "new entry", "draft", "temp", "test", "placeholder", "wip"}
)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_STUB = re.compile(r"\bstub\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """The data of an entry that checks use."""

    record: Record
    count_links: Callable[[], int]
    """Returns the number of outgoing links; called only for checks of links."""
    body: Callable[[], str]
    """Returns the text after the frontmatter; called only for checks of the text."""

    def value(self, name: str) -> Json:
        """The value of a field at the top level of the frontmatter, otherwise under `metadata`; None if it is empty."""
        values = self.record.frontmatter
        value = values.get(name)
        if value in (None, "", []):
            value = mapping_of(values.get("metadata")).get(name)
        return None if value in ("", []) else value


@dataclass(frozen=True, slots=True)
class Checker:
    """A check that a rubric item can name."""

    meets: Callable[[Subject, JsonObject], bool]
    """Returns whether an entry passes the check with these parameters."""
    field: str = ""
    """The checked field; "" for none."""
    param: str = ""
    """The required parameter; "" for none."""


def _has_section(subject: Subject, params: JsonObject) -> bool:
    heading = re.escape(text_of(params.get("heading")).strip())
    return re.search(rf"^##\s+{heading}", subject.body(), re.IGNORECASE | re.MULTILINE) is not None


def _has_pattern(subject: Subject, params: JsonObject) -> bool:
    pattern = compiled(text_of(params.get("pattern")), by_line=True)
    return pattern is None or pattern.occurs_in(subject.body()[:MAX_PATTERN_TEXT])


CHECKERS: Mapping[str, Checker] = {
    "descriptive_title": Checker(
        lambda subject, _: subject.record.title.strip().casefold() not in _GENERIC_TITLES, "title"
    ),
    "has_tags": Checker(lambda subject, _: bool(subject.record.tags), "tags"),
    "has_outlinks": Checker(
        lambda subject, _: subject.count_links() > 0 or _STUB.search(subject.body()) is not None, "links"
    ),
    "status_present": Checker(lambda subject, _: subject.value("status") is not None, "status"),
    "priority_present": Checker(lambda subject, _: subject.value("priority") is not None, "priority"),
    "has_field": Checker(
        lambda subject, params: subject.value(text_of(params.get("field"))) is not None, param="field"
    ),
    "has_any_field": Checker(
        lambda subject, params: any(subject.value(text_of(n)) is not None for n in list_of(params.get("fields"))),
        param="fields",
    ),
    "body_has_section": Checker(_has_section, "body", "heading"),
    "body_has_pattern": Checker(_has_pattern, "body", "pattern"),
    "body_has_code_block": Checker(lambda subject, _: _FENCE.search(subject.body()) is not None, "body"),
}
"""The checks by name."""


def unmet_field(item: RubricItem, subject: Subject) -> str | None:
    """The field of a failed item, "" for the whole entry; None if the entry passes the item.

    An item with an unknown checker or without the required parameter passes; `schema.problems` lists it.
    """
    if not item.checker:
        return None if _meets_sentence(item.text, subject) else ""
    checker = CHECKERS.get(item.checker)
    if checker is None or (checker.param and not item.params.get(checker.param)):
        return None
    return None if checker.meets(subject, item.params) else checker.field or text_of(item.params.get("field"))


def _meets_sentence(sentence: str, subject: Subject) -> bool:
    """Whether an entry fulfils a sentence; true if a program cannot check the sentence."""
    counted = _COUNT.search(sentence)
    if counted:
        least = _number((counted["least"] or counted["more"]).lower())
        return _count(counted["noun"].lower(), subject) >= least
    named = _FIELD.search(sentence)
    return named is None or named.group(1).lower() not in _FIELDS or _has(subject, named.group(1).lower())


def _number(text: str) -> int:
    return _NUMBER_WORDS[text] if text in _NUMBER_WORDS else int(text)


def _count(noun: str, subject: Subject) -> int:
    if noun.startswith("word"):
        return subject.record.words
    if noun.startswith("tag"):
        return len(subject.record.tags)
    if noun.startswith("source"):
        sources = subject.record.frontmatter.get("sources")
        return len(sources) if isinstance(sources, list) else int(sources not in (None, ""))
    return subject.count_links()


def _has(subject: Subject, name: str) -> bool:
    record = subject.record
    shared_fields = {"summary": record.description, "description": record.description, "title": record.title}
    return bool(shared_fields.get(name) or subject.value(name) is not None)
