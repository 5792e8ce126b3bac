"""How the `kb` toolset shows what the services return: rows, entries, links, issues, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

from commonplace.domain.documents import Document, LinkKind
from commonplace.domain.errors import Code, ConflictError, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Record
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import EntryType, Schema
from commonplace.domain.validation import is_date
from commonplace.faces.errors import error_mapping
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.links import DEFAULT_RELATION, LinkedDocument
from commonplace.services.quality import Issue
from commonplace.services.typed_entries import SavedEntry

T = TypeVar("T")

_OWN_KEYS = frozenset({"id", "title", "type", "category", "tags", "summary", "description", "links", "metadata"})
"""Frontmatter keys that an entry shows under a name of the contract's."""

_CODES: dict[tuple[Code, str], str] = {
    (Code.NOT_FOUND, "collection"): "KB_NOT_FOUND",
    (Code.NOT_FOUND, "type"): "UNDECLARED_TYPE",
    (Code.NOT_FOUND, "preset"): "VALIDATION_FAILED",
    (Code.INVALID, "type"): "UNDECLARED_TYPE",
    (Code.INVALID, "schema"): "SCHEMA_VIOLATION",
    (Code.INVALID, "query"): "QUERY_SYNTAX",
    (Code.UNAVAILABLE, "model"): "MODEL_MISSING",
}
_CODES_OF_ANY_KIND: dict[Code, str] = {
    Code.NOT_FOUND: "ENTRY_NOT_FOUND",
    Code.ALREADY_EXISTS: "ENTRY_EXISTS",
    Code.CONFLICT: "CONFLICT",
    Code.INVALID: "VALIDATION_FAILED",
    Code.TOO_LARGE: "VALIDATION_FAILED",
    Code.READ_ONLY: "KB_READ_ONLY",
    Code.RATE_LIMITED: "RATE_LIMITED",
    Code.UNAVAILABLE: "STORAGE_ERROR",
    Code.INDEXING: "INDEXING",
    Code.GIT: "GIT_ERROR",
    Code.STORAGE: "STORAGE_ERROR",
}


def show_error(error: KnowledgeError) -> JsonObject:
    """The error in the contract's words; the codes follow from the error's own code and kind."""
    code = _CODES.get((error.code, error.kind)) or _CODES_OF_ANY_KIND.get(error.code, "INTERNAL")
    if "missing" in error.context:
        code = "MISSING_PARAMETER"
    shown: dict[str, Json] = {"error": str(error), "error_code": code, "retryable": error_mapping(error).retryable}
    if error.hint:
        shown["suggestion"] = error.hint
    if error.context.get("nearest"):
        shown["did_you_mean"] = error.context["nearest"]
    if "current_revision" in error.context:
        shown["current_revision"] = error.context["current_revision"]
    if isinstance(error, ConflictError) and error.changes:
        shown["changes"] = list(error.changes)
    return shown


def show_row(found: FoundDocument) -> dict[str, Json]:
    """An entry without its body, as every list has it."""
    record = found.record
    values = record.frontmatter
    metadata = values.get("metadata")
    return {
        "id": entry_id(record),
        "kb_name": found.collection.name,
        "entry_type": record.type or DEFAULT_TYPE,
        "title": record.title,
        "summary": record.description or None,
        "file_path": record.address.path,
        "date": record.date or None,
        "importance": values.get("importance"),
        "status": values.get("status"),
        "tags": list(record.tags),
        "metadata": metadata if isinstance(metadata, dict) else {},
        "created_at": record.created or None,
        "updated_at": record.updated or None,
    }


def show_entry(
    found: FoundDocument, document: Document, out: Sequence[LinkedDocument], back: Sequence[LinkedDocument]
) -> dict[str, Json]:
    """An entry with everything: its row, its body, its other fields and its links."""
    values = document.frontmatter.values
    others = {key: value for key, value in values.items() if key not in _OWN_KEYS}
    sources = values.get("sources")
    return {
        **others,
        **show_row(found),
        "body": body_of(document),
        "revision": revision_of(document.raw),
        "sources": sources if isinstance(sources, list) else [] if sources is None else [sources],
        "links": [_stated_link(found.collection, neighbour) for neighbour in out if _is_stated(neighbour)],
        "outlinks": [show_neighbour(neighbour) for neighbour in out if neighbour.found],
        "backlinks": [show_neighbour(neighbour) for neighbour in back if neighbour.found],
    }


