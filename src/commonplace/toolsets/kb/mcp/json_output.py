"""JSON of the `kb` toolset's answers: rows, entries, links, issues, errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeGuard, TypeVar
from urllib.parse import quote

from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import ALREADY_WRITTEN, Code, ConflictError, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject, mapping_of
from commonplace.domain.proposals import OWN_CHANGE
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import COMMON_FIELDS, SCHEMA_FILE, EntryType, Schema, further_fields
from commonplace.domain.validation import Violation, is_date
from commonplace.faces.errors import error_mapping
from commonplace.faces.lazy_module import LazyModule
from commonplace.services.collections import (
    AMBIGUOUS_HINT,
    MAX_NEAREST_IDS,
    Collection,
    FoundDocument,
)
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.links import LinkedDocument, shown_relation

if TYPE_CHECKING:
    from commonplace.services import typed_entries
    from commonplace.services.findings import Issue
    from commonplace.services.typed_entries import SavedEntry
else:
    typed_entries = LazyModule("commonplace.services.typed_entries")

T = TypeVar("T")

_OWN_KEYS = frozenset({"id", "title", "type", "tags", "summary", "description", "links", "metadata"})
"""Frontmatter keys that an entry shows under another name of the contract."""

_SPAN = re.compile(r"[0-9]{4}(-[0-9]{2})?")
"""A year or a month."""
_TIMES = frozenset({"created_at", "updated_at"})
DEFAULT_IMPORTANCE = 5
"""Importance of an entry that states none, 1 to 10."""

_CODES: dict[tuple[Code, str], str] = {
    (Code.NOT_FOUND, "collection"): "KB_NOT_FOUND",
    (Code.NOT_FOUND, "type"): "UNDECLARED_TYPE",
    (Code.NOT_FOUND, "preset"): "VALIDATION_FAILED",
    (Code.INVALID, "type"): "UNDECLARED_TYPE",
    (Code.INVALID, "schema"): "SCHEMA_VIOLATION",
    (Code.INVALID, "query"): "QUERY_SYNTAX",
    (Code.UNAVAILABLE, "model"): "MODEL_MISSING",
}
_SUGGESTIONS: dict[tuple[Code, str], str] = {
    (Code.NOT_FOUND, "document"): "Call kb_search to find it.",
    (Code.NOT_FOUND, "collection"): "Call kb_list for the names of the bases.",
    (Code.NOT_FOUND, "type"): "Call kb_schema for the declared types.",
    (
        Code.INVALID,
        "type",
    ): f"Call kb_schema for the types, declare it in {SCHEMA_FILE}, or pass allow_undeclared.",
    (Code.INVALID, "query"): "Give at least one word in query.",
    (Code.ALREADY_EXISTS, "document"): "Call kb_update to change it, or give another title.",
    (Code.CONFLICT, "document"): "Call kb_get, apply the change to what it says now, and pass its revision.",
}
"""The next step after an error; for all other errors, the error's own hint is shown."""
_KEPT_HINTS = frozenset({ALREADY_WRITTEN, AMBIGUOUS_HINT, f"Repair {SCHEMA_FILE} first."})
"""Hints that are more specific than the suggestion for their error kind."""
_CODES_OF_ANY_KIND: dict[Code, str] = {
    Code.NOT_FOUND: "ENTRY_NOT_FOUND",
    Code.ALREADY_EXISTS: "ENTRY_EXISTS",
    Code.CONFLICT: "CONFLICT",
    Code.INVALID: "VALIDATION_FAILED",
    Code.TOO_LARGE: "VALIDATION_FAILED",
    Code.READ_ONLY: "KB_READ_ONLY",
    Code.FORBIDDEN: "KB_READ_ONLY",
    Code.RATE_LIMITED: "RATE_LIMITED",
    Code.UNAVAILABLE: "STORAGE_ERROR",
    Code.INDEXING: "INDEXING",
    Code.GIT: "GIT_ERROR",
    Code.STORAGE: "STORAGE_ERROR",
}


