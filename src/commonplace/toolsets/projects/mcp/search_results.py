"""The tool `search_knowledge` of the `projects` toolset, whose answers have a size that an agent can afford.

An answer is read twice by some clients, as structured content and as text, so the budget is for both together. The text
holds what a client without structured content needs to go on: which document, which chapter, and the words in them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import BriefAnswer
from commonplace.toolsets.projects.mcp.documents import show_metadata
from commonplace.toolsets.projects.rules.search.matcher import DocumentMatch, MatchingPart
from commonplace.toolsets.projects.service import knowledge
from commonplace.toolsets.projects.service.knowledge import DEFAULT_SEARCH_LIMIT
from commonplace.toolsets.projects.service.project_store import ProjectStore

MAX_ANSWER_CHARS = 6500
"""Characters of the results, structured and in the text block together: some 1,600 tokens."""
MIN_RESERVED_CHARS = 4500
"""Of these, the characters that chapters leave to documents shown without theirs."""
MAX_SHOWN_CHAPTERS = 3
"""Chapters shown of one document; `match_count` counts all."""
MAX_EXCERPTS = 3
"""Excerpts shown of one chapter, each of other keywords."""


def search_knowledge(projects: ProjectStore, arguments: parameters.SearchKnowledge) -> BriefAnswer:
    """Documents by substrings, best first."""
    limit = arguments.limit or DEFAULT_SEARCH_LIMIT
    answer = knowledge.search_documents(projects, arguments.project_id, arguments.query, limit)
    results = _within_budget(answer.matches, may_cut=arguments.limit is None)
    shown: JsonObject = {
        "total_documents": answer.total_documents,
        "total_matches": answer.total_matches,
        "results": list[Json](results),
    }
    if len(results) < min(limit, answer.total_documents):
        note = f"Showing {len(results)} of {answer.total_documents} documents; pass limit={limit} for more."
        shown = {**shown, "message": note}
    return BriefAnswer(shown, {**shown, "results": [_brief(row) for row in results]})


def _within_budget(matches: Sequence[DocumentMatch], *, may_cut: bool) -> list[JsonObject]:
    """The matches, of which the best ones have their chapters.

    Args:
        matches: Best first.
        may_cut: Whether matches beyond the budget are left out; otherwise they have no chapters.
    """
    shown: list[JsonObject] = []
    left = MAX_ANSWER_CHARS
    for match in matches:
        row, size = _fitting(match, left - MIN_RESERVED_CHARS, first=not shown)
        if may_cut and size > left and shown:
            break
        shown.append(row)
        left -= size
    return shown


def _fitting(match: DocumentMatch, room: int, *, first: bool) -> tuple[JsonObject, int]:
    """A match with as many chapters as there is room for, and its size. The first match has at least one."""
    for count in range(min(len(match.parts), MAX_SHOWN_CHAPTERS), 0, -1):
        row = _show_match(match, match.parts[:count])
        size = _size(row)
        if size <= room or (first and count == 1):
            return row, size
    row = _show_match(match, ())
    return row, _size(row)


def _size(row: JsonObject) -> int:
    """Characters of a result, structured and in the text block."""
    return len(json.dumps(row, ensure_ascii=False)) + len(json.dumps({"": [_brief(row)]}, indent=2, ensure_ascii=False))


def _brief(row: JsonObject) -> JsonObject:
    metadata = cast("JsonObject", row["metadata"])
    chapters = cast("Sequence[JsonObject]", row["matching_chapters"])
    shown: dict[str, Json] = {"file": row["file"], "match_count": row["match_count"]}
    if metadata["title"]:
        shown["metadata"] = {"title": metadata["title"]}
    if chapters:
        shown["matching_chapters"] = [{key: one[key] for key in ("chapter", "match_context")} for one in chapters]
    return shown


def _show_match(match: DocumentMatch, parts: Sequence[MatchingPart]) -> JsonObject:
    return {
        "file": match.text.filename,
        "document": match.text.filename,
        "match_count": match.matching,
        "metadata": show_metadata(match.text.metadata),
        "matching_chapters": [
            {
                "chapter": part.chapter,
                "keywords_found": list(part.keywords),
                "match_context": _first_excerpts(part),
                "chapter_summary": part.summary,
            }
            for part in parts
        ],
        "chapters": [{"title": part.chapter, "matches": len(part.keywords)} for part in parts],
    }


def _first_excerpts(part: MatchingPart) -> JsonObject:
    """The first excerpt of each keyword that no excerpt before it shows."""
    shown: dict[str, Json] = {}
    said = ""
    for keyword, excerpts in part.excerpts.items():
        if len(shown) == MAX_EXCERPTS:
            break
        if excerpts and keyword.casefold() not in said:
            shown[keyword] = [excerpts[0]]
            said += excerpts[0].casefold()
    return shown
