"""The tools of the `kb` toolset that write entries."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial

from pydantic import JsonValue, ValidationError

from commonplace.domain.changes import recording_retained
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.mcp.toolset import Call, ToolResult, bad_arguments
from commonplace.faces.write_output import retained_list
from commonplace.services import findings, links, typed_entries
from commonplace.services.collections import (
    MAX_NEAREST_IDS,
    Collection,
    Collections,
    FoundDocument,
    find_document,
)
from commonplace.services.links import DEFAULT_RELATION, RELATIONS
from commonplace.services.typed_entries import NewEntry, SavedEntry, current_schema, schema_findings
from commonplace.services.writes import WriteRequest
from commonplace.toolsets.kb import service
from commonplace.toolsets.kb.mcp.json_output import checked_day, show_error, show_issue, show_saved, warning
from commonplace.toolsets.kb.mcp.parameters import (
    BulkEntryArguments,
    KbBulkCreate,
    KbCreate,
    KbDelete,
    KbLink,
    KbQaAssess,
    KbUpdate,
)
from commonplace.toolsets.kb.service import Assessment

READ_ONLY_FIELDS = frozenset(
    {
        *("id", "entry_type", "file_path", "created_at", "updated_at", "links", "outlinks", "backlinks", "snippet"),
        *("score", "body_truncated", "body_length", "body_offset", "body_chunk_size"),
    }
)
"""Parts of an entry, as kb_get shows it, that an update does not write: its answer names them."""
MAX_LINKING = 100
"""Maximum number of entries named that link to a deleted entry; the answer has the total."""


def kb_create(call: Call, arguments: KbCreate) -> ToolResult:
    """Create an entry."""
    collection = call.services.collections.get(arguments.kb_name)
    saved = typed_entries.create_entry(
        collection,
        _new_entry(arguments, allow_undeclared=arguments.allow_undeclared),
        WriteRequest(session=call.session),
    )
    return _told(call, collection, saved, created=True, validate=arguments.validate_)


def kb_bulk_create(call: Call, arguments: KbBulkCreate) -> ToolResult:
    """Create several entries in one step. An invalid entry does not prevent the others."""
    collection = call.services.collections.get(arguments.kb_name)
    checked = [_checked_entry(values, allow_undeclared=arguments.allow_undeclared) for values in arguments.entries]
    entries = [entry for entry in checked if isinstance(entry, NewEntry)]
    results = iter(typed_entries.create_entries(collection, entries, WriteRequest(session=call.session)))
    ordered = [entry if isinstance(entry, KnowledgeError) else next(results) for entry in checked]
    shown = [_show_created(call, collection, error) for error in ordered]
    created = sum(isinstance(error, SavedEntry) for error in ordered)
    return {"total": len(shown), "created": created, "failed": len(shown) - created, "results": shown}


def kb_update(call: Call, arguments: KbUpdate) -> ToolResult:
    """Change the given fields of an entry.

    Replacing the whole body requires the entry's revision, passed or shown to this session.
    """
    document = call.services.collections.locate(arguments.entry_id, arguments.kb_name)
    checked_day("date", arguments.date)
    names = ("title", "importance", "tags", "participants", "metadata", "status", "date", "location", "summary")
    changes = {name: getattr(arguments, name) for name in names if name in arguments.model_fields_set}
    extra = arguments.model_extra or {}
    own = {name: value for name, value in extra.items() if name not in READ_ONLY_FIELDS}
    changes |= own
    intent = WriteRequest(expected=arguments.revision or "", session=call.session, unseen="refuse")
    saved = typed_entries.update_entry(
        document.collection, document.record.address, changes, arguments.body, intent, declared_only=own
    )
    fields = _told(call, document.collection, saved, created=False, validate=arguments.validate_)
    ignored = sorted(READ_ONLY_FIELDS & extra.keys())
    return {**fields, "ignored": list[Json](ignored)} if ignored else fields


def kb_delete(call: Call, arguments: KbDelete) -> ToolResult:
    """Delete an entry; the answer names the entries that link to it and the location of its last bytes."""
    collections = call.services.collections
    document = collections.locate(arguments.entry_id, arguments.kb_name)
    others, identifier = _linking_to(collections, document), document.record.reference
    intent = WriteRequest(expected=arguments.revision or "", session=call.session, unseen="refuse")
    with recording_retained() as copies:
        typed_entries.delete_entry(document.collection, document.record.address, intent)
    return {
        "deleted": True,
        "entry_id": identifier,
        "linked_from": [
            {"id": document.record.reference, "kb_name": document.collection.name, "title": document.record.title}
            for document in others[:MAX_LINKING]
        ],
        "link_count": len(others),
        "kept": retained_list(copies),
    }


def _linking_to(collections: Collections, document: FoundDocument) -> list[FoundDocument]:
    """The other entries that link to an entry, each once."""
    incoming = (
        linked_document.found
        for linked_document in links.incoming(collections, document.collection, document.record.address)
    )
    others = {(item.collection.name, item.record.address): item for item in incoming if item is not None}
    others.pop((document.collection.name, document.record.address), None)
    return list(others.values())


def kb_link(call: Call, arguments: KbLink) -> ToolResult:
    """Add a link with a relation to an entry."""
    collections = call.services.collections
    source = find_document(collections, arguments.source_id, arguments.source_kb)
    base, target_id = _link_target(collections, arguments)
    written = typed_entries.link_entries(
        source.collection,
        source.record.address,
        target_id,
        (arguments.relation, arguments.note),
        WriteRequest(session=call.session),
        base="" if base == source.collection.name else base,
    )
    return {
        "linked": True,
        "source_id": source.record.reference,
        "target_id": target_id,
        "relation": arguments.relation,
        "revision": written.revision,
        **_unknown_relation(source.collection, arguments.relation),
    }


def _link_target(collections: Collections, arguments: KbLink) -> tuple[str, str]:
    """The base and the id of the entry that a link is to lead to.

    Raises:
        NotFoundError: there is no such entry, and `allow_dangling` is false; or there is no such base.
    """
    name = arguments.target_kb or arguments.source_kb
    try:
        target = find_document(collections, arguments.target_id, name)
    except NotFoundError as error:
        if not arguments.allow_dangling or error.kind != "document":
            raise
        return collections.get(name).name, arguments.target_id
    return target.collection.name, target.record.reference


def _unknown_relation(collection: Collection, relation: str) -> dict[str, Json]:
    """A warning with the nearest known relations for a relation without a known inverse; {} for a known relation."""
    schema = current_schema(collection)
    pairs = {**dict(RELATIONS), **dict(collection.extensions.relations), **schema.relations}
    known_texts = {DEFAULT_RELATION, *pairs, *pairs.values()} - {""}
    if relation in known_texts:
        return {}
    message = f"The relation {relation!r} is not known: backlinks show {DEFAULT_RELATION}. kb_schema lists those known."
    warnings = [warning("relation", message), *(warning("schema", finding) for finding in schema_findings(schema))]
    return {
        "warnings": warnings,
        "did_you_mean": list(get_close_matches(relation, sorted(known_texts), MAX_NEAREST_IDS)),
    }


def kb_qa_assess(call: Call, arguments: KbQaAssess) -> ToolResult:
    """Assess one entry, or all entries of a base without a recent assessment."""
    collections = call.services.collections
    if arguments.entry_id:
        document = find_document(collections, arguments.entry_id, arguments.kb_name)
        (result,) = service.assess(collections, document.collection, [document.record], max_age_hours=0)
        return _show_assessment(document.collection, result)
    collection = collections.get(arguments.kb_name)
    targets = service.assessable(collection)
    results = service.assess(collections, collection, targets, arguments.max_age_hours, call.progress)
    return {
        "kb_name": collection.name,
        "assessed": len(results),
        "skipped": len(targets) - len(results),
        "results": [_show_assessment(collection, result, whole=False) for result in results],
    }


def _show_assessment(collection: Collection, result: Assessment, *, whole: bool = True) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "assessment_id": result.id,
        "target_entry": result.reference,
        "kb_name": collection.name,
        "qa_status": result.status,
        "issues_found": len(result.issues),
    }
    return shown | {"issues": [show_issue(issue) for issue in result.issues]} if whole else shown


def _checked_entry(values: dict[str, JsonValue], *, allow_undeclared: bool) -> NewEntry | KnowledgeError:
    try:
        return _new_entry(BulkEntryArguments.model_validate(values), allow_undeclared=allow_undeclared)
    except ValidationError as error:
        return bad_arguments(error)
    except KnowledgeError as error:
        return error


def _new_entry(arguments: KbCreate | BulkEntryArguments, *, allow_undeclared: bool) -> NewEntry:
    return NewEntry(
        entry_type=arguments.entry_type,
        title=arguments.title,
        body=arguments.body,
        fields={
            "date": checked_day("date", arguments.date) or None,
            "importance": arguments.importance,
            "tags": arguments.tags,
            "participants": arguments.participants,
            "role": arguments.role,
            **(arguments.model_extra or {}),
        },
        metadata=arguments.metadata or {},
        allow_undeclared=allow_undeclared,
    )


def _show_created(call: Call, collection: Collection, result: SavedEntry | KnowledgeError) -> JsonObject:
    if isinstance(result, KnowledgeError):
        return {"created": False, **show_error(result)}
    return _told(call, collection, result, created=True, validate=False)


def _told(call: Call, collection: Collection, saved: SavedEntry, *, created: bool, validate: bool) -> dict[str, Json]:
    """The answer to a write, with warnings and issues. A check that times out becomes a warning, never an error."""
    shown = show_saved(saved, created=created)
    schema = current_schema(collection)
    for finding in schema_findings(schema):
        shown = _warned(shown, "schema", f"{finding} What the file declares was not checked.")
    if saved.same:
        message = f"The entry {saved.same!r} says nearly the same: update that one instead, or link the two."
        shown = _warned(shown, "near_duplicate", message)
    if not (validate or schema.qa_on_write):
        return shown
    checks = partial(_quality, call, collection, saved)
    issues = saved.written.answer_by.within(checks, f"{collection.name}: checking a written entry")
    if issues is None:
        return _warned(shown, "not_checked", "The entry is written, and was not checked in time: call kb_qa_validate.")
    return shown | issues


def _warned(shown: dict[str, Json], rule: str, message: str) -> dict[str, Json]:
    warnings = shown.get("warnings")
    return shown | {"warnings": [*(warnings if isinstance(warnings, list) else ()), warning(rule, message)]}


def _quality(call: Call, collection: Collection, saved: SavedEntry) -> dict[str, Json]:
    """`qa_issues` of the written entry; {} if there are none."""
    record = collection.index.record(saved.written.address)
    issues = findings.page_issues(call.services.collections, collection, record, strict=True) if record else ()
    return {"qa_issues": [show_issue(issue) for issue in issues]} if issues else {}
