"""The two searches of a query by words, for pages and for sections, and the parsing of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.domain.query import Record
from commonplace.index.fulltext.ranking import SECTIONS_EACH, SECTIONS_SEEN, Coverage
from commonplace.index.fulltext.term_dictionary import ExpandedQuery
from commonplace.index.shared.opensearch.connection import Answer
from commonplace.index.shared.opensearch.documents import shown_record
from commonplace.index.shared.opensearch.layout import MAX_WINDOW
from commonplace.index.shared.opensearch.search.query_dsl import names_query, section_query
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


def section_search(index: str, expanded: ExpandedQuery, keys: Sequence[str], count: int) -> Search:
    """The search for the best sections of pages.

    Args:
        index: The index.
        expanded: The query.
        keys: The pages.
        count: Number of sections of each page.
    """
    body: dict[str, Any] = {
        "query": section_query(expanded, keys) if keys else {"match_none": {}},
        "size": max(SECTIONS_SEEN, 8 * count * len(keys)),
        "sort": [{"_score": "desc"}, {"ordinal": "asc"}],
        "track_scores": True,
        "track_total_hits": False,
        "_source": False,
        "docvalue_fields": ["page", "ordinal"],
    }
    return Search(index, body)


def name_searches(index: str, expanded: ExpandedQuery, keys: Sequence[str]) -> list[Search]:
    """The searches for the coverage of the query by the names of pages, and by names and headings of their sections."""
    fields = {"track_total_hits": False, "_source": False, "docvalue_fields": ["page", "ordinal"]}
    return [
        Search(index, {"query": names_query(expanded, keys, of_sections=of_sections), "size": size, **fields})
        for of_sections, size in ((False, len(keys)), (True, SECTIONS_SEEN))
    ]


def found_coverage(names: Answer, headings: Answer) -> dict[str, Coverage]:
    """The coverage of pages, from the answers to `name_searches`."""
    titles = {str(hit["fields"]["page"][0]): float(hit["_score"]) for hit in names["hits"]["hits"]}
    sections: dict[str, dict[int, float]] = {}
    for hit in headings["hits"]["hits"]:
        of_page = sections.setdefault(str(hit["fields"]["page"][0]), {})
        of_page[int(hit["fields"]["ordinal"][0])] = float(hit["_score"])
    return {key: Coverage(titles.get(key, 0.0), sections.get(key, {})) for key in titles.keys() | sections.keys()}


def found_sections(answer: Answer, count: int) -> dict[str, list[tuple[int, float]]]:
    """Ordinals and scores of the best sections, by page; at least `count` of each page if so many match."""
    best: dict[str, list[tuple[int, float]]] = {}
    for hit in answer["hits"]["hits"]:
        sections = best.setdefault(str(hit["fields"]["page"][0]), [])
        if len(sections) < max(count, SECTIONS_EACH):
            sections.append((int(hit["fields"]["ordinal"][0]), float(hit["_score"])))
    return best