def show_error(error: KnowledgeError) -> JsonObject:
    """The error as JSON of the contract. The contract's code follows from the error's code and kind."""
    code = _CODES.get((error.code, error.kind)) or _CODES_OF_ANY_KIND.get(error.code, "INTERNAL")
    if "missing" in error.context:
        code = "MISSING_PARAMETER"
    shown: dict[str, Json] = {"error": str(error), "error_code": code, "retryable": error_mapping(error).retryable}
    if error.hint:
        shown["suggestion"] = _suggestion(error)
    if error.context.get("nearest"):
        shown["did_you_mean"] = error.context["nearest"]
    if "current_revision" in error.context:
        shown["current_revision"] = error.context["current_revision"]
    if isinstance(error, ConflictError) and error.changes:
        shown["changes"] = list(error.changes)
    return shown


def _suggestion(error: KnowledgeError) -> str:
    """The next step after an error, with names of this toolset's tools and arguments."""
    if error.hint in _KEPT_HINTS or error.hint.endswith(f"{OWN_CHANGE}."):
        return error.hint
    if error.context.get("reached"):
        return f"Read on with kb_read_body and body_offset {error.context['reached']} to the end, then call this again."
    suggestion = _SUGGESTIONS.get((error.code, error.kind), error.hint)
    is_page = error.code is Code.NOT_FOUND and error.kind == "document"
    return f"{suggestion} Or give one of did_you_mean." if is_page and error.context.get("nearest") else suggestion


def show_row(document: FoundDocument) -> dict[str, Json]:
    """An entry without its body, as shown in lists."""
    record = document.record
    values = record.frontmatter
    return {
        "id": record.reference,
        "kb_name": document.collection.name,
        "entry_type": record.type or DEFAULT_TYPE,
        "title": record.title,
        "summary": record.description or None,
        "file_path": record.address.path,
        "date": record.date or None,
        "importance": values.get("importance", DEFAULT_IMPORTANCE),
        "status": values.get("status"),
        "tags": list[Json](typed_entries.tags_of(document.collection, record)),
        "metadata": custom_fields(values),
        "created_at": record.created or None,
        "updated_at": record.updated or None,
    }


def custom_fields(values: JsonObject) -> dict[str, Json]:
    """The fields of an entry that no field of every entry names, with those below `metadata`."""
    return further_fields(values, _OWN_KEYS | COMMON_FIELDS | _TIMES)


def show_entry(
    found_document: FoundDocument, document: Document, out: Sequence[LinkedDocument], back: Sequence[LinkedDocument]
) -> dict[str, Json]:
    """An entry with its row, body, other fields and links."""
    values = document.frontmatter.values
    sources = values.get("sources")
    stated_links = (link for link in out if link.resolved.link.kind in {LinkKind.FRONTMATTER, LinkKind.WIKI})
    return {
        **_declared_fields(found_document, values),
        **show_row(found_document),
        "body": document.body,
        "revision": revision_of(document.raw),
        "sources": sources if isinstance(sources, list) else [] if sources is None else [sources],
        "links": _distinct(_stated_link(found_document.collection, link) for link in stated_links),
        "outlinks": _neighbours(out, is_incoming=False),
        "backlinks": _neighbours(back, is_incoming=True),
    }


def _declared_fields(found_document: FoundDocument, values: JsonObject) -> dict[str, Json]:
    """The fields that the contract names for every entry or its type declares; all others are below `metadata`."""
    others = {key: value for key, value in values.items() if key not in _OWN_KEYS}
    if not custom_fields(values):
        return others
    schema = typed_entries.current_schema(found_document.collection)
    declared = schema.types.get(found_document.record.type or DEFAULT_TYPE)
    names = COMMON_FIELDS | _TIMES | (declared.field_names if declared else frozenset[str]())
    return {key: value for key, value in others.items() if key in names}


def _neighbours(links: Iterable[LinkedDocument], *, is_incoming: bool) -> list[Json]:
    return _distinct(show_neighbour(link, is_incoming=is_incoming) for link in links if link.found)


def _distinct(rows: Iterable[JsonObject]) -> list[Json]:
    """The rows without those that a page with the same link in several places repeats."""
    return list({tuple(row.values()): row for row in rows}.values())


