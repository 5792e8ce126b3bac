"""The tools of the `kb` toolset that read entries: search, get, list, by date, by link."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Filter, ListQuery, SearchQuery, SortKey
from commonplace.domain.revisions import revision_of
from commonplace.domain.snippets import HighlightTerms, snippet
from commonplace.faces.mcp.toolset import Call, LinkedContent, ResourceLink, ToolResult
from commonplace.services import links, listing, searches
from commonplace.services.collections import FoundDocument, find_document
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.searches import FoundHit
from commonplace.toolsets.kb.mcp.budget import SharedBodies, entry_within, search_within, sections_within, text_once
from commonplace.toolsets.kb.mcp.json_output import (
    DEFAULT_IMPORTANCE,
    file_uri,
    first_day,
    last_day,
    selected,
    show_entry,
    show_neighbour,
    show_row,
    slice_of,
    types_matching,
    unknown_type,
    without_empty,
)
from commonplace.toolsets.kb.mcp.parameters import (
    KbBacklinks,
    KbBatchRead,
    KbGet,
    KbListEntries,
    KbReadBody,
    KbRecent,
    KbSearch,
    KbTimeline,
)

BATCH_CHARACTERS = 32_000
"""Maximum number of characters of all bodies in one batch: about 8,000 tokens."""
SNIPPET_CHARACTERS = 70
"""Length of a snippet in characters; it is in the structured content and in the text."""
SUMMARY_CHARACTERS = 60
"""Length of a summary in characters that a hit has in the structured content."""
BRIEF_KEYS = ("id", "kb_name", "entry_type", "title", "snippet")
"""Keys of a hit in the text block of kb_search, unless their value is the default."""


def kb_search(call: Call, arguments: KbSearch) -> ToolResult:
    """Entries that match a query, best first."""
    collections = call.services.collections.select(arguments.kb_name)
    query = SearchQuery(
        text=arguments.query,
        filter=Filter(
            types=types_matching(arguments.entry_type),
            tags=tuple(arguments.tags or ()),
            date_from=first_day("date_from", arguments.date_from),
            date_to=last_day("date_to", arguments.date_to),
            fields=(("status", arguments.status),) if arguments.status else (),
        ),
        limit=arguments.limit,
        offset=arguments.offset,
        snippet=SNIPPET_CHARACTERS,
    )
    if arguments.max_tokens:
        limit = arguments.limit if "limit" in arguments.model_fields_set else None
        return search_within(collections, query, arguments.mode, arguments.max_tokens, limit)
    answer = searches.search(collections, query, arguments.mode)
    bodies = SharedBodies()
    results = [_show_hit(call, hit, arguments, bodies) for hit in answer.hits]
    more = arguments.offset + len(results) < answer.total
    shown: JsonObject = {
        "query": arguments.query,
        "count": len(results),
        "total": answer.total,
        "has_more": more,
        "results": results,
        **({} if answer.total else unknown_type(collections, arguments.entry_type)),
        **bodies.notice(),
    }
    if answer.notice:
        shown["notice"] = " ".join(str(one) for one in (answer.notice, shown.get("notice")) if one)
    found = [FoundDocument(hit.collection, hit.hit.record) for hit in answer.hits]
    whole = arguments.include_body or arguments.fields
    text = None if whole else {**shown, "results": [_brief(row, len(collections)) for row in results]}
    return LinkedContent(shown, [ResourceLink(file_uri(one), one.record.id) for one in found], text)


def kb_get(call: Call, arguments: KbGet) -> ToolResult:
    """One entry with its body."""
    found = find_document(call.services.collections, arguments.entry_id, arguments.kb_name)
    document = found.collection.index.document(found.record.address)
    entry = whole_entry(call, found, document)
    if arguments.max_tokens and arguments.query:
        return sections_within(found, arguments.query, entry, arguments.max_tokens)
    shown = selected(_cut(entry, arguments.body_offset, arguments.body_limit), _with_cut(arguments.fields))
    shown = entry_within(shown, arguments.max_tokens, arguments.fields or ()) if arguments.max_tokens else shown
    remember(call, found, document, shown)
    return text_once(shown, arguments.fields or ()) if arguments.max_tokens else {"entry": shown}


def kb_read_body(call: Call, arguments: KbReadBody) -> ToolResult:
    """A part of an entry's body."""
    found = find_document(call.services.collections, arguments.entry_id, arguments.kb_name)
    document = found.collection.index.document(found.record.address)
    piece = document.body[arguments.body_offset : arguments.body_offset + arguments.body_limit]
    shown: JsonObject = {
        "body": piece,
        "body_length": len(document.body),
        "body_offset": arguments.body_offset,
        "body_chunk_size": len(piece),
        "has_more": arguments.body_offset + len(piece) < len(document.body),
    }
    remember(call, found, document, shown)
    return shown


