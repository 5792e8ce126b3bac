"""Excerpts of pages in search results."""

from __future__ import annotations

from commonplace.domain.snippets import MAX_SOURCE_CHARS, HighlightTerms, matching_snippet, snippet
from commonplace.toolsets.pages.rules.page import without_title
from commonplace.toolsets.pages.rules.queries import SNIPPET_CHARS

NO_HIGHLIGHT = HighlightTerms({})
ELLIPSIS = "..."


def page_excerpt(content: str, wanted: HighlightTerms, limit: int = SNIPPET_CHARS) -> str:
    """Plain text around a matching word in the body; the beginning of the body if no word matches.

    Args:
        content: A page's Markdown, with or without its title line, which is not searched.
        wanted: The terms of the search.
        limit: Maximum number of characters, including `...` at a truncated end.
    """
    body = without_title(content).strip()
    room = limit - 2 * (len(ELLIPSIS) - 1)  # The snippet already marks each truncated end with one character.
    # The windows overlap, so that no word is split.
    for start in range(0, max(len(body), 1), MAX_SOURCE_CHARS - limit):
        found = matching_snippet(body[start : start + MAX_SOURCE_CHARS], wanted, room)
        if found:
            return _marked(found, limit, more_before=start > 0)
    return _marked(snippet(body, NO_HIGHLIGHT, room), limit, more_before=False)


def _marked(text: str, limit: int, *, more_before: bool) -> str:
    begins, ends = text.startswith("…"), text.endswith("…")
    bare = text[1 if begins else 0 : len(text) - 1 if ends and len(text) > 1 else len(text)]
    return f"{ELLIPSIS if begins or more_before else ''}{bare}{ELLIPSIS if ends else ''}"[:limit]
