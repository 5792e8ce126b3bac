"""The searches for pages and sections, and what is read from their answers."""

from __future__ import annotations

from typing import Any

from commonplace.index.fulltext.name_coverage import NameCoverage
from commonplace.index.fulltext.term_dictionary import NameTerm
from commonplace.index.opensearch.indexes import MAX_WINDOW, stored_record
from commonplace.index.opensearch.queries import found_coverage, found_pages, found_sections, page_search
from opensearch_cluster.engines import page


def section(key: str, ordinal: int, score: float, text: str = "") -> dict[str, Any]:
    hit: dict[str, Any] = {"_score": score, "fields": {"page": [key], "ordinal": [ordinal]}}
    return {**hit, "_source": {"shown": text}} if text else hit


def test_pages_are_read_with_their_records() -> None:
    record = page("a.md", "# A\n\ntext\n").record
    source = {"page": "k", "shown": stored_record(record), "first": 1}
    hits = {"hits": [{"_score": 2.5, "_source": source}], "total": {"value": 7}}
    pages = found_pages({"hits": hits})
    assert (pages.total, pages.pages[0].score, pages.pages[0].record) == (7, 2.5, record)


def test_a_page_of_results_ends_at_the_window() -> None:
    body = page_search("i", {}, [], MAX_WINDOW + 5, 10).body
    assert (body["from"], body["size"]) == (MAX_WINDOW, 0)
    assert page_search("i", {}, [], MAX_WINDOW - 3, 10).body["size"] == 3


def test_the_best_sections_of_each_page_are_in_their_order() -> None:
    hits = [section("a", 2, 3.0), section("b", 0, 2.0), section("a", 1, 1.0)]
    assert found_sections({"hits": {"hits": hits}}, 2) == {"a": [(2, 3.0), (1, 1.0)], "b": [(0, 2.0)]}


def test_the_coverage_of_a_page_is_that_of_its_names_and_of_its_sections() -> None:
    names = [{"_score": 0.5, "fields": {"page": ["a"]}}]
    headings = [section("a", 2, 0.9), section("b", 0, 0.4)]
    covered = found_coverage({"hits": {"hits": names}}, {"hits": {"hits": headings}}, ())
    assert covered == {"a": NameCoverage(0.5, {2: 0.9}), "b": NameCoverage(0.0, {0: 0.4})}


def test_a_heading_of_words_of_the_query_alone_names_its_section() -> None:
    names = [{"_score": 0.5, "fields": {"page": ["a"]}}]
    headings = [section("a", at, 0.5 if at == 4 else 0.9) for at in range(1, 5)]
    for hit, words in zip(headings, (["vent"], ["vent", "tide"], ["vent", "deep"], ["tide"]), strict=True):
        hit["fields"]["heading_words"] = words
    terms = (NameTerm(("tide",), 0.5), NameTerm(("vents", "vent"), 0.5))
    covered = found_coverage({"hits": {"hits": names}}, {"hits": {"hits": headings}}, terms)
    assert covered["a"].named == {1, 2}, "the fourth has no word beside the title's"