def show_neighbour(neighbour: LinkedDocument, *, is_incoming: bool) -> JsonObject:
    """The other end of a link."""
    document = neighbour.found
    link = neighbour.resolved.link
    record = document.record if document else None
    return {
        "id": document.record.reference if document else link.target,
        "kb_name": document.collection.name if document else None,
        "title": record.title if record else None,
        "entry_type": (record.type or DEFAULT_TYPE) if record else None,
        "relation": shown_relation(neighbour, is_incoming=is_incoming),
        "note": link.note or neighbour.resolved.sentence or None,
    }


def show_saved(saved: SavedEntry, *, created: bool) -> dict[str, Json]:
    """The answer to a write."""
    shown: dict[str, Json] = {
        "created" if created else "updated": True,
        "entry_id": saved.entry_id,
        "file_path": saved.written.address.path,
        "revision": saved.written.revision,
    }
    if saved.written.unchanged:
        shown["unchanged"] = True
    if saved.warnings:
        shown["warnings"] = [_show_violation(violation) for violation in saved.warnings]
    return shown


def warning(rule: str, message: str) -> JsonObject:
    """A warning that is about no single field."""
    return {"rule": rule, "severity": "warning", "message": message}


def _show_violation(violation: Violation) -> JsonObject:
    stated = {
        "field": violation.field,
        "rule": violation.rule,
        "expected": violation.expected,
        "got": violation.got,
        "severity": "warning",
    }
    return {**stated, "message": violation.message} if violation.message else stated


def show_issue(issue: Issue) -> JsonObject:
    """One issue that a check found."""
    return {
        "entry_id": issue.entry_id,
        "kb_name": issue.collection.name,
        "rule": issue.rule,
        "severity": issue.severity.value,
        "field": issue.field or None,
        "message": issue.sentence,
    }


def show_types(schema: Schema) -> dict[str, Json]:
    """The core types and the types that `kb.yaml` or a plugin declares, with their declarations."""
    return {entry_type.name: _show_type(entry_type) for entry_type in schema.types.values()}


def selected(row: dict[str, Json], fields: Sequence[str] | None) -> dict[str, Json]:
    """The row reduced to the requested fields; `id` and `kb_name` are always included.

    A field that the row has below `metadata` alone is included by its own name.
    """
    if not fields:
        return row
    kept_fields = {"id", "kb_name", *fields}
    metadata = row.get("metadata")
    further = {key: metadata[key] for key in fields if key in metadata} if isinstance(metadata, dict) else {}
    return {key: value for key, value in {**further, **row}.items() if key in kept_fields}


SHOWN_FIELDS = (
    *("id", "kb_name", "entry_type", "title", "summary", "file_path", "date", "importance", "status", "tags"),
    *("metadata", "created_at", "updated_at", "body", "revision", "sources", "links", "outlinks", "backlinks"),
    *("snippet", "score", "section", "body_truncated", "body_length", "body_offset", "body_chunk_size"),
)
"""The names that `fields` takes for every entry; a base's own fields come to them."""
MAX_NAMED_FIELDS = 40
"""Maximum number of a base's own fields that a warning names."""


def unknown_fields(collections: Sequence[Collection], fields: Sequence[str] | None) -> list[Json]:
    """A warning about the names among `fields` that no entry of these bases has or could have; [] if there is none."""
    always = {*SHOWN_FIELDS, *COMMON_FIELDS, *_TIMES}
    unknown = [name for name in dict.fromkeys(fields or ()) if name not in always]
    if not unknown:  # the usual case, which reads no entry
        return []
    declared, own = _names_of_fields(collections)
    unknown = [name for name in unknown if name not in own | declared]
    if not unknown:
        return []
    further = sorted(own - {*SHOWN_FIELDS} - _OWN_KEYS)
    more = f" and {len(further) - MAX_NAMED_FIELDS} more" if len(further) > MAX_NAMED_FIELDS else ""
    names = ", ".join((*SHOWN_FIELDS, *further[:MAX_NAMED_FIELDS]))
    listed = ", ".join(repr(name[:60]) for name in unknown[:MAX_NAMED_FIELDS])
    return [warning("unknown_field", f"No entry has {listed}. Names for fields: {names}{more}.")]


