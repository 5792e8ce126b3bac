"""The schema of a knowledge base in `kb.yaml`: types of entries, their fields, guidelines and rules.

A folder without the file is a base of notes. A broken file is a finding, and the base stays readable.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.domain.documents import Finding, Severity
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.yamlblock.emitter import as_json_types
from commonplace.domain.yamlblock.key_edits import change_keys
from commonplace.domain.yamlblock.loader import YamlProblem, load

SCHEMA_FILE = "kb.yaml"
FIELD_TYPES = (
    "text",
    "number",
    "date",
    "datetime",
    "checkbox",
    "select",
    "multi-select",
    "object-ref",
    "list",
    "tags",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """The rule of a type for one field."""

    type: str = "text"
    required: bool = False
    default: Json = None
    options: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    format: str = ""
    """A regular expression that the whole text must match, or ""."""
    target_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryType:
    """One declared or core type."""

    name: str
    description: str = ""
    required: tuple[str, ...] = ("title",)
    optional: tuple[str, ...] = ()
    subdirectory: str = ""
    """Folder of new entries, "" for the root."""
    file_pattern: str = ""
    """Path of a new entry with `{id}`, `{date}`, `{year}` or `{slug}` in it; "" for `{subdirectory}/{id}.md`."""
    fields: Mapping[str, FieldRule] = field(default_factory=dict[str, FieldRule])
    declared: JsonObject | None = None
    """The type as declared in `kb.yaml`; None for a core type that is not declared there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A whole `kb.yaml`, or the defaults without one."""

    name: str = ""
    description: str = ""
    kb_type: str = ""
    guidelines: Json = None
    goals: Json = None
    evaluation_rubric: tuple[str, ...] = ()
    policies: JsonObject = field(default_factory=dict[str, Json])
    enforce: bool = False
    """Whether entries that violate their type are rejected; if false, violations are returned as warnings."""
    qa_on_write: bool = False
    rules: Mapping[str, FieldRule] = field(default_factory=dict[str, FieldRule])
    """The rules of `validation.rules` for fields of entries of every type."""
    types: Mapping[str, EntryType]
    """Core types and declared ones by name."""
    declares_types: bool = False
    findings: tuple[Finding, ...] = ()


def _core(name: str, description: str, subdirectory: str = "", *required: str) -> EntryType:
    return EntryType(name=name, description=description, subdirectory=subdirectory, required=("title", *required))


CORE_TYPES: Mapping[str, EntryType] = {
    core.name: core
    for core in (
        _core("note", "A thought, observation or piece of text", "notes"),
        _core("person", "A person and their role", "people"),
        _core("organization", "A company, team or institution", "organizations"),
        _core("event", "Something that happened or will, on a date", "events", "date"),
        _core("document", "A reference, source or written work", "documents"),
        _core("topic", "A subject that entries belong to", "topics"),
        _core("relationship", "How two entries relate", "relationships"),
        _core("timeline", "A sequence of events", "timelines"),
        _core("collection", "A set of entries"),
        _core("qa_assessment", "The result of a quality assessment"),
    )
}


def read_schema(raw: bytes | None) -> Schema:
    """Parse a `kb.yaml`; None (no file) gives a base of notes. Never raises."""
    if raw is None:
        return Schema(types=CORE_TYPES)
    loaded = load(raw.decode("utf-8-sig", "replace"))
    values = _mapping(loaded.value)
    validation = _mapping(values.get("validation"))
    declared = {name: entry_type_of(name, _mapping(body)) for name, body in _mapping(values.get("types")).items()}
    return Schema(
        name=_text(values.get("name")),
        description=_text(values.get("description")),
        kb_type=_text(values.get("kb_type")),
        guidelines=values.get("guidelines"),
        goals=values.get("goals"),
        evaluation_rubric=text_items(values.get("evaluation_rubric")),
        policies=_mapping(values.get("policies")),
        enforce=validation.get("enforce") is True,
        qa_on_write=validation.get("qa_on_write") is True,
        rules=_rules(validation.get("rules")),
        types={**CORE_TYPES, **declared},
        declares_types=bool(declared),
        findings=tuple(_finding(problem) for problem in loaded.problems),
    )


def schema_problems(schema: Schema) -> list[str]:
    """Problems of the declarations in a `kb.yaml`, one sentence each. Problems of its YAML are in `findings`."""
    problems: list[str] = []
    for entry_type in schema.types.values():
        fields = _mapping((entry_type.declared or {}).get("fields"))
        for name, rule in entry_type.fields.items():
            kind = _text(_mapping(fields.get(name)).get("type")) or "text"
            problems += _rule_problems(f"types.{entry_type.name}.fields.{name}", kind, rule, schema.types)
    for name, rule in schema.rules.items():
        problems += _rule_problems(f"validation.rules, field {name}", rule.type, rule, schema.types)
    return problems


def _rule_problems(where: str, kind: str, rule: FieldRule, types: Mapping[str, EntryType]) -> Iterator[str]:
    if kind not in FIELD_TYPES:
        yield f"{where}.type is {kind!r}; expected one of {', '.join(FIELD_TYPES)}."
    if rule.type in {"select", "multi-select"} and not rule.options:
        yield f"{where} is a {rule.type} without options."
    if rule.target_type and rule.target_type not in types:
        yield f"{where}.target_type {rule.target_type!r} is not declared."
    if rule.min is not None and rule.max is not None and rule.min > rule.max:
        yield f"{where}: min {rule.min:g} is over max {rule.max:g}."


def set_keys(raw: bytes, changes: Mapping[str, Json]) -> bytes:
    """A `kb.yaml` with new values for some of its keys; comments and everything else stay unchanged.

    Args:
        raw: The current file; b"" for a new one.
        changes: New values by top-level key; None removes the key.

    Raises:
        InvalidInputError: kind "schema": the file is unreadable, or a key cannot be changed separately.
    """
    loaded = load(raw.decode("utf-8-sig", "replace"))
    if loaded.failed or not isinstance(loaded.value or {}, Mapping):
        raise InvalidInputError(
            f"{SCHEMA_FILE} is broken: {_finding(loaded.problems[0]).message if loaded.problems else 'no mapping'}",
            kind="schema",
            hint="Repair the file by hand first.",
        )
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    text = raw[len(mark) :].decode()
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = text if not text or text.endswith("\n") else text + newline
    old = _mapping(loaded.value)
    normalised = {key: as_json_types(value) for key, value in changes.items()}
    wanted = {key: one for key, one in normalised.items() if key in old or one is not None}
    wanted = {key: one for key, one in wanted.items() if key not in old or not _same(old[key], one)}
    if not wanted:
        return raw
    changed = change_keys(whole, old, wanted, newline)
    expected = {key: one for key, one in {**old, **wanted}.items() if key not in wanted or one is not None}
    if not _same(_mapping(load(changed).value), expected):
        raise InvalidInputError(
            f"{SCHEMA_FILE} cannot be changed by key: it would not read back the same.",
            kind="schema",
            hint="Edit the file by hand.",
        )
    return mark + changed.encode()


def _same(one: Json, other: Json) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _finding(problem: YamlProblem) -> Finding:
    where = f"{SCHEMA_FILE}, line {problem.line + 1}, column {problem.column + 1}"
    return Finding(problem.rule, Severity.ERROR, f"{where}: {problem.message}.", problem.key, problem.line + 1)


def entry_type_of(name: str, body: JsonObject) -> EntryType:
    """A type from its declaration; a core type supplies what the declaration omits."""
    core = CORE_TYPES.get(name)
    required = text_items(body.get("required")) or (core.required if core else ("title",))
    fields = {key: _field_rule(_mapping(value)) for key, value in _mapping(body.get("fields")).items()}
    return EntryType(
        name=name,
        description=_text(body.get("description")) or (core.description if core else ""),
        required=required,
        optional=text_items(body.get("optional")),
        subdirectory=_text(body.get("subdirectory")).strip("/") or (core.subdirectory if core else ""),
        file_pattern=_text(body.get("file_pattern")).strip("/"),
        fields=fields,
        declared=body,
    )


def _rules(value: Json) -> dict[str, FieldRule]:
    """Parse `[{field, type?, required?, options?, min?, max?, format?}]` by field; with bounds, a number by default."""
    rules: dict[str, FieldRule] = {}
    for body in map(_mapping, value if isinstance(value, list) else []):
        if name := _text(body.get("field")):
            bounded = "min" in body or "max" in body
            rules[name] = _field_rule({"type": "number" if bounded else "text", **body})
    return rules


def _field_rule(body: Mapping[str, Json]) -> FieldRule:
    kind = _text(body.get("type")) or "text"
    return FieldRule(
        type=kind if kind in FIELD_TYPES else "text",
        required=body.get("required") is True,
        default=body.get("default"),
        options=text_items(body.get("options")),
        min=_number(body.get("min")),
        max=_number(body.get("max")),
        format=_text(body.get("format")),
        target_type=_text(body.get("target_type")),
    )


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Json) -> str:
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None or isinstance(value, (Mapping, Sequence))
        else str(value)
    )


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
