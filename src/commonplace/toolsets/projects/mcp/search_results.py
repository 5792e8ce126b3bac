"""The tool `search_knowledge` of the `projects` toolset, with answers of limited size.

Some clients read an answer twice, as structured content and as text, so the budget covers both.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import LaidOutAnswer, indented_text
from commonplace.toolsets.projects.mcp.documents import show_metadata
from commonplace.toolsets.projects.rules.search.matcher import DocumentMatch, MatchingPart
from commonplace.toolsets.projects.service import knowledge
from commonplace.toolsets.projects.service.knowledge import DEFAULT_SEARCH_LIMIT
from commonplace.toolsets.projects.service.project_store import ProjectStore

MAX_ANSWER_CHARS = 6400
"""Maximum number of characters of the results, structured and text together: about 1,600 tokens."""
CHARS_PER_HIT = 660
"""Budget in characters per requested document, if the sum for a given `limit` exceeds `MAX_ANSWER_CHARS`."""
MIN_DOCUMENTS = 5
"""Number of documents for which room is reserved if no `limit` is given; with a `limit`, room is reserved for all."""
MAX_SHOWN_CHAPTERS = 3
"""Maximum number of shown chapters per document; `match_count` counts all."""
LEVELS = 2
"""Number of indented levels of an answer's text: the answer and its results. Each result is on one line."""
MAX_EXCERPTS = 3
"""Maximum number of shown excerpts per chapter, each for another keyword."""


def search_knowledge(projects: ProjectStore, arguments: parameters.SearchKnowledge) -> LaidOutAnswer:
    """Documents that contain words of the query as substrings, best first."""
    limit = arguments.limit or DEFAULT_SEARCH_LIMIT
    answer = knowledge.search_documents(projects, arguments.project_id, arguments.query, limit)
    results = _within_budget(answer.matches, arguments.limit)
    shown: JsonObject = {
        "total_documents": answer.total_documents,
        "total_matches": answer.total_matches,
        "results": list[Json](results),
    }
    if len(results) < min(limit, answer.total_documents):
        note = f"Showing {len(results)} of {answer.total_documents} documents; pass limit={limit} for more."
        shown = {**shown, "message": note}
    return LaidOutAnswer(shown, LEVELS)


def _within_budget(matches: Sequence[DocumentMatch], limit: int | None) -> list[JsonObject]:
    """The matches. The best ones have their chapters.

    Args:
        matches: The matches, best first.
        limit: The requested number of matches; None if none was given. Without a limit, matches beyond the budget are
            omitted; with one, they are shown without chapters.
    """
    shown: list[JsonObject] = []
    left = max(MAX_ANSWER_CHARS, CHARS_PER_HIT * (limit or 0))
    without_chapters = [_size(_show_match(match, ())) for match in matches]
    for number, match in enumerate(matches):
        reserved = sum(without_chapters[number + 1 : limit or MIN_DOCUMENTS])
        row, size = _fitting(match, left - reserved, at_least_one=not shown and limit is None)
        if limit is None and size > left and shown:
            break
        shown.append(row)
        left -= size
    return shown


def _fitting(match: DocumentMatch, room: int, *, at_least_one: bool) -> tuple[JsonObject, int]:
    """A match with as many chapters as fit, and its size."""
    for count in range(min(len(match.parts), MAX_SHOWN_CHAPTERS), 0, -1):
        row = _show_match(match, match.parts[:count])
        size = _size(row)
        if size <= room or (at_least_one and count == 1):
            return row, size
    row = _show_match(match, ())
    return row, _size(row)


def _size(row: JsonObject) -> int:
    """Number of characters of a result, structured and in the text block."""
    return 2 * len(indented_text(row, 0)) + len(",\n    ,")


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
    """The first excerpt of each keyword that no earlier excerpt contains."""
    shown: dict[str, Json] = {}
    said = ""
    for keyword, excerpts in part.excerpts.items():
        if len(shown) == MAX_EXCERPTS:
            break
        if excerpts and keyword.casefold() not in said:
            shown[keyword] = [excerpts[0]]
            said += excerpts[0].casefold()
    return shown
