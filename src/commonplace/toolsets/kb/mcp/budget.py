"""Answers of the `kb` toolset within a token budget: the best sections, or a truncated entry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from commonplace.domain.json import Json
from commonplace.domain.query import Filter, SearchQuery
from commonplace.domain.similarity import SearchMode
from commonplace.faces.mcp.toolset import LinkedContent
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.evidence import (
    CHARACTERS_PER_TOKEN,
    MAX_EVIDENCE_DOCUMENTS,
    Evidence,
    EvidenceSection,
    evidence,
    fit,
    gather,
)
from commonplace.services.extensions import DEFAULT_TYPE

MAX_SEARCHED = 1_200
"""Maximum number of documents whose sections a search goes on to."""
MAX_ECHOED_QUERY = 100
"""Characters of a question that such an answer repeats."""
MAX_BODIES = 300_000
"""Bytes of UTF-8 for all bodies of one list or search. With its copy in the text block the answer stays below 1 MiB,
which clients accept as one event of a stream."""
MARGIN = 24
"""Number of characters reserved for the digits of counts."""
LISTS_SHARE = 0.4
"""Maximum share of the budget for an entry's links, 0 to 1."""
FIELDS_SHARE = 0.65
"""Maximum share of the budget for all fields besides the body; with more of them, only `_KEPT` remain."""
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
        kept = len(raw[: self.left].decode("utf-8", "ignore"))
        self.left -= min(len(raw), self.left)
        self.is_cut = self.is_cut or kept < len(body)
        return kept

    def notice(self) -> dict[str, Json]:
        """The notice of an answer in which bodies are cut; empty if none is."""
        if not self.is_cut:
            return {}
        said = f"The bodies of one answer share {MAX_BODIES:,} bytes, and some are cut (body_truncated)."
        return {"notice": f"{said} Read on with kb_get and body_offset, or take a smaller limit."}


def search_within(
    collections: Sequence[Collection], query: SearchQuery, mode: SearchMode, tokens: int, limit: int | None = None
) -> LinkedContent:
    """The best sections of the best entries with their headings, within a budget for all that the client gets.

    The text block has the sections' text, the structured content has all else about them.

    Args:
        collections: The searched collections.
        query: The query; its offset counts sections.
        mode: By words, similarity or both.
        tokens: The budget.
        limit: Maximum number of sections; None for as many as fit.
    """
    gathered, skipped, is_last = _sections_from(collections, query, mode)
    counts: dict[str, Json] = {"count": 0, "total": 0, "has_more": False, "results": []}
    notice: dict[str, Json] = {"notice": gathered.notice} if gathered.notice else {}
    head: dict[str, Json] = {"query": query.text[:MAX_ECHOED_QUERY]}
    room = CHARACTERS_PER_TOKEN * tokens - size_of(head | counts) - size_of(counts | notice) - 2 * MARGIN
    left = gathered.sections[skipped:]
    rows = fit(left[:limit], room, partial(_shown, bases=len(collections)))
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


def sections_within(found: FoundDocument, question: str, entry: dict[str, Json], tokens: int) -> LinkedContent:
    """An entry in which its best sections for a question replace the body, as `text_once` shows it."""
    address = found.record.address
    query = SearchQuery(text=question, filter=Filter(prefix=address.path))
    best = [one for one in gather([found.collection], query, "hybrid") if one.record.address == address]
    slim: dict[str, Json] = {**{key: entry[key] for key in _KEPT}, "body": None}
    no_sections: dict[str, Json] = {"sections": ()}
    room = CHARACTERS_PER_TOKEN * tokens - _size_of_answer(slim | no_sections) - MARGIN
    rows = fit(best, room - len(_MORE_SECTIONS), _section)
    shown = sum(len(str(row["text"])) for row in rows)
    every = sum(len(one.text.strip()) for one in best)
    return text_once(slim | {"sections": [*rows]} | ({"suggestion": _MORE_SECTIONS} if shown < every else {}))


def entry_within(entry: dict[str, Json], tokens: int, fields: Sequence[str] = ()) -> dict[str, Json]:
    """An entry truncated so that `text_once` needs at most `tokens`: links first, then other fields, then the body.

    A truncated body comes with the arguments that read the rest.
    """
    room = CHARACTERS_PER_TOKEN * tokens
    if _size_of_answer(entry, fields) <= room:
        return entry
    body = str(entry.get("body") or "")
    kept = _with_fewer_links(entry | {"body": ""}, int(LISTS_SHARE * room))
    offset = entry.get("body_offset", 0)
    cut: dict[str, Json] = {
        "body_truncated": True,
        "body_length": entry.get("body_length", len(body)),
        "body_offset": offset,
        "body_chunk_size": len(body),
    }
    if _size_of_answer(kept | cut, fields) > FIELDS_SHARE * room:
        kept = {key: value for key, value in kept.items() if key in _KEPT} | {"body": "", "fields_truncated": True}
    piece = body
    while piece and _size_of_answer(kept | cut | {"body": piece}, fields) > room:
        over = _size_of_answer(kept | cut | {"body": piece}, fields) - room
        piece = piece[: max(len(piece) - max(over // 2, 16), 0)]
    return kept | cut | {"body": piece, "body_chunk_size": len(piece)}


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
        rest["sections"] = [{key: value for key, value in one.items() if key != "text"}
                            for one in sections if isinstance(one, dict)]  # fmt: skip
    told = {*_TOLD, *fields}
    return {"entry": rest}, {"entry": {key: value for key, value in entry.items() if key in told}}


def _size_of_answer(entry: dict[str, Json], fields: Sequence[str] = ()) -> int:
    """Characters of both parts of `text_once`."""
    return sum(map(size_of, _divided(entry, fields)))


def size_of(value: Json) -> int:
    """Characters of the value as compact JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _with_fewer_links(entry: dict[str, Json], room: int) -> dict[str, Json]:
    """The entry with as many of its links as fit; `links_truncated` is true if some are omitted."""
    lists = {name: list(value) for name in _LISTS if isinstance(value := entry.get(name), Sequence)}
    cut = False
    while lists and sum(size_of(value) for value in lists.values()) > room:
        longest = max(lists, key=lambda name: size_of(lists[name]))
        lists[longest] = lists[longest][: len(lists[longest]) // 2]
        cut = True
    return entry | lists | ({"links_truncated": True} if cut else {})


def _shown(one: EvidenceSection, text: str, *, bases: int) -> tuple[tuple[Json, Json], int]:
    """The rows of a section in the structured content and in the text block."""
    section = " > ".join(one.path) or None
    row: dict[str, Json] = {
        "id": one.record.reference,
        "kb_name": one.collection.name,
        "entry_type": one.record.type or DEFAULT_TYPE,
        "title": one.record.title,
        "section": section,
        "file_path": one.record.address.path,
        "score": round(one.score, 4),
    }
    left_out = {"kb_name"} if bases == 1 else set[str]()
    left_out |= {"title"} if one.path[:1] == (one.record.title,) else {"section"} if section is None else set[str]()
    told = {key: row[key] for key in ("id", "kb_name", "title", "section") if key not in left_out} | {"text": text}
    return (row, told), size_of(row) + size_of(told) + 2


def _section(one: EvidenceSection, text: str) -> tuple[dict[str, Json], int]:
    row: dict[str, Json] = {"section": " > ".join(one.path) or None, "anchor": one.anchor or None}
    told = row | {"text": text}
    return told, size_of(row) + size_of(told) + 2
