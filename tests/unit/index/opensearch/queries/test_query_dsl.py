"""Queries in the engine's language say what the query and its filter say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter
from commonplace.domain.query_parser import parse_query
from commonplace.index.fulltext.document_text import RecentDocuments
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.fulltext.term_dictionary import ExpandedQuery, TermDictionary
from commonplace.index.opensearch.indexes import page_key
from commonplace.index.opensearch.queries import (
    MAX_CLAUSES,
    MAX_TERMS,
    by_score,
    filter_clauses,
    order,
    page_query,
    section_query,
)
from indexed import full_text


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> FullText:
    place: Path = tmp_path_factory.mktemp("full")
    return full_text(place, {1: "# Apple\n\napples and a pie, std::vector, café 茶葉\n", 2: "# Pear\n\npear\n"})


def expanded(full: FullText, text: str) -> ExpandedQuery:
    analyze = full.analyzer.analyze
    terms = TermDictionary(full.searchers(0).documents, RecentDocuments({}, ()), analyze)
    return terms.expand(parse_query(text, analyze))


def leaves(query: object, kind: str) -> Iterator[Any]:
    """Every clause of a kind, anywhere in a query."""
    if isinstance(query, dict):
        for key, value in query.items():
            if key == kind:
                yield value
            yield from leaves(value, kind)
    elif isinstance(query, list):
        for element in query:
            yield from leaves(element, kind)


def clauses(**filter_: Any) -> list[dict[str, Any]]:
    return list(filter_clauses(Filter(**filter_)))


def test_words_are_demanded_in_any_form_and_nothing_else_is(full: FullText) -> None:
    query = page_query(expanded(full, "apple pear"), Filter())["bool"]
    assert query["filter"] == [{"exists": {"field": "path"}}]
    assert (query["should"], query["must_not"]) == ([], [])
    (demanded,) = query["must"]
    assert demanded["bool"]["minimum_should_match"] == 1
    words = {leaf["body"]["value"] for leaf in leaves(demanded, "term") if "body" in leaf}
    assert {"apple", "apples", "pear"} <= words


def test_a_phrase_is_demanded_and_the_words_beside_it_only_rank(full: FullText) -> None:
    query = page_query(expanded(full, '"apple pie" pear'), Filter())["bool"]
    assert [leaf["body"]["query"] for leaf in leaves(query["must"], "match_phrase")] == ["apple pie"]
    assert query["should"]


def test_excluded_words_and_pages_must_not_match(full: FullText) -> None:
    query = page_query(expanded(full, "-apple"), Filter(without=(Address("x.md"),)))["bool"]
    assert query["must"] == query["should"] == []
    assert [leaf["body"]["value"] for leaf in leaves(query["must_not"], "term")] == ["apple"]
    assert {"terms": {"page": [page_key("x.md")]}} in query["must_not"]


def test_operators_filter_and_their_words_rank(full: FullText) -> None:
    query = page_query(expanded(full, "apple AND pear"), Filter())["bool"]
    (both,) = [element for element in query["filter"] if "bool" in element]
    assert len(both["bool"]["must"]) == 2
    assert query["must"]
    excluding = page_query(expanded(full, "apple NOT pear"), Filter())["bool"]["filter"][-1]["bool"]
    assert (len(excluding["must"]), len(excluding["must_not"])) == (1, 1)
    either = page_query(expanded(full, "apple OR pear"), Filter())["bool"]["filter"][-1]["bool"]
    assert either["minimum_should_match"] == 1


def test_sections_are_searched_in_fields_of_their_own(full: FullText) -> None:
    query = section_query(expanded(full, "apple 茶葉"), ["k"])
    fields = {next(iter(leaf)) for leaf in leaves(query, "term")}
    assert fields == {"section_body", "section_grams"}
    assert {"terms": {"page": ["k"]}} in query["bool"]["filter"]


def test_a_query_of_many_words_stays_within_what_the_engine_takes(full: FullText) -> None:
    query = page_query(expanded(full, " ".join(["apple", *(f"word{n}" for n in range(300))])), Filter())
    assert len(list(leaves(query, "term"))) <= MAX_CLAUSES


def test_a_folder_is_a_term_and_any_other_beginning_is_a_prefix() -> None:
    assert clauses(prefix="notes/") == [{"terms": {"filter_terms": ["in:notes/"]}}]
    assert clauses(prefix="notes/a") == [{"prefix": {"path": {"value": "notes/a", "case_insensitive": False}}}]
    assert clauses() == []


def test_a_prefix_in_any_case_matches_in_any_case() -> None:
    assert clauses(prefix="Notes/", prefix_any_case=True) == [
        {"prefix": {"path": {"value": "Notes/", "case_insensitive": True}}}
    ]


def test_days_and_moments_are_ranges_and_an_open_end_is_open() -> None:
    assert clauses(date_from="2024-02-29", date_to="2024-03-01") == [
        {"range": {"day": {"gte": 20240229, "lte": 20240301}}}
    ]
    ((created,),) = [leaves(clauses(created_from="2024-01-01"), "created_day")]
    assert created["gte"] == 20240101
    assert clauses(dates=(("updated_at", 5, None),)) == [{"range": {"updated_at": {"gte": 5}}}]
    assert clauses(dates=(("updated_at", None, None),)) == [{"exists": {"field": "updated_at"}}]


def test_a_selection_of_no_page_matches_nothing_and_one_of_many_is_split() -> None:
    assert "match_none" in json.dumps(clauses(among=()))
    many = tuple(Address(f"{n}.md") for n in range(MAX_TERMS + 1))
    (among,) = clauses(among=many)
    assert [len(element["terms"]["page"]) for element in among["bool"]["should"]] == [MAX_TERMS, 1]


def test_equal_pages_are_ordered_by_path() -> None:
    assert order("title", descending=True) == [{"sort_title": "desc"}, {"path": "asc"}]
    assert by_score(descending=True) == [{"_score": "desc"}, {"path": "asc"}]
    assert by_score(descending=False) == [{"_score": "asc"}, {"path": "desc"}]
