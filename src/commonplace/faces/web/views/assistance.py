"""Requests of the editor while a person types: completions, and the storing of pasted files."""

from __future__ import annotations

import json
from collections.abc import Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.query import Filter
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.urls import possible_addresses
from commonplace.faces.web.views.editor import intent_of, require_edits
from commonplace.services.collections import Collection
from commonplace.services.link_completion import LIMIT, frontmatter_keys, heading_names, page_candidates, wiki_name
from commonplace.services.site.documents import parsed_document
from commonplace.services.writes.attachments import attach

MAX_TYPED = 400
"""Maximum characters of the typed text."""
JSON = "application/json"


def complete(request: PageRequest) -> PageResponse:
    """The completions of a typed text as JSON: `{"options": [{"text": …, "label": …, "detail": …}]}`."""
    collection, path = request.located()
    require_edits(request, collection)
    here = next(iter(possible_addresses(path)), Address("new.md"))
    typed = request.query.get("q", "")[:MAX_TYPED]
    match request.query.get("kind", ""):
        case "page":
            rows = list(_pages(collection, here, typed))
        case "heading":
            rows = list(_headings(collection, here, request.query.get("page", "")[:MAX_TYPED], typed))
        case "tag":
            rows = [_row(tag, detail=f"{count:,}") for tag, count in collection.index.tags(Filter(), typed)]
        case "key":
            keys = frontmatter_keys(collection, request.query.get("type", "")[:MAX_TYPED])
            rows = [_row(key) for key in keys if key.startswith(typed)]
        case _:
            raise InvalidInputError("What is to be completed?", kind="argument", hint="page, heading, tag or key")
    return _json({"options": rows[:LIMIT]})


def _row(text: str, label: str = "", detail: str = "") -> dict[str, str]:
    return {"text": text, "label": label or text, "detail": detail}


def _pages(collection: Collection, here: Address, typed: str) -> Iterator[dict[str, str]]:
    for record in page_candidates(collection.index, typed, here):
        if name := wiki_name(collection.index, record, here):
            yield _row(name, record.title, record.address.path)


def _headings(collection: Collection, here: Address, page: str, typed: str) -> Iterator[dict[str, str]]:
    record = collection.index.find(page, here) if page else collection.index.record(here)
    if record is None:
        return
    try:
        document = parsed_document(collection, record.address)
    except NotFoundError:  # deleted since it was indexed
        return
    for name in heading_names(document, typed):
        yield _row(name)


def attached(request: PageRequest) -> PageResponse:
    """Store the body as an attachment of the page; the answer has its path and the Markdown that shows it."""
    collection, path = request.located()
    require_edits(request, collection)
    possible = possible_addresses(path)
    if not possible:
        raise NotFoundError("There is no such page.", kind="document")
    stored = attach(collection, possible[0], request.query.get("name", ""), request.body, intent_of(request))
    return _json({"path": stored.address.path, "markdown": stored.markdown, "created": stored.created})


def _json(value: object) -> PageResponse:
    return PageResponse(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), JSON)
