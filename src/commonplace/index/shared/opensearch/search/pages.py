"""The two searches of a query by words, for pages and for sections, and the parsing of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.domain.query import Record
from commonplace.index.fulltext.ranking import SECTIONS_SEEN
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.shared.opensearch.connection import Answer
from commonplace.index.shared.opensearch.documents import shown_record
from commonplace.index.shared.opensearch.layout import MAX_WINDOW
from commonplace.index.shared.opensearch.search.query_dsl import section_query
from commonplace.index.shared.opensearch.search.requests import Search


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """A page of the results."""

    key: str
    score: float
    record: Record
    first: int
    """Ordinal of the first section."""
    titled: bool = False
    """Whether the query equals the page's title or one of its aliases."""


@dataclass(frozen=True, slots=True)
class ClusterPages:
    """Pages in order."""

    pages: Sequence[ClusterPage]
    total: int


@dataclass(frozen=True, slots=True)
class FoundSections:
    """The best sections of pages."""

    best: dict[str, list[tuple[int, float]]]
    """Ordinals and scores, by page."""
    texts: Mapping[tuple[str, int], str]
    """Shown parts of the sections, by page and ordinal, if requested."""


def page_search(index: str, query: Mapping[str, Any], sort: list[dict[str, str]], offset: int, limit: int) -> Search:
    """The search for pages, with the shown part of each. Without a sort, the best pages come first."""
    body: dict[str, Any] = {
        "query": query,
        "from": min(offset, MAX_WINDOW),
        "size": max(min(limit, MAX_WINDOW - offset), 0),
        "track_total_hits": True,
        "_source": ["page", "shown", "first"],
    }
    return Search(index, {**body, "sort": sort, "track_scores": True} if sort else body)


def found_pages(answer: Answer) -> ClusterPages:
    """The pages of an answer."""
    pages = [
        ClusterPage(
            hit["_source"]["page"],
            float(hit["_score"] or 0.0),
            shown_record(hit["_source"]["shown"]),
            hit["_source"]["first"],
        )
        for hit in answer["hits"]["hits"]
    ]
    return ClusterPages(pages, int(answer["hits"]["total"]["value"]))


def section_search(
    index: str, expanded: ExpandedQuery, pages: Sequence[ClusterPage], count: int, *, shown: bool
) -> Search:
    """The search for the best sections of pages.

    Args:
        index: The index.
        expanded: The query.
        pages: The pages.
        count: Number of sections of each page.
        shown: Whether to fetch the shown parts, too, which saves another request.
    """
    keys = [page.key for page in pages]
    body: dict[str, Any] = {
        "query": section_query(expanded, keys) if keys else {"match_none": {}},
        "size": max(SECTIONS_SEEN, 8 * count * len(keys)),
        "sort": [{"_score": "desc"}, {"ordinal": "asc"}],
        "track_scores": True,
        "track_total_hits": False,
        "_source": ["shown"] if shown else False,
        "docvalue_fields": ["page", "ordinal"],
    }
    if count == 1:
        body |= {"size": len(keys), "collapse": {"field": "page"}}
        body["docvalue_fields"] = ["ordinal"]
    return Search(index, body)


def found_sections(answer: Answer, count: int) -> FoundSections:
    """The `count` best sections of each page."""
    best: dict[str, list[tuple[int, float]]] = {}
    texts: dict[tuple[str, int], str] = {}
    for hit in answer["hits"]["hits"]:
        key, ordinal = str(hit["fields"]["page"][0]), int(hit["fields"]["ordinal"][0])
        sections = best.setdefault(key, [])
        if len(sections) < count:
            sections.append((ordinal, float(hit["_score"])))
            if "_source" in hit:
                texts[key, ordinal] = hit["_source"]["shown"]
    return FoundSections(best, texts)
