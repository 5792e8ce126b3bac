"""The tools of the `kb` toolset that write entries."""

from __future__ import annotations

from functools import partial

from pydantic import JsonValue, ValidationError

from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.kept import kept_json
from commonplace.faces.mcp.dialect import Call, Shown, bad_arguments
from commonplace.faces.mcp.toolsets.kb.parameters import (
    EntryGiven,
    KbBulkCreate,
    KbCreate,
    KbDelete,
    KbLink,
    KbQaAssess,
    KbUpdate,
)
from commonplace.faces.mcp.toolsets.kb.shapes import checked_day, entry_id, show_error, show_issue, show_saved
from commonplace.services import assessing, cataloguing, linking, quality
from commonplace.services.assessing import Assessment
from commonplace.services.cataloguing import NewEntry, Saved, schema_of
from commonplace.services.collections import Collection, Collections, Found
from commonplace.services.writing import Intent

MAX_LINKING = 100
"""Entries that link to a deleted one and are named; the answer says how many there are."""
ALWAYS = -1.0
"""No assessment is that young: an entry that is named is assessed whatever there was."""


def kb_create(call: Call, given: KbCreate) -> Shown:
    """Write a new entry."""
    collection = call.services.collections.get(given.kb_name)
    saved = cataloguing.create_entry(collection, _new_entry(given), Intent(session=call.session))
    return _told(call, collection, saved, created=True, asked=given.validate_)


def kb_bulk_create(call: Call, given: KbBulkCreate) -> Shown:
    """Write several new entries in one step; a wrong one does not stop the others."""
    collection = call.services.collections.get(given.kb_name)
    checked = [_checked_entry(values) for values in given.entries]
    entries = [one for one in checked if isinstance(one, NewEntry)]
    results = iter(cataloguing.create_entries(collection, entries, Intent(session=call.session)))
    ordered = [one if isinstance(one, KnowledgeError) else next(results) for one in checked]
    shown = [_show_created(call, collection, one) for one in ordered]
    created = sum(isinstance(one, Saved) for one in ordered)
    return {"total": len(shown), "created": created, "failed": len(shown) - created, "results": shown}


def kb_update(call: Call, given: KbUpdate) -> Shown:
    """Change the given fields of an entry; its whole body only as this session was shown it, or at its revision."""
    found = call.services.collections.locate(given.entry_id, given.kb_name)
    checked_day("date", given.date)
    names = ("title", "importance", "tags", "participants", "metadata", "status", "date", "location", "summary")
    changes = {name: getattr(given, name) for name in names if name in given.model_fields_set}
    intent = Intent(expected=given.revision or "", session=call.session, unseen="refuse")
    saved = cataloguing.update_entry(found.collection, found.record.address, changes, given.body, intent)
    return _told(call, found.collection, saved, created=False, asked=given.validate_)


def kb_delete(call: Call, given: KbDelete) -> Shown:
    """Delete an entry; names what links to it, and where its last bytes are."""
    collections = call.services.collections
    found = collections.locate(given.entry_id, given.kb_name)
    others = _linking_to(collections, found)
    intent = Intent(expected=given.revision or "", session=call.session, unseen="refuse")
    written = cataloguing.delete_entry(found.collection, found.record.address, intent)
    return {
        "deleted": True,
        "entry_id": entry_id(found.record),
        "linked_from": [
            {"id": entry_id(one.record), "kb_name": one.collection.name, "title": one.record.title}
            for one in others[:MAX_LINKING]
        ],
        "link_count": len(others),
        "kept": [kept_json(written.kept)] if written.kept else [],
    }


def _linking_to(collections: Collections, found: Found) -> list[Found]:
    """The other entries that link to one, each once."""
    incoming = (one.found for one in linking.incoming(collections, found.collection, found.record.address))
    others = {(one.collection.name, one.record.address): one for one in incoming if one is not None}
    others.pop((found.collection.name, found.record.address), None)
    return list(others.values())