def _names_of_fields(collections: Sequence[Collection]) -> tuple[set[str], set[str]]:
    """The fields that the types of these bases declare, and those that their entries have."""
    declared: set[str] = set()
    own: set[str] = set()
    for base in collections:
        declared.update(*(declaration.field_names for declaration in typed_entries.current_schema(base).types.values()))
        for record in base.index.records():
            own.update(record.frontmatter, mapping_of(record.frontmatter.get("metadata")))
    return declared, own


def without_empty(row: dict[str, Json], fields: Sequence[str] | None = None) -> dict[str, Json]:
    """The row without null and empty values, except those of requested fields."""
    requested_row = fields or ()
    return {key: value for key, value in row.items() if key in requested_row or value not in (None, "", [], {})}


def unknown_type(collections: Sequence[Collection], entry_type: str | None) -> dict[str, Json]:
    """A notice for an empty answer about a type that no base declares or contains; {} for a known type."""
    if not entry_type:
        return {}
    names: set[str] = set()
    problems: list[Json] = []
    for collection in collections:
        schema = typed_entries.current_schema(collection)
        names.update(schema.types, (name for name, _ in collection.index.counts().types if name))
        problems += typed_entries.schema_findings(schema)
    if entry_type.casefold() in map(str.casefold, names):
        return {}
    near = get_close_matches(entry_type.casefold(), sorted(names), MAX_NEAREST_IDS)
    message = f"No base declares or has the type {entry_type!r}. Call kb_schema for the types of a base."
    return {
        "suggestion": message,
        "did_you_mean": list(near),
        **({"problems": problems} if problems else {}),
    }


def file_uri(document: FoundDocument) -> str:
    """The URI of the resource that is the document's unchanged file."""
    name, path = (quote(part, safe="") for part in (document.collection.name, document.record.address.path))
    return f"commonplace://kbs/{name}/files/{path}"


def types_matching(name: str | None) -> tuple[str, ...]:
    """The types that a filter by this type matches: an entry without a type is a note."""
    return () if not name else (name, "") if name == DEFAULT_TYPE else (name,)


def first_day(name: str, value: str | None) -> str:
    """The first day of a date argument that may be a year or month, such as `2026-03`; "" if it is missing."""
    return checked_day(name, f"{value}{'-01-01'[len(value) - 4 :]}" if _is_span(value) else value)


def last_day(name: str, value: str | None) -> str:
    """The last day of a date argument that may be a year or month; "" if it is missing."""
    if not _is_span(value):
        return checked_day(name, value)
    days = (f"{value}{'-12-'[len(value) - 4 :]}{number}" for number in range(31, 27, -1))
    return checked_day(name, next(filter(is_date, days), value))


def _is_span(value: str | None) -> TypeGuard[str]:
    return bool(value and _SPAN.fullmatch(value))


def checked_day(name: str, value: str | None) -> str:
    """A date argument; "" if it is missing.

    Raises:
        InvalidInputError: the value is not a calendar date.
    """
    if value and not is_date(value):
        raise InvalidInputError(
            f"Invalid argument {name}: expected a date YYYY-MM-DD; got {value[:40]!r}.", kind="argument"
        )
    return value or ""


def slice_of(items: Sequence[T], offset: int, limit: int) -> tuple[Sequence[T], bool]:
    """The requested part of a list, and whether more items follow."""
    page = items[offset : offset + limit]
    return page, offset + len(page) < len(items)


def _show_type(entry_type: EntryType) -> JsonObject:
    shown: dict[str, Json] = {
        **(entry_type.declared or {}),
        "description": entry_type.description,
        "required": list(entry_type.required),
        "optional": list(entry_type.optional),
        "subdirectory": entry_type.subdirectory,
    }
    return without_empty(shown, ("description", "required"))


def _stated_link(collection: Collection, neighbour: LinkedDocument) -> JsonObject:
    link, document = neighbour.resolved.link, neighbour.found
    return {
        "target_id": document.record.reference if document else link.target,
        "target_kb": document.collection.name if document else link.collection or collection.name,
        "relation": shown_relation(neighbour, is_incoming=False),
        "note": link.note or None,
    }
