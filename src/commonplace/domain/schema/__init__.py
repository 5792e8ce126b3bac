"""The schema of a knowledge base in `kb.yaml`: types of entries, their fields, guidelines and rules.

A folder without the file is a base of notes. An invalid file is a finding, and the base remains readable. `problems`
lists declarations that this package does not support.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Finding
from commonplace.domain.errors import NotFoundError
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import text_items
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.schema.fields import FIELD_TYPES, FieldRule, field_rule, rules_of
from commonplace.domain.settings_values import list_of, mapping_of, text_of
from commonplace.domain.yamlblock.loader import YamlProblem, load

if TYPE_CHECKING:
    from commonplace.domain.ports import Store

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
    return [name for one in ends.values() if (name := text_of(mapping_of(one).get("field")))]
