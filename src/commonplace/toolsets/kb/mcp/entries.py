"""Answers of the `kb` toolset within a token budget: the best sections, or a truncated entry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from commonplace.domain.documents import Document
from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.query import Filter, ListQuery, SearchMode, SearchQuery, SortKey
from commonplace.domain.revisions import revision_of
from commonplace.domain.snippets import HighlightTerms, snippet
from commonplace.domain.status import marked
from commonplace.domain.tokens import QUARTERS, beginning
from commonplace.domain.tokens import size_of as size_of_text
from commonplace.faces.mcp.toolset import Call, LinkedContent, ResourceLink, ToolResult
from commonplace.services import links, listing, searches
from commonplace.services.collections import Collection, FoundDocument, find_document
from commonplace.services.evidence import (
    MAX_EVIDENCE_DOCUMENTS,
    Evidence,
    EvidenceSection,
    evidence,
    fit,
    gather,
)
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.searches import FoundHit
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
    unknown_fields,
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

MAX_SEARCHED = 1_200
"""Maximum number of documents whose sections a search goes on to."""
MAX_ECHOED_QUERY = 100
"""Quarters of a token of a question that such an answer repeats."""
MAX_BODIES = 300_000
"""Bytes of UTF-8 for all bodies of one list or search. With its copy in the text block the answer stays below 1 MiB,
which clients accept as one event of a stream."""
MARGIN = 24
"""Quarters of a token reserved for the digits of counts."""
MAX_LINKS = 5_000
"""Maximum number of links of one entry that are followed for an answer, the first ones."""
LISTS_SHARE = 0.4
"""Maximum share of the budget for an entry's links, 0 to 1."""
FIELDS_SHARE = 0.65
"""Maximum share of the budget for all fields besides the body; with more of them, only `_KEPT` remain."""
WARNINGS_SHARE = 0.2
"""Maximum share of the budget for warnings about unknown fields, which are in both parts of an answer."""
_LISTS = ("backlinks", "outlinks", "links", "sources")
_KEPT = ("id", "kb_name", "entry_type", "title", "revision", "file_path")
"""Fields that are returned even if an entry's fields alone exceed the budget."""
_BODY = ("body", "body_truncated", "body_length", "body_offset", "body_chunk_size", "suggestion")
"""Fields of an entry that are in the text block alone."""
_TOLD = ("id", "title", "revision", "sections", *_BODY)
"""Fields of an entry in the text block, for clients without structured content."""
_MORE_SECTIONS = "Text is left out: give a larger max_tokens, or read the body with body_offset and without query."


@dataclass(slots=True)
class SharedBodies:
    """The bodies of one answer, which share `MAX_BODIES`."""

    left: int = MAX_BODIES
    """Bytes for the bodies to come."""
    is_cut: bool = False
    """Whether a body was cut."""

    def characters_of(self, body: str) -> int:
        """Maximum number of characters of the next body; reduces the rest for the bodies after it."""
        raw = body.encode("utf-8", "replace")
        count = len(raw[: self.left].decode("utf-8", "ignore"))
        self.left -= min(len(raw), self.left)
        self.is_cut = self.is_cut or count < len(body)
        return count

    def notice(self, other: str = "") -> dict[str, Json]:
        """The notice of an answer in which bodies are cut, after another notice; empty if there is neither."""
        cut = (
            f"The bodies of one answer share {MAX_BODIES:,} bytes, and some are cut (body_truncated). "
            "Read on with kb_get and body_offset, or take a smaller limit."
        )
        notice = " ".join(filter(None, (other, cut if self.is_cut else "")))
        return {"notice": notice} if notice else {}


