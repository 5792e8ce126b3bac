"""The rule for one field: its type and limits, declared by a type's `fields` or by `validation.rules`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import TYPE_CHECKING

from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Finding
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json, JsonObject, bool_of, list_of, mapping_of, number_of, scalar_text, text_of
from commonplace.domain.slugs import slug
from commonplace.domain.yaml_loader import YamlProblem, load

if TYPE_CHECKING:
    from commonplace.domain.ports import Store


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
TYPE_ALIASES: Mapping[str, str] = {"string": "text", "str": "text"}
"""Aliases of field types."""
OPTION_KEYS = ("options", "values", "enum")
"""Keys in a declaration that list the valid values of a field."""
_LIMITS = frozenset({"range", "min", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRule:
    """The rule for one field."""

    type: str = "text"
    required: bool = False
    default: Json = None
    options: tuple[str, ...] = ()
    allow_other: bool = False
    """Whether a value outside of the options is only a warning, even if the base enforces its rules."""
    min: float | None = None
    max: float | None = None
    min_length: float | None = None
    max_length: float | None = None
    """Maximum length of a text in characters, or of a list in items; `min_length` is the minimum. None: unlimited."""
    format: str = ""
    """A named format (`formats.FORMATS`, regardless of case) or a regular expression for the whole text; "": none."""
    pattern: str = ""
    """A regular expression that the whole text must match; "" for none."""
    target_types: tuple[str, ...] = ()
    """The types of entries that an `object-ref` may name; empty for all."""
    items: FieldRule | None = None
    """The rule for each item of a list."""
    enforce: bool | None = None
    """Whether violations reject a write; None for the value of `validation.enforce`."""
    message: str = ""
    """Message of the base's owner for a violation; "" for none."""


def field_rule(body: JsonObject, default_type: str = "text") -> FieldRule:
    """The rule of a declaration. Unsupported parts are omitted; `problems` lists them."""
    kind = text_of(body.get("type")) or default_type
    kind = TYPE_ALIASES.get(kind, kind)
    low, high = _range(body)
    declared = next((body[key] for key in OPTION_KEYS if body.get(key)), None)
    items = body.get("items")
    return FieldRule(
        type=kind if kind in FIELD_TYPES else "text",
        required=body.get("required") is True,
        default=body.get("default"),
        options=_options(declared),
        allow_other=body.get("allow_other") is True,
        min=low,
        max=high,
        min_length=number_of(body.get("min_length")),
        max_length=number_of(body.get("max_length")),
        format=text_of(body.get("format")),
        pattern=text_of(body.get("pattern")),
        target_types=text_items(body.get("target_type")),
        items=field_rule(mapping_of(items) or {"type": text_of(items)}) if items else None,
        enforce=bool_of(body.get("enforce")),
        message=text_of(body.get("message")),
    )


def rules_of(value: Json) -> tuple[tuple[str, FieldRule], ...]:
    """The rules of `validation.rules` with their fields, in order; the default type of a rule with bounds is number."""
    return tuple(
        (name, field_rule(body, "number" if body.keys() & _LIMITS else "text"))
        for body in map(mapping_of, list_of(value))
        if (name := text_of(body.get("field")))
    )


def _options(value: Json) -> tuple[str, ...]:
    texts = map(scalar_text, value) if isinstance(value, (list, tuple)) else text_items(value)
    return tuple(text for text in texts if text)


def _range(body: JsonObject) -> tuple[float | None, float | None]:
    """The bounds of a number: `range: [low, high]`, otherwise `min` and `max`."""
    bounds = list_of(body.get("range"))
    if len(bounds) == 2:  # noqa: PLR2004 - a range has two ends
        return number_of(bounds[0]), number_of(bounds[1])
    return number_of(body.get("min")), number_of(body.get("max"))


# The schema of a knowledge base in `kb.yaml`: types of entries, their fields, guidelines and rules.
#
# A folder without the file is a base of notes. An invalid file is a finding, and the base remains readable. `problems`
# lists declarations that this package does not support.


__all__ = ["FIELD_TYPES", "FieldRule"]