def kb_batch_read(call: Call, arguments: KbBatchRead) -> ToolResult:
    """Several entries; their bodies share one budget."""
    entries: list[Json] = []
    missing: list[Json] = []
    left = BATCH_CHARACTERS
    for name in arguments.entries:
        try:
            found = find_document(call.services.collections, name.entry_id, name.kb_name)
        except NotFoundError as error:
            nearest = error.context.get("nearest")
            missing.append({"entry_id": name.entry_id, "kb_name": name.kb_name, "did_you_mean": nearest or []})
            continue
        document = found.collection.index.document(found.record.address)
        entry = _cut(whole_entry(call, found, document), arguments.body_offset, min(arguments.body_limit, left))
        left -= len(str(entry["body"]))
        shown = selected(entry, _with_cut(arguments.fields))
        remember(call, found, document, shown)
        entries.append(shown)
    return {"entries": entries, "found": len(entries), "not_found": missing}


def kb_list_entries(call: Call, arguments: KbListEntries) -> ToolResult:
    """A page of the list of entries."""
    sorts: dict[str, SortKey] = {"updated_at": "updated", "created_at": "created", "entry_type": "type"}
    query = ListQuery(
        filter=Filter(types=types_matching(arguments.entry_type), tags=(arguments.tag,) if arguments.tag else ()),
        sort=sorts.get(arguments.sort_by, "title"),
        descending=arguments.sort_order == "desc",
        offset=arguments.offset,
        limit=arguments.limit,
    )
    collections = call.services.collections.select(arguments.kb_name)
    page = listing.list_documents(collections, query)
    bodies = SharedBodies()
    return {
        "entries": [_with_body(call, found, arguments.fields, bodies) for found in page.found],
        "total": page.total,
        "limit": arguments.limit,
        "offset": arguments.offset,
        "has_more": arguments.offset + len(page.found) < page.total,
        **({} if page.total else unknown_type(collections, arguments.entry_type)),
        **bodies.notice(),
    }


def kb_recent(call: Call, arguments: KbRecent) -> ToolResult:
    """Entries by last change, newest first."""
    query = ListQuery(
        filter=Filter(types=types_matching(arguments.entry_type), updated_from=first_day("since", arguments.since)),
        sort="updated",
        descending=True,
        limit=arguments.limit,
    )
    collections = call.services.collections.select(arguments.kb_name)
    page = listing.list_documents(collections, query)
    bodies = SharedBodies()
    return {
        "entries": [_with_body(call, found, arguments.fields, bodies) for found in page.found],
        "count": len(page.found),
        **({} if page.total else unknown_type(collections, arguments.entry_type)),
        **bodies.notice(),
    }


def kb_timeline(call: Call, arguments: KbTimeline) -> ToolResult:
    """Dated entries, sorted by date."""
    query = ListQuery(
        filter=Filter(
            date_from=first_day("date_from", arguments.date_from) or "0000-01-01",
            date_to=last_day("date_to", arguments.date_to),
        ),
        sort="date",
    )
    found = [
        FoundDocument(collection, record)
        for collection in call.services.collections
        for record in listing.every_document(collection, query)
        if _importance(record.frontmatter) >= arguments.min_importance
    ]
    ordered = listing.in_order(found, lambda one: one.record, "date")
    page, more = slice_of(ordered, arguments.offset, arguments.limit)
    return {"count": len(page), "has_more": more, "events": [_show_event(one) for one in page]}


def kb_backlinks(call: Call, arguments: KbBacklinks) -> ToolResult:
    """Entries that link to an entry."""
    collections = call.services.collections
    found = find_document(collections, arguments.entry_id, arguments.kb_name)
    back = links.distinct(links.incoming(collections, found.collection, found.record.address))
    page, more = slice_of(back, arguments.offset, arguments.limit)
    return {
        "entry_id": found.record.reference,
        "backlink_count": len(back),
        "has_more": more,
        "backlinks": [show_neighbour(neighbour, is_incoming=True) for neighbour in page],
    }