def search_within(
    collections: Sequence[Collection], query: SearchQuery, arguments: KbSearch, tokens: int
) -> LinkedContent:
    """The best sections of the best entries with their headings, within a budget for all that the client gets.

    The text block has the sections' text and the fields that the caller names, the structured content has all else.

    Args:
        collections: The searched collections.
        query: The query; its offset counts sections.
        arguments: The arguments of the call. Their limit counts sections; without one as many are shown as fit.
        tokens: The budget.
    """
    gathered, skipped, is_last = _sections_from(collections, query, arguments.mode)
    limit = arguments.limit if "limit" in arguments.model_fields_set else None
    counts: dict[str, Json] = {"count": 0, "total": 0, "has_more": False, "results": []}
    notice: dict[str, Json] = {"notice": gathered.notice} if gathered.notice else {}
    warnings = _field_warnings(collections, arguments.fields)
    if size_of(warnings) > WARNINGS_SHARE * QUARTERS * tokens:
        warnings = {}
    head: dict[str, Json] = {"query": beginning(query.text, MAX_ECHOED_QUERY), **warnings}
    notice |= warnings
    room = QUARTERS * tokens - size_of(head | counts) - size_of(counts | notice) - 2 * MARGIN
    left = gathered.sections[skipped:]
    rows = fit(left[:limit], room, partial(_shown, bases=len(collections), fields=arguments.fields))
    more = len(rows) < len(left) or not is_last
    counts |= {"count": len(rows), "total": gathered.total, "has_more": more}
    if more and not rows:
        notice["suggestion"] = "No section fits into max_tokens: give a larger one."
    structured = head | counts | {"results": [row for row, _ in rows]}
    return LinkedContent(structured, (), counts | {"results": [row for _, row in rows]} | notice)


def _sections_from(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode
) -> tuple[Evidence, int, bool]:
    """The sections of the documents among which the query's offset is.

    Returns:
        These sections, the number of them before the offset, and whether they are of the last documents.
    """
    skipped, window = query.offset, 0
    while True:
        gathered = evidence(collections, query, mode, offset=window)
        window += MAX_EVIDENCE_DOCUMENTS
        is_last = window >= min(gathered.total, MAX_SEARCHED)
        if skipped < len(gathered.sections) or is_last:
            return gathered, skipped, is_last
        skipped -= len(gathered.sections)


def sections_within(document: FoundDocument, question: str, entry: dict[str, Json], tokens: int) -> LinkedContent:
    """An entry in which its best sections for a question replace the body, as `text_once` shows it."""
    address = document.record.address
    query = SearchQuery(text=question, filter=Filter(prefix=address.path))
    best = [section for section in gather([document.collection], query, "hybrid") if section.record.address == address]
    slim: dict[str, Json] = {**{key: entry[key] for key in _KEPT}, "body": None}
    no_sections: dict[str, Json] = {"sections": ()}
    room = QUARTERS * tokens - _size_of_answer(slim | no_sections) - MARGIN
    rows = fit(best, room - len(_MORE_SECTIONS), _section)
    shown = sum(len(str(row["text"])) for row in rows)
    every = sum(len(section.text.strip()) for section in best)
    return text_once(slim | {"sections": [*rows]} | ({"suggestion": _MORE_SECTIONS} if shown < every else {}))