SCHEMA_FILE = "kb.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricItem:
    """One statement that good entries fulfil."""

    text: str
    """The statement, for people; "" if only a checker is named."""
    checker: str = ""
    """The name of the check (`rubric.CHECKERS`); "" for a statement without a check."""
    params: JsonObject = field(default_factory=dict[str, Json])
    """Arguments of the checker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryType:
    """One declared or core type."""

    name: str
    description: str = ""
    required: tuple[str, ...] = ("title",)
    optional: tuple[str, ...] = ()
    subdirectory: str = ""
    """Folder of new entries, with `{field}` for values of fields; "" for the root."""
    file_pattern: str = ""
    """Path of a new entry in the folder, with `{id}`, `{date}`, `{type}` or any field; "" for `{id}.md`."""
    fields: Mapping[str, FieldRule] = field(default_factory=dict[str, FieldRule])
    evaluation_rubric: tuple[RubricItem, ...] = ()
    declared: JsonObject | None = None
    """The type as declared in `kb.yaml`; None for a core type that is not declared there."""

    @property
    def field_names(self) -> frozenset[str]:
        """Every field that the type names."""
        return frozenset({*self.fields, *self.required, *self.optional})


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A whole `kb.yaml`, or the defaults without one."""

    name: str = ""
    description: str = ""
    kb_type: str = ""
    guidelines: Json = None
    goals: Json = None
    evaluation_rubric: tuple[RubricItem, ...] = ()
    policies: JsonObject = field(default_factory=dict[str, Json])
    enforce: bool = False
    """Whether entries that violate their type are rejected; if false, violations are returned as warnings."""
    qa_on_write: bool = False
    rules: tuple[tuple[str, FieldRule], ...] = ()
    """The rules of `validation.rules` for entries of every type: fields, each with its rule."""
    types: Mapping[str, EntryType]
    """Core types and declared ones by name."""
    declares_types: bool = False
    findings: tuple[Finding, ...] = ()
    values: JsonObject | None = None
    """The whole parsed file; None without a file."""

    @property
    def relations(self) -> Mapping[str, str]:
        """The relations that `relationship_types` declares, each with its inverse; "" without an inverse."""
        declared = mapping_of(mapping_of(self.values).get("relationship_types"))
        return {name: text_of(mapping_of(body).get("inverse")) for name, body in declared.items()}


def _core(name: str, description: str, subdirectory: str = "", optional: str = "", *required: str) -> EntryType:
    return EntryType(
        name=name,
        description=description,
        subdirectory=subdirectory,
        required=("title", *required),
        optional=tuple(optional.split()),
    )


CORE_TYPES: Mapping[str, EntryType] = {
    core.name: core
    for core in (
        _core("note", "A thought, observation or piece of text", "notes"),
        _core("person", "A person and their role", "people", "role affiliations research_status"),
        _core("organization", "A company, team or institution", "organizations", "org_type jurisdiction founded"),
        _core("event", "Something that happened or will, on a date", "events", "location participants", "date"),
        _core("document", "A reference, source or written work", "documents", "author document_type url"),
        _core("topic", "A subject that entries belong to", "topics"),
        _core(
            "relationship",
            "How two entries relate",
            "relationships",
            "source_entity target_entity relationship_type",
        ),
        _core("timeline", "A sequence of events", "timelines", "date_range"),
        _core("collection", "A set of entries", "", "source_type icon view_config folder_path"),
        _core(
            "qa_assessment",
            "The result of a quality assessment",
            "",
            "target_entry target_revision qa_status issues_found assessed_at",
        ),
    )
}
COMMON_FIELDS = frozenset(
    {
        *("title", "summary", "description", "date", "importance", "status", "tags", "aliases", "sources"),
        *("location", "participants", "role"),
    }
)
"""Fields that entries of every type may have at the top level of their frontmatter."""
FIXED_KEYS = frozenset({"id", "title", "type", "links", "metadata", "created_at", "updated_at"})
"""Keys of a frontmatter that are independent of keys of the same name below `metadata`."""


def further_fields(values: JsonObject, common: frozenset[str]) -> dict[str, Json]:
    """The fields of a frontmatter besides the common ones, with those below `metadata`; the value at the top counts."""
    below = mapping_of(values.get("metadata"))
    inside = below.keys() - FIXED_KEYS
    return {**below, **{key: value for key, value in values.items() if key not in common or key in inside}}


MAX_SCHEMA_BYTES = 4_000_000
"""Maximum size of a `kb.yaml` in bytes."""


