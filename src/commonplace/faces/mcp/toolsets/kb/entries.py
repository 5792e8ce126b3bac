"""The tools of the `kb` toolset that read entries: search, get, list, by date, by link."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Filter, ListQuery, SearchQuery, SortKey
from commonplace.domain.revisions import revision_of
from commonplace.faces.mcp.dialect import Call, Link, Linked, Shown
from commonplace.faces.mcp.toolsets.kb.budget import entry_within, search_within, sections_within
from commonplace.faces.mcp.toolsets.kb.parameters import (
    KbBacklinks,
    KbBatchRead,
    KbGet,
    KbListEntries,
    KbRecent,
    KbSearch,
    KbTimeline,
)
from commonplace.faces.mcp.toolsets.kb.shapes import (
    body_of,
    checked_day,
    entry_id,
    file_uri,
    page_of,
    selected,
    show_entry,
    show_neighbour,
    show_row,
    types_meant,
)
from commonplace.services import linking, listing, searching
from commonplace.services.collections import Found
from commonplace.services.searching import FoundHit

BATCH_CHARACTERS = 32_000
"""What the bodies of one batch share: about 8,000 tokens."""
DEFAULT_IMPORTANCE = 5
"""How important an entry is that does not say so."""


def kb_search(call: Call, given: KbSearch) -> Shown:
    """Ranked entries."""
    collections = call.services.collections.chosen(given.kb_name)
    query = SearchQuery(
        text=given.query,
        filter=Filter(
            types=types_meant(given.entry_type),
            tags=tuple(given.tags or ()),
            date_from=checked_day("date_from", given.date_from),
            date_to=checked_day("date_to", given.date_to),
        ),
        limit=given.limit,
        offset=given.offset,
    )
    if given.max_tokens:
        return search_within(collections, query, given.mode, given.max_tokens)
    answer = searching.search(collections, query, given.mode)
    results = [_show_hit(call, hit, given) for hit in answer.hits]
    more = given.offset + len(results) < answer.total
    shown: JsonObject = {
        "query": given.query,
        "count": len(results),
        "total": answer.total,
        "has_more": more,
        "results": results,
    }
    found = [Found(hit.collection, hit.hit.record) for hit in answer.hits]
    return Linked(shown, [Link(file_uri(one), one.record.id) for one in found])


def kb_get(call: Call, given: KbGet) -> Shown:
    """One entry, whole."""
    found = call.services.collections.locate(given.entry_id, given.kb_name)
    document = found.collection.index.document(found.record.address)
    entry = whole_entry(call, found, document)
    if given.max_tokens and given.query:
        return {"entry": sections_within(found, given.query, entry, given.max_tokens)}
    shown = selected(_cut(entry, given.body_offset, given.body_limit), _with_cut(given.fields))
    shown = entry_within(shown, given.max_tokens) if given.max_tokens else shown
    remember(call, found, document, shown)
    return {"entry": shown}


def kb_batch_read(call: Call, given: KbBatchRead) -> Shown:
    """Several entries; their bodies share one budget."""
    entries: list[Json] = []
    missing: list[Json] = []
    left = BATCH_CHARACTERS
    for name in given.entries:
        try:
            found = call.services.collections.locate(name.entry_id, name.kb_name)
        except NotFoundError as error:
            nearest = error.context.get("nearest")
            missing.append({"entry_id": name.entry_id, "kb_name": name.kb_name, "did_you_mean": nearest or []})
            continue
        document = found.collection.index.document(found.record.address)
        entry = _cut(whole_entry(call, found, document), given.body_offset, min(given.body_limit, left))
        left -= len(str(entry["body"]))
        shown = selected(entry, _with_cut(given.fields))
        remember(call, found, document, shown)
        entries.append(shown)
    return {"entries": entries, "found": len(entries), "not_found": missing}


def kb_list_entries(call: Call, given: KbListEntries) -> Shown:
    """A page of entries."""
    sorts: dict[str, SortKey] = {"updated_at": "updated", "created_at": "created", "entry_type": "type"}
    query = ListQuery(
        filter=Filter(types=types_meant(given.entry_type), tags=(given.tag,) if given.tag else ()),
        sort=sorts.get(given.sort_by, "title"),
        descending=given.sort_order == "desc",
        offset=given.offset,
        limit=given.limit,
    )
    page = listing.list_documents(call.services.collections.chosen(given.kb_name), query)
    return {
        "entries": [_with_body(call, found, given.fields) for found in page.found],
        "total": page.total,
        "limit": given.limit,
        "offset": given.offset,
        "has_more": given.offset + len(page.found) < page.total,
    }


def kb_recent(call: Call, given: KbRecent) -> Shown:
    """Entries by last change, newest first."""
    query = ListQuery(
        filter=Filter(types=types_meant(given.entry_type), updated_from=checked_day("since", given.since)),
        sort="updated",
        descending=True,
        limit=given.limit,
    )
    page = listing.list_documents(call.services.collections.chosen(given.kb_name), query)
    return {"entries": [_with_body(call, found, given.fields) for found in page.found], "count": len(page.found)}


def kb_timeline(call: Call, given: KbTimeline) -> Shown:
    """Dated entries by date."""
    query = ListQuery(
        filter=Filter(
            date_from=checked_day("date_from", given.date_from) or "0000-01-01",
            date_to=checked_day("date_to", given.date_to),
        ),
        sort="date",
    )
    found = [
        Found(collection, record)
        for collection in call.services.collections
        for record in listing.every_document(collection, query)
        if _importance(record.frontmatter) >= given.min_importance
    ]
    found.sort(key=lambda one: listing.sort_value(one.record, "date"))
    page, more = page_of(found, given.offset, given.limit)
    return {"count": len(page), "has_more": more, "events": [_show_event(one) for one in page]}


def kb_backlinks(call: Call, given: KbBacklinks) -> Shown:
    """Entries that link here."""
    collections = call.services.collections
    found = collections.locate(given.entry_id, given.kb_name)
    back = linking.distinct(linking.incoming(collections, found.collection, found.record.address))
    page, more = page_of(back, given.offset, given.limit)
    return {
        "entry_id": entry_id(found.record),
        "backlink_count": len(back),
        "has_more": more,
        "backlinks": [show_neighbour(neighbour) for neighbour in page],
    }


def _show_hit(call: Call, found: FoundHit, given: KbSearch) -> dict[str, Json]:
    hit = found.hit
    best = hit.sections[0] if hit.sections else None
    entry = Found(found.collection, hit.record)
    row = show_row(entry)
    row["snippet"] = best.snippet if best else ""
    row["section"] = " > ".join(best.path) if best and best.path else None
    row["score"] = round(hit.score, 4)
    return _bodied(call, entry, row, given.fields) if given.include_body else selected(row, given.fields)


def whole_entry(call: Call, found: Found, document: Document) -> dict[str, Json]:
    """An entry with its body uncut, its fields and its links."""
    collections, collection, address = call.services.collections, found.collection, found.record.address
    out = linking.outgoing(collections, collection, address)
    back = linking.incoming(collections, collection, address)
    return show_entry(found, document, out, back)


def remember(call: Call, found: Found, document: Document, shown: JsonObject) -> None:
    """Note in the caller's session how much of an entry's body an answer holds."""
    body, piece = body_of(document), shown.get("body")
    if call.session is None or not isinstance(piece, str):
        return
    offset = shown.get("body_offset", 0)
    start = offset if isinstance(offset, int) else 0
    span = (start, start + len(piece), len(body))
    revision, path = revision_of(document.raw), found.record.address.path
    call.session.show_part(found.collection.name, path, revision, document.raw, span)


def _with_body(call: Call, found: Found, fields: Sequence[str] | None) -> dict[str, Json]:
    row = show_row(found)
    return _bodied(call, found, row, fields) if fields and "body" in fields else selected(row, fields)


def _bodied(call: Call, found: Found, row: dict[str, Json], fields: Sequence[str] | None) -> dict[str, Json]:
    document = found.collection.index.document(found.record.address)
    shown = selected(row | {"body": body_of(document)}, fields)
    remember(call, found, document, shown)
    return shown


def _cut(entry: dict[str, Json], offset: int, limit: int) -> dict[str, Json]:
    """The entry with at most `limit` characters of its body; a cut one says so and how to go on."""
    body = str(entry["body"])
    piece = body[offset : offset + limit]
    if piece == body:
        return entry
    return entry | {
        "body": piece,
        "body_truncated": offset + len(piece) < len(body),
        "body_length": len(body),
        "body_offset": offset,
        "body_chunk_size": len(piece),
    }


def _with_cut(fields: list[str] | None) -> list[str] | None:
    """Asking for the body is asking for what says that it was cut."""
    cut = ["body_truncated", "body_length", "body_offset", "body_chunk_size"]
    return [*fields, *cut] if fields and "body" in fields else fields


def _importance(values: JsonObject) -> int:
    value = values.get("importance")
    return value if isinstance(value, int) and not isinstance(value, bool) else DEFAULT_IMPORTANCE


def _show_event(found: Found) -> JsonObject:
    row = show_row(found)
    shown = {key: row[key] for key in ("id", "kb_name", "title", "date", "importance", "summary")}
    return {**shown, "location": found.record.frontmatter.get("location")}
