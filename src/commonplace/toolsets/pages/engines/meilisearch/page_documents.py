"""Conversion of pages, filters, sorts and hits to and from the server's format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.json import JsonObject
from commonplace.toolsets.pages.engines.meilisearch.client import items, whole_number
from commonplace.toolsets.pages.rules.matched_words import QueryWords, page_excerpt
from commonplace.toolsets.pages.rules.page import Page, PageText, as_one_line, without_title
from commonplace.toolsets.pages.rules.queries import PageFilter, Sort, TimeRange

FILTERABLE_ATTRIBUTES = (
    "space_key", "labels", "author_email", "author_name", "last_modifier_email", "created_at", "updated_at",
)  # fmt: skip
SORTABLE_ATTRIBUTES = ("created_at", "updated_at")
INDEX_SETTINGS: JsonObject = {
    "searchableAttributes": ["title", "content"],
    "filterableAttributes": list(FILTERABLE_ATTRIBUTES),
    "sortableAttributes": list(SORTABLE_ATTRIBUTES),
    "rankingRules": ["words", "typo", "proximity", "attribute", "sort", "exactness"],
    "typoTolerance": {"enabled": True, "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9}},
    # keeps totals exact
    "pagination": {"maxTotalHits": 10_000_000},
}  # fmt: skip
"""Settings of every index."""
RETRIEVED_ATTRIBUTES = (
    "id", "title", "content", "labels", "author_email", "author_name", "last_modifier_email", "created_at",
    "updated_at", "local_path", "url", "parent_title",
)  # fmt: skip
"""Attributes of a hit that a search requests."""
MAX_BATCH_BYTES = 8_000_000


def page_document(whole: PageText, space_key: str) -> JsonObject:
    """A page as a document of the index."""
    page = whole.page
    return {
        "id": page.id,
        "title": page.title,
        "content": whole.content,
        "space_key": space_key,
        "labels": list(page.labels),
        "author_email": page.author_email or None,
        "author_name": page.author_name or None,
        "last_modifier_email": page.last_modifier_email or None,
        "created_at": page.created,
        "updated_at": page.updated,
        "local_path": page.address.path,
        "url": page.url or None,
        "parent_title": page.parent_title or None,
    }


def batches(documents: Iterable[JsonObject]) -> Iterator[list[JsonObject]]:
    """The documents in batches of about `MAX_BATCH_BYTES` at most."""
    batch: list[JsonObject] = []
    size = 0
    for one in documents:
        batch.append(one)
        size += len(json.dumps(one))
        if size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def filter_of(filter_: PageFilter, space_key: str) -> list[str]:
    """A filter as expressions, all of which must match."""
    parts = [space_filter(space_key)]
    if filter_.labels:
        parts.append(f"labels IN [{', '.join(map(_quoted, filter_.labels))}]")
    if filter_.author:
        author = _quoted(filter_.author)
        parts.append(f"author_email = {author} OR author_name = {author}")
    parts += _within("created_at", filter_.created)
    parts += _within("updated_at", filter_.updated)
    return parts


def space_filter(space_key: str) -> str:
    """The filter expression that matches the pages of a space."""
    return f"space_key = {_quoted(space_key)}"


def sort_of(sort: Sort | None) -> list[str]:
    """A sort in the server's format."""
    return [] if sort is None else [f"{sort.removeprefix('-')}:{'desc' if sort.startswith('-') else 'asc'}"]


def page_from_hit(hit: JsonObject) -> Page:
    """The page of a hit. Attributes that are missing or have another type count as unknown."""
    return Page(
        address=Address(as_one_line(hit.get("local_path"))),
        id=as_one_line(hit.get("id")),
        title=as_one_line(hit.get("title")),
        labels=tuple(label for label in items(hit.get("labels")) if isinstance(label, str)),
        author_email=as_one_line(hit.get("author_email")),
        author_name=as_one_line(hit.get("author_name")),
        last_modifier_email=as_one_line(hit.get("last_modifier_email")),
        created=whole_number(hit.get("created_at")),
        updated=whole_number(hit.get("updated_at")),
        url=as_one_line(hit.get("url")),
        parent_title=as_one_line(hit.get("parent_title")),
    )


def snippet_of(hit: JsonObject, words: QueryWords, limit: int) -> str:
    """The excerpt of a hit's content around the words of the query."""
    content = hit.get("content")
    if not isinstance(content, str):
        return ""
    return page_excerpt(content, words.in_text(without_title(content)), limit)


def _within(name: str, bounds: TimeRange) -> Iterator[str]:
    if bounds.first is not None:
        yield f"{name} >= {bounds.first}"
    if bounds.before is not None:
        yield f"{name} < {bounds.before}"


def _quoted(text: str) -> str:
    """A text as a quoted value of a filter expression."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