def declared_schema(store: Store) -> Schema:
    """The schema of a folder's `kb.yaml`. A file larger than `MAX_SCHEMA_BYTES` counts as missing."""
    address = parse_address(SCHEMA_FILE)
    try:
        stat = store.stat(address)
        if stat is not None and stat.size > MAX_SCHEMA_BYTES:
            return read_schema(None)
        return read_schema(store.read(address))
    except NotFoundError:
        return read_schema(None)


def read_schema(raw: bytes | None) -> Schema:
    """Parse a `kb.yaml`; None (no file) gives a base of notes. Never raises."""
    if raw is None:
        return Schema(types=CORE_TYPES)
    loaded = load(raw.decode("utf-8-sig", "replace"))
    values = mapping_of(loaded.value)
    validation, policies = mapping_of(values.get("validation")), mapping_of(values.get("policies"))
    declared = {name: entry_type_of(name, mapping_of(body)) for name, body in mapping_of(values.get("types")).items()}
    return Schema(
        name=text_of(values.get("name")),
        description=text_of(values.get("description")),
        kb_type=text_of(values.get("kb_type")),
        guidelines=values.get("guidelines"),
        goals=values.get("goals"),
        evaluation_rubric=rubric_of(values.get("evaluation_rubric")),
        policies=policies,
        enforce=validation.get("enforce") is True,
        qa_on_write=validation.get("qa_on_write", policies.get("qa_on_write")) is True,
        rules=rules_of(validation.get("rules")),
        types={**CORE_TYPES, **declared},
        declares_types=bool(declared),
        findings=tuple(yaml_finding(problem) for problem in loaded.problems),
        values=values,
    )


def entry_type_of(name: str, body: JsonObject) -> EntryType:
    """A type from its declaration; a core type supplies what the declaration omits."""
    core = CORE_TYPES.get(name)
    required = text_items(body.get("required")) or (core.required if core else ("title",))
    folder = body.get("subdirectory")
    return EntryType(
        name=name,
        description=text_of(body.get("description")) or (core.description if core else ""),
        required=tuple(dict.fromkeys([*required, *_endpoints(body)])),
        optional=tuple(dict.fromkeys([*text_items(body.get("optional")), *(core.optional if core else ())])),
        subdirectory=core.subdirectory if core and folder is None else text_of(folder).strip("/"),
        file_pattern=text_of(body.get("file_pattern")).strip("/"),
        fields=_fields(body),
        evaluation_rubric=rubric_of(body.get("evaluation_rubric")),
        declared=body,
    )


def rubric_of(value: Json) -> tuple[RubricItem, ...]:
    """The items of an `evaluation_rubric`: a list of texts and of `{text, checker, params}`, or a single text."""
    items = map(_rubric_item, [value] if isinstance(value, str) else list_of(value))
    return tuple(item for item in items if item.text or item.checker)


def _rubric_item(value: Json) -> RubricItem:
    if not isinstance(value, Mapping):
        return RubricItem(text=text_of(value))
    params = mapping_of(value.get("params"))
    return RubricItem(text=text_of(value.get("text")), checker=text_of(value.get("checker")), params=params)


def yaml_finding(problem: YamlProblem) -> Finding:
    """The error in the YAML of the file, with its line and column."""
    where = f"{SCHEMA_FILE}, line {problem.line + 1}, column {problem.column + 1}"
    return finding_of(problem.rule, f"{where}: {problem.message}.", problem.key, problem.line + 1)


def _fields(body: JsonObject) -> dict[str, FieldRule]:
    """The rules of a type's fields, including those of an edge's two ends, which name entries of accepted types."""
    fields = {key: field_rule(mapping_of(value)) for key, value in mapping_of(body.get("fields")).items()}
    for end in mapping_of(body.get("endpoints") if body.get("edge_type") is True else None).values():
        name, accepted = text_of(mapping_of(end).get("field")), text_items(mapping_of(end).get("accepts"))
        if name and accepted:
            rule = fields.get(name, FieldRule())
            fields[name] = replace(rule, type="object-ref", target_types=rule.target_types or accepted)
    return fields


def _endpoints(body: JsonObject) -> list[str]:
    """The fields with the two ends of an entry that is an edge."""
    ends = mapping_of(body.get("endpoints") if body.get("edge_type") is True else None)
    return [name for end in ends.values() if (name := text_of(mapping_of(end).get("field")))]