def kb_link(call: Call, given: KbLink) -> Shown:
    """Add a link with a relation."""
    collections = call.services.collections
    source = collections.locate(given.source_id, given.source_kb)
    target = collections.locate(given.target_id, given.target_kb or given.source_kb)
    target_id = entry_id(target.record)
    elsewhere = target.collection.name != source.collection.name
    written = cataloguing.link_entries(
        source.collection,
        source.record.address,
        f"{target.collection.name}:{target_id}" if elsewhere else target_id,
        (given.relation, given.note),
        Intent(session=call.session),
    )
    return {
        "linked": True,
        "source_id": entry_id(source.record),
        "target_id": target_id,
        "relation": given.relation,
        "revision": written.revision,
    }


def kb_qa_assess(call: Call, given: KbQaAssess) -> Shown:
    """Assess an entry, or all of a base that were not assessed lately."""
    collections = call.services.collections
    if given.entry_id:
        found = collections.locate(given.entry_id, given.kb_name)
        (result,) = assessing.assess(collections, found.collection, [found.record], ALWAYS)
        return _show_assessment(found.collection, result)
    collection = collections.get(given.kb_name)
    targets = assessing.assessable(collection)
    results = assessing.assess(collections, collection, targets, given.max_age_hours, call.progress)
    return {
        "kb_name": collection.name,
        "assessed": len(results),
        "skipped": len(targets) - len(results),
        "results": [_show_assessment(collection, result, whole=False) for result in results],
    }


def _show_assessment(collection: Collection, result: Assessment, *, whole: bool = True) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "assessment_id": result.id,
        "target_entry": result.target.id,
        "kb_name": collection.name,
        "qa_status": result.status,
        "issues_found": len(result.issues),
    }
    return shown | {"issues": [show_issue(issue) for issue in result.issues]} if whole else shown


def _checked_entry(values: dict[str, JsonValue]) -> NewEntry | KnowledgeError:
    try:
        return _new_entry(EntryGiven.model_validate(values))
    except ValidationError as error:
        return bad_arguments(error)
    except KnowledgeError as error:
        return error


def _new_entry(given: EntryGiven) -> NewEntry:
    return NewEntry(
        entry_type=given.entry_type,
        title=given.title,
        body=given.body,
        fields={
            "date": checked_day("date", given.date) or None,
            "importance": given.importance,
            "tags": given.tags,
            "participants": given.participants,
            "role": given.role,
        },
        metadata=given.metadata or {},
    )


def _show_created(call: Call, collection: Collection, result: Saved | KnowledgeError) -> JsonObject:
    if isinstance(result, KnowledgeError):
        return {"created": False, **show_error(result)}
    return _told(call, collection, result, created=True, asked=False)


def _told(call: Call, collection: Collection, saved: Saved, *, created: bool, asked: bool) -> dict[str, Json]:
    """The answer of a write, which stands, also when what is to be said beside it cannot be found out in time."""
    shown = show_saved(saved, created=created)
    if saved.same:
        message = f"The entry {saved.same!r} says nearly the same: update that one instead, or link the two."
        shown = _warned(shown, message)
    if not (asked or schema_of(collection).qa_on_write):
        return shown
    checks = partial(_quality, call, collection, saved)
    issues = saved.written.answer_by.within(checks, f"{collection.name}: checking a written entry")
    if issues is None:
        return _warned(shown, "The entry is written, and was not checked in time: call kb_qa_validate.")
    return shown | issues


def _warned(shown: dict[str, Json], message: str) -> dict[str, Json]:
    known = shown.get("warnings")
    return shown | {"warnings": [*(known if isinstance(known, list) else ()), message]}


def _quality(call: Call, collection: Collection, saved: Saved) -> dict[str, Json]:
    """`qa_issues`, only where the checks find something."""
    record = collection.index.record(saved.written.address)
    issues = quality.check_entry(call.services.collections, collection, record) if record else ()
    return {"qa_issues": [show_issue(issue) for issue in issues]} if issues else {}