def show_neighbour(neighbour: LinkedDocument) -> JsonObject:
    """The other end of a link."""
    found = neighbour.found
    link = neighbour.resolved.link
    record = found.record if found else None
    return {
        "id": entry_id(record) if record else link.target,
        "kb_name": found.collection.name if found else None,
        "title": record.title if record else None,
        "entry_type": (record.type or DEFAULT_TYPE) if record else None,
        "relation": neighbour.relation,
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
        shown["warnings"] = [str(warning) for warning in saved.warnings]
    return shown


def show_issue(issue: Issue) -> JsonObject:
    """One thing that a check found."""
    return {
        "entry_id": issue.entry_id,
        "kb_name": issue.collection,
        "rule": issue.rule,
        "severity": issue.severity.value,
        "field": issue.field or None,
        "message": issue.message,
    }


def show_types(schema: Schema) -> dict[str, Json]:
    """The declared types, or the core ones where none are declared."""
    kept = [one for one in schema.types.values() if one.declared is not None or not schema.declares_types]
    return {one.name: _show_type(one) for one in kept}


def selected(row: dict[str, Json], fields: Sequence[str] | None) -> dict[str, Json]:
    """The row with the asked fields alone; `id` and `kb_name` always stay."""
    if not fields:
        return row
    kept = {"id", "kb_name", *fields}
    return {key: value for key, value in row.items() if key in kept}


def entry_id(record: Record) -> str:
    """The id by which an entry is addressed."""
    return record.id


def body_of(document: Document) -> str:
    """The text below the frontmatter."""
    raw = document.raw if document.decodable else document.text.encode()
    return raw[document.body_start :].decode("utf-8", "replace").lstrip("\r\n")


def file_uri(found: FoundDocument) -> str:
    """Where a document can be read as its file is."""
    name, path = (quote(part, safe="") for part in (found.collection.name, found.record.address.path))
    return f"commonplace://kbs/{name}/files/{path}"


def types_matching(name: str | None) -> tuple[str, ...]:
    """The types that a filter by this one keeps: an entry without a type is a note."""
    return () if not name else (name, "") if name == DEFAULT_TYPE else (name,)


def checked_day(name: str, value: str | None) -> str:
    """A day argument, "" when it was not given.

    Raises:
        InvalidInputError: it is no calendar date.
    """
    if value and not is_date(value):
        raise InvalidInputError(
            f"Invalid argument {name}: expected a date YYYY-MM-DD; got {value[:40]!r}.", kind="argument"
        )
    return value or ""


def slice_of(items: Sequence[T], offset: int, limit: int) -> tuple[Sequence[T], bool]:
    """The asked part of a list, and whether there is more behind it."""
    page = items[offset : offset + limit]
    return page, offset + len(page) < len(items)


def _show_type(one: EntryType) -> JsonObject:
    shown: dict[str, Json] = {"description": one.description, "required": list(one.required)}
    if one.optional:
        shown["optional"] = list(one.optional)
    if one.subdirectory:
        shown["subdirectory"] = one.subdirectory
    for key in ("fields", "ai_instructions", "file_pattern"):
        if one.declared and one.declared.get(key):
            shown[key] = one.declared[key]
    return shown


def _is_stated(neighbour: LinkedDocument) -> bool:
    return neighbour.resolved.link.kind is LinkKind.FRONTMATTER


def _stated_link(collection: Collection, neighbour: LinkedDocument) -> JsonObject:
    link = neighbour.resolved.link
    return {
        "target_id": link.target,
        "target_kb": link.collection or collection.name,
        "relation": link.relation or DEFAULT_RELATION,
        "note": link.note or None,
    }