# The path of a new entry: the folder and the file pattern of its type, filled with the entry's values.


ID_NAMES = frozenset({"id", "slug"})
"""Placeholders of the entry's id."""
DATE_PARTS: Mapping[str, slice] = {"date": slice(10), "year": slice(4), "month": slice(5, 7), "day": slice(8, 10)}
"""Placeholders of the entry's `date`, with their part of `YYYY-MM-DD`; the type's own fields take precedence."""
GIVEN_NAMES = frozenset({*ID_NAMES, *DATE_PARTS, "title", "type"})
"""Placeholders that need not be fields of the type."""
MAX_WIDTH = 99
"""Maximum number of characters to which a format pads."""
_NUMBER = re.compile(r"\d+")


def new_entry_path(declared: EntryType, identifier: str, values: JsonObject) -> str:
    """The path of a new entry in its collection.

    Args:
        declared: The type of the entry.
        identifier: The id of the entry.
        values: Frontmatter of the entry.

    Raises:
        InvalidInputError: kind "schema": the entry has no value for a placeholder, or the pattern is invalid.
    """
    pattern = path_pattern(declared)
    try:
        parts = list(placeholders(pattern))
    except ValueError as error:
        raise _invalid(declared, f"{pattern!r} is no pattern: {error}") from error
    return "".join(
        literal + (_filled(declared, identifier, values, name, spec) if name is not None else "")
        for literal, name, spec in parts
    )


def path_pattern(declared: EntryType) -> str:
    """The pattern for paths of new entries: the folder and the file pattern, unless the latter includes the folder."""
    folder, file = declared.subdirectory, declared.file_pattern or "{id}.md"
    return file if not folder or file.startswith(f"{folder}/") else f"{folder}/{file}"


def placeholders(pattern: str) -> Iterator[tuple[str, str | None, str]]:
    """The parts of a pattern: literal text, then the name of a field and its format, such as `04d`.

    Raises:
        ValueError: the braces are unbalanced, a placeholder is not a plain name, or a format has more characters than
            the name of a file can have.
    """
    for literal, name, spec, conversion in Formatter().parse(pattern):
        if name is not None and (not name.isidentifier() or conversion or "{" in (spec or "")):
            raise ValueError(f"{{{name}}} is no name of a field")
        if any(int(number) > MAX_WIDTH for number in _NUMBER.findall(spec or "")):
            raise ValueError(f"{{{name}:{spec}}} is wider than {MAX_WIDTH} characters")
        yield literal, name, spec or ""


def _filled(declared: EntryType, identifier: str, values: JsonObject, name: str, spec: str) -> str:
    if name in ID_NAMES:
        return identifier
    if name == "type":
        return slug(declared.name)
    is_date_part = name in DATE_PARTS and name not in declared.fields
    source = "date" if is_date_part else name
    value = _value(values, source)
    if value in (None, "", [], {}):
        raise InvalidInputError(
            f"Files of the type {declared.name!r} are named by {source!r}, which the entry does not have.",
            kind="schema",
            hint=f"Give {source}.",
        )
    text = scalar_text(value)[DATE_PARTS[name]] if is_date_part else _formatted(declared, name, value, spec)
    try:
        return slug(text)
    except InvalidInputError as error:
        raise _invalid(declared, f"{source} {text[:40]!r} makes no file name", f"Give another {source}.") from error


def _value(values: JsonObject, name: str) -> Json:
    return values.get(name, mapping_of(values.get("metadata")).get(name))


def _formatted(declared: EntryType, name: str, value: Json, spec: str) -> str:
    if not spec:
        return scalar_text(value)
    try:
        return format(value, spec) if isinstance(value, (int, float)) else format(text_of(value), spec)
    except (ValueError, OverflowError) as error:
        message = f"{name} {text_of(value)[:40]!r} does not fit the format {spec!r}"
        raise _invalid(declared, message, f"Give a {name} that fits.") from error


def _invalid(declared: EntryType, message: str, hint: str = "Correct file_pattern in kb.yaml.") -> InvalidInputError:
    return InvalidInputError(
        f"The file of a new {declared.name!r} cannot be named: {message}.", kind="schema", hint=hint
    )