def entry_within(entry: dict[str, Json], tokens: int, fields: Sequence[str] = ()) -> dict[str, Json]:
    """An entry truncated so that `text_once` needs at most `tokens`: links first, then other fields, then the body.

    A truncated body comes with the arguments that read the rest.
    """
    room = QUARTERS * tokens
    if _size_of_answer(entry, fields) <= room:
        return entry
    body = str(entry.get("body") or "")
    values = _with_fewer_links(entry | {"body": ""}, int(LISTS_SHARE * room))
    offset = entry.get("body_offset", 0)
    cut: dict[str, Json] = {
        "body_truncated": True,
        "body_length": entry.get("body_length", len(body)),
        "body_offset": offset,
        "body_chunk_size": len(body),
    }
    if _size_of_answer(values | cut, fields) > FIELDS_SHARE * room:
        values = {key: value for key, value in values.items() if key in _KEPT} | {"body": "", "fields_truncated": True}
    piece = body
    while piece and _size_of_answer(values | cut | {"body": piece}, fields) > room:
        over = _size_of_answer(values | cut | {"body": piece}, fields) - room
        least = min(len(piece), max(over * len(piece) // (2 * size_of_text(piece)), 16))
        piece = piece[: len(piece) - least]
    return values | cut | {"body": piece, "body_chunk_size": len(piece)}


def text_once(entry: dict[str, Json], fields: Sequence[str] = ()) -> LinkedContent:
    """An entry with its text in the text block, and all else in the structured content.

    Args:
        entry: The entry.
        fields: Further fields for the text block.
    """
    structured, text = _divided(entry, fields)
    return LinkedContent(structured, (), text)


def _divided(entry: dict[str, Json], fields: Sequence[str] = ()) -> tuple[dict[str, Json], dict[str, Json]]:
    """The structured content and the text block."""
    rest = {key: value for key, value in entry.items() if key not in _BODY}
    sections = entry.get("sections")
    if isinstance(sections, list):
        rest["sections"] = [{key: value for key, value in section.items() if key != "text"}
                            for section in sections if isinstance(section, dict)]  # fmt: skip
    reported_fields = {*_TOLD, *fields}
    return {"entry": rest}, {"entry": {key: value for key, value in entry.items() if key in reported_fields}}


def _size_of_answer(entry: dict[str, Json], fields: Sequence[str] = ()) -> int:
    """Quarters of a token of both parts of `text_once`."""
    return sum(map(size_of, _divided(entry, fields)))


def size_of(value: Json) -> int:
    """Quarters of a token of the value as compact JSON."""
    return size_of_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _with_fewer_links(entry: dict[str, Json], room: int) -> dict[str, Json]:
    """The entry with as many of its links as fit; `links_truncated` is true if some are omitted."""
    lists = {name: list(value) for name in _LISTS if isinstance(value := entry.get(name), Sequence)}
    cut = False
    while lists and sum(size_of(value) for value in lists.values()) > room:
        longest = max(lists, key=lambda name: size_of(lists[name]))
        lists[longest] = lists[longest][: len(lists[longest]) // 2]
        cut = True
    return entry | lists | ({"links_truncated": True} if cut else {})


def _shown(
    evidence_section: EvidenceSection, text: str, *, bases: int, fields: Sequence[str] | None
) -> tuple[tuple[Json, Json], int]:
    """The rows of a section in the structured content and in the text block."""
    record = evidence_section.record
    section = " > ".join(evidence_section.path) or None
    more = show_row(FoundDocument(evidence_section.collection, record)) if fields else {}
    row: dict[str, Json] = more | {
        "id": record.reference,
        "kb_name": evidence_section.collection.name,
        "entry_type": record.type or DEFAULT_TYPE,
        "title": record.title,
        "section": section,
        "file_path": record.address.path,
        "score": round(evidence_section.score, 4),
    }
    says_something = {
        "id": True,
        "kb_name": bases > 1,
        "title": evidence_section.path[:1] != (record.title,),  # otherwise the section begins with it
        "section": section is not None,
    }
    reported_row = {key: row[key] for key, is_shown in says_something.items() if is_shown}
    reported_row["text"] = marked(text, evidence_section.status)
    if fields:
        row = {key: value for key, value in reported_row.items() if key != "text"} | without_empty(
            selected(row, fields), fields
        )
        reported_row = row | reported_row
    return (row, reported_row), size_of(row) + size_of(reported_row) + 2


def _section(section: EvidenceSection, text: str) -> tuple[dict[str, Json], int]:
    row: dict[str, Json] = {"section": " > ".join(section.path) or None, "anchor": section.anchor or None}
    reported_row = row | {"text": marked(text, section.status)}
    return reported_row, size_of(row) + size_of(reported_row) + 2


# The tools of the `kb` toolset that read entries: search, get, list, by date, by link.


BATCH_TOKENS = 8_000
"""Maximum size of all bodies in one batch."""
SNIPPET_CHARACTERS = 64
"""Length of a snippet in characters; it is in the structured content and in the text."""
SUMMARY_CHARACTERS = 60
"""Length of a summary in characters that a hit has in the structured content."""
METADATA_SIZE = 160
"""Maximum size in quarters of a token of the JSON of `metadata` in a hit; longer ones need `fields`."""
BRIEF_KEYS = ("id", "kb_name", "entry_type", "title", "snippet")
"""Keys of a hit in the text block of kb_search, unless their value is the default."""


def kb_search(call: Call, arguments: KbSearch) -> ToolResult:
    """Entries that match a query, best first."""
    collections = call.services.collections.select(arguments.kb_name)
    query = _search_query(arguments)
    if arguments.max_tokens:
        return search_within(collections, query, arguments, arguments.max_tokens)
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
        **bodies.notice(answer.notice),
        **_field_warnings(collections, arguments.fields),
    }
    files = [
        ResourceLink(file_uri(FoundDocument(hit.collection, hit.hit.record)), hit.hit.record.id) for hit in answer.hits
    ]
    whole = arguments.include_body or arguments.fields
    text = None if whole else {**shown, "results": [_brief(row, len(collections)) for row in results]}
    return LinkedContent(shown, files, text)


def _search_query(arguments: KbSearch) -> SearchQuery:
    return SearchQuery(
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


def kb_get(call: Call, arguments: KbGet) -> ToolResult:
    """One entry with its body."""
    found_document = find_document(call.services.collections, arguments.entry_id, arguments.kb_name)
    document = found_document.collection.index.document(found_document.record.address)
    entry = whole_entry(call, found_document, document)
    if arguments.max_tokens and arguments.query:
        return sections_within(found_document, arguments.query, entry, arguments.max_tokens)
    shown = selected(_cut(entry, arguments.body_offset, arguments.body_limit), _with_cut(arguments.fields))
    shown = entry_within(shown, arguments.max_tokens, arguments.fields or ()) if arguments.max_tokens else shown
    remember(call, found_document, document, shown)
    warned = _field_warnings([found_document.collection], arguments.fields)
    if not arguments.max_tokens:
        return {"entry": shown, **warned}
    return text_once({**shown, **warned}, (*(arguments.fields or ()), *warned))


def kb_read_body(call: Call, arguments: KbReadBody) -> ToolResult:
    """A part of an entry's body."""
    found_document = find_document(call.services.collections, arguments.entry_id, arguments.kb_name)
    document = found_document.collection.index.document(found_document.record.address)
    piece = document.body[arguments.body_offset : arguments.body_offset + arguments.body_limit]
    shown: JsonObject = {
        "body": piece,
        "body_length": len(document.body),
        "body_offset": arguments.body_offset,
        "body_chunk_size": len(piece),
        "has_more": arguments.body_offset + len(piece) < len(document.body),
    }
    remember(call, found_document, document, shown)
    return shown


def kb_batch_read(call: Call, arguments: KbBatchRead) -> ToolResult:
    """Several entries; their bodies share one budget."""
    entries: list[Json] = []
    missing: list[Json] = []
    left = BATCH_TOKENS * QUARTERS
    for name in arguments.entries:
        try:
            candidate = find_document(call.services.collections, name.entry_id, name.kb_name)
        except NotFoundError as error:
            nearest = error.context.get("nearest")
            missing.append({"entry_id": name.entry_id, "kb_name": name.kb_name, "did_you_mean": nearest or []})
            continue
        document = candidate.collection.index.document(candidate.record.address)
        room = len(beginning(document.body[arguments.body_offset :], left))
        entry = _cut(whole_entry(call, candidate, document), arguments.body_offset, min(arguments.body_limit, room))
        left -= size_of_text(str(entry["body"]))
        shown = selected(entry, _with_cut(arguments.fields))
        remember(call, candidate, document, shown)
        entries.append(shown)
    warned = _field_warnings(call.services.collections.members, arguments.fields)
    return {"entries": entries, "found": len(entries), "not_found": missing, **warned}


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
        "entries": [_with_body(call, document, arguments.fields, bodies) for document in page.found],
        "total": page.total,
        "limit": arguments.limit,
        "offset": arguments.offset,
        "has_more": arguments.offset + len(page.found) < page.total,
        **({} if page.total else unknown_type(collections, arguments.entry_type)),
        **bodies.notice(),
        **_field_warnings(collections, arguments.fields),
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
        "entries": [_with_body(call, document, arguments.fields, bodies) for document in page.found],
        "count": len(page.found),
        **({} if page.total else unknown_type(collections, arguments.entry_type)),
        **bodies.notice(),
        **_field_warnings(collections, arguments.fields),
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
    documents = [
        FoundDocument(collection, record)
        for collection in call.services.collections
        for record in listing.every_document(collection, query)
        if _importance(record.frontmatter) >= arguments.min_importance
    ]
    ordered = listing.in_order(documents, lambda document: document.record, "date")
    page, more = slice_of(ordered, arguments.offset, arguments.limit)
    return {"count": len(page), "has_more": more, "events": [_show_event(document) for document in page]}


def kb_backlinks(call: Call, arguments: KbBacklinks) -> ToolResult:
    """Entries that link to an entry, one row for each relation; the count is that of the entries."""
    collections = call.services.collections
    document = find_document(collections, arguments.entry_id, arguments.kb_name)
    back = links.distinct(links.incoming(collections, document.collection, document.record.address))
    page, more = slice_of(back, arguments.offset, arguments.limit)
    return {
        "entry_id": document.record.reference,
        "backlink_count": len(
            {(document.found.collection.name, document.found.record.address) for document in back if document.found}
        ),
        "has_more": more,
        "backlinks": [show_neighbour(neighbour, is_incoming=True) for neighbour in page],
    }


def _show_hit(call: Call, found_hit: FoundHit, arguments: KbSearch, bodies: SharedBodies) -> dict[str, Json]:
    hit = found_hit.hit
    best = hit.sections[0] if hit.sections else None
    entry = FoundDocument(found_hit.collection, hit.record)
    row = show_row(entry)
    row["snippet"] = marked(best.snippet if best else "", hit.status)
    row["score"] = round(hit.score, 2)
    if "section" in (arguments.fields or ()):
        row["section"] = " > ".join(best.path) if best and best.path else None
    if arguments.include_body:
        return without_empty(_bodied(call, entry, row, arguments.fields, bodies), ["body", *(arguments.fields or ())])
    return without_empty(selected(row if arguments.fields else _short(row), arguments.fields), arguments.fields)


def _field_warnings(collections: Sequence[Collection], fields: Sequence[str] | None) -> dict[str, Json]:
    """The warnings about unknown names in `fields`; {} if there are none."""
    warnings = unknown_fields(collections, fields)
    return {"warnings": warnings} if warnings else {}


def _short(row: dict[str, Json]) -> dict[str, Json]:
    """A hit without long values: `fields` or `kb_get` has these."""
    summary = row["summary"]
    shown = row | {
        "summary": snippet(summary, HighlightTerms({}), SUMMARY_CHARACTERS) if isinstance(summary, str) else None
    }
    return {key: value for key, value in shown.items() if key != "metadata" or size_of(value) <= METADATA_SIZE}


def _brief(row: JsonObject, bases: int) -> JsonObject:
    """The parts of a hit that clients without structured content need to judge and read it."""
    left_out = {"entry_type"} if row.get("entry_type") == DEFAULT_TYPE else set[str]()
    left_out |= {"kb_name"} if bases == 1 else set[str]()
    return {key: row[key] for key in BRIEF_KEYS if key in row and key not in left_out}


def whole_entry(call: Call, candidate: FoundDocument, document: Document) -> dict[str, Json]:
    """An entry with its body uncut, its fields and its links."""
    collections, collection, address = call.services.collections, candidate.collection, candidate.record.address
    out = links.outgoing(collections, collection, address, MAX_LINKS + 1)
    back = links.distinct(links.incoming(collections, collection, address))
    entry = show_entry(candidate, document, out[:MAX_LINKS], back)
    return entry | ({"links_truncated": True} if len(out) > MAX_LINKS else {})


def remember(call: Call, found_document: FoundDocument, document: Document, shown: JsonObject) -> None:
    """Record in the caller's session how much of an entry's body an answer contains."""
    body, piece = document.body, shown.get("body")
    if call.session is None or not isinstance(piece, str):
        return
    offset = shown.get("body_offset", 0)
    start = offset if isinstance(offset, int) else 0
    span = (start, start + len(piece), len(body))
    revision, path = revision_of(document.raw), found_document.record.address.path
    call.session.show_part(found_document.collection.name, path, revision, document.raw, span)


def _with_body(
    call: Call, document: FoundDocument, fields: Sequence[str] | None, bodies: SharedBodies
) -> dict[str, Json]:
    row = show_row(document)
    return _bodied(call, document, row, fields, bodies) if fields and "body" in fields else selected(row, fields)


def _bodied(
    call: Call, found_document: FoundDocument, row: dict[str, Json], fields: Sequence[str] | None, bodies: SharedBodies
) -> dict[str, Json]:
    if fields and "body" not in fields:
        return selected(row, fields)
    document = found_document.collection.index.document(found_document.record.address)
    kept_values = _cut(row | {"body": document.body}, 0, bodies.characters_of(document.body))
    shown = selected(kept_values, _with_cut(fields))
    remember(call, found_document, document, shown)
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


def _show_event(document: FoundDocument) -> JsonObject:
    row = show_row(document)
    shown = {key: row[key] for key in ("id", "kb_name", "title", "date", "importance", "summary")}
    return {**shown, "location": document.record.frontmatter.get("location")}
