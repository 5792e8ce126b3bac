"""Tools of the `pages` toolset: each calls a service and formats its result."""

from __future__ import annotations

import time
from collections.abc import Mapping

from commonplace.domain.errors import Code, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.records import iso_timestamp
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.toolsets.pages.mcp.parameters import ReadPage, SearchPages
from commonplace.toolsets.pages.rules.page import Page
from commonplace.toolsets.pages.rules.queries import PageFilter, PageHit, PageQuery, TimeFilters
from commonplace.toolsets.pages.service import PAGES_KEY

SHARED_SNIPPET_CHARS = 560
"""Number of characters for all snippets of an answer, so that ten hits, structured and as text, cost 1,700 tokens."""
_CALLERS_FAULT = {Code.INVALID, Code.TOO_LARGE}


def search(call: Call, arguments: SearchPages) -> ToolResult:
    """Pages that match a query, best first."""
    now = time.time()
    times = TimeFilters(
        created_after=arguments.created_after,
        created_before=arguments.created_before,
        updated_after=arguments.updated_after,
        updated_before=arguments.updated_before,
        created_within=arguments.created_within,
        updated_within=arguments.updated_within,
        stale=arguments.stale,
    )
    query = PageQuery(
        text=arguments.query,
        filter=PageFilter(
            labels=tuple(arguments.labels or ()),
            author=arguments.author or "",
            created=times.created(now),
            updated=times.updated(now),
        ),
        sort=arguments.sort,
        limit=arguments.limit,
        shared_snippets=SHARED_SNIPPET_CHARS,
    )
    try:
        answer = call.services.of(PAGES_KEY).search(query)
    except KnowledgeError as error:
        if error.code in _CALLERS_FAULT:
            raise
        # The contract reports every other error as a failed search.
        raise KnowledgeError(str(error)) from error
    rows = [_hit(hit) for hit in answer.hits]
    shown: JsonObject = {"results": rows, "total": answer.total, "query": arguments.query}
    if answer.notice:
        shown = {**shown, "notice": answer.notice}
    return shown


def read_page(call: Call, arguments: ReadPage) -> ToolResult:
    """One page by its path or its id."""
    if arguments.path is not None and arguments.id is None:
        whole = call.services.of(PAGES_KEY).at(arguments.path)
    elif arguments.id is not None and arguments.path is None:
        whole = call.services.of(PAGES_KEY).by_id(arguments.id)
    else:
        raise InvalidInputError("give exactly one of path and id", kind="argument")
    page = whole.page
    return {
        "id": page.id,
        "title": page.title,
        "path": page.address.path,
        "content": whole.content,
        "metadata": _about(page),
    }


def show_error(error: KnowledgeError) -> str:
    """The text of an error in one of the contract's three forms."""
    if error.code in _CALLERS_FAULT:
        return f"Invalid params: {str(error).replace('Invalid argument ', '').removesuffix('.')}"
    if error.code is Code.NOT_FOUND and error.kind == "page":
        return f"Page not found: {error}"
    return f"Search error: {error}"


def _hit(hit: PageHit) -> Mapping[str, Json]:
    page = hit.page
    return {"id": page.id, "title": page.title, "path": page.address.path, "snippet": hit.snippet, **_about(page)}


def _about(page: Page) -> Mapping[str, Json]:
    return {
        "labels": list(page.labels),
        "author": page.author or None,
        "created_at": _moment(page.created),
        "updated_at": _moment(page.updated),
        "url": page.url or None,
    }


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else iso_timestamp(seconds)