def _show_hit(call: Call, found: FoundHit, arguments: KbSearch, bodies: SharedBodies) -> dict[str, Json]:
    hit = found.hit
    best = hit.sections[0] if hit.sections else None
    entry = FoundDocument(found.collection, hit.record)
    row = show_row(entry)
    row["snippet"] = best.snippet if best else ""
    row["score"] = round(hit.score, 2)
    if "section" in (arguments.fields or ()):
        row["section"] = " > ".join(best.path) if best and best.path else None
    if arguments.include_body:
        return without_empty(_bodied(call, entry, row, arguments.fields, bodies), ["body", *(arguments.fields or ())])
    return without_empty(selected(row if arguments.fields else _short(row), arguments.fields), arguments.fields)


def _short(row: dict[str, Json]) -> dict[str, Json]:
    """A hit without what only a reader of the entry needs: `fields` or `kb_get` has that."""
    summary = row["summary"]
    shown = row | {
        "summary": snippet(summary, HighlightTerms({}), SUMMARY_CHARACTERS) if isinstance(summary, str) else None
    }
    left_out = {"metadata"} | ({"importance"} if row["importance"] == DEFAULT_IMPORTANCE else set[str]())
    return {key: value for key, value in shown.items() if key not in left_out}


def _brief(row: JsonObject, bases: int) -> JsonObject:
    """The parts of a hit that clients without structured content need to judge and read it."""
    left_out = {"entry_type"} if row.get("entry_type") == DEFAULT_TYPE else set[str]()
    left_out |= {"kb_name"} if bases == 1 else set[str]()
    return {key: row[key] for key in BRIEF_KEYS if key in row and key not in left_out}


def whole_entry(call: Call, found: FoundDocument, document: Document) -> dict[str, Json]:
    """An entry with its body uncut, its fields and its links."""
    collections, collection, address = call.services.collections, found.collection, found.record.address
    out = links.outgoing(collections, collection, address)
    back = links.incoming(collections, collection, address)
    return show_entry(found, document, out, back)


def remember(call: Call, found: FoundDocument, document: Document, shown: JsonObject) -> None:
    """Record in the caller's session how much of an entry's body an answer contains."""
    body, piece = document.body, shown.get("body")
    if call.session is None or not isinstance(piece, str):
        return
    offset = shown.get("body_offset", 0)
    start = offset if isinstance(offset, int) else 0
    span = (start, start + len(piece), len(body))
    revision, path = revision_of(document.raw), found.record.address.path
    call.session.show_part(found.collection.name, path, revision, document.raw, span)


def _with_body(call: Call, found: FoundDocument, fields: Sequence[str] | None, bodies: SharedBodies) -> dict[str, Json]:
    row = show_row(found)
    return _bodied(call, found, row, fields, bodies) if fields and "body" in fields else selected(row, fields)


def _bodied(
    call: Call, found: FoundDocument, row: dict[str, Json], fields: Sequence[str] | None, bodies: SharedBodies
) -> dict[str, Json]:
    if fields and "body" not in fields:
        return selected(row, fields)
    document = found.collection.index.document(found.record.address)
    kept = _cut(row | {"body": document.body}, 0, bodies.characters_of(document.body))
    shown = selected(kept, _with_cut(fields))
    remember(call, found, document, shown)
    return shown


def _cut(entry: dict[str, Json], offset: int, limit: int) -> dict[str, Json]:
    """The entry with at most `limit` characters of its body.

    A truncated body comes with the arguments that read the rest.
    """
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


def _with_cut(fields: Sequence[str] | None) -> Sequence[str] | None:
    """Asking for the body is asking for what says that it was cut."""
    cut = ["body_truncated", "body_length", "body_offset", "body_chunk_size"]
    return [*fields, *cut] if fields and "body" in fields else fields


def _importance(values: JsonObject) -> int:
    value = values.get("importance")
    return value if isinstance(value, int) and not isinstance(value, bool) else DEFAULT_IMPORTANCE


def _show_event(found: FoundDocument) -> JsonObject:
    row = show_row(found)
    shown = {key: row[key] for key in ("id", "kb_name", "title", "date", "importance", "summary")}
    return {**shown, "location": found.record.frontmatter.get("location")}
