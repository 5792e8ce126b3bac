"""Searches for concepts that no index contains."""

from __future__ import annotations

import pytest

from commonplace.toolsets.cascade.rules.concept_terms import (
    SNIPPET_CHARS,
    ConceptQuery,
    ConceptTerms,
    TermIndex,
    best_snippet,
    first_text,
    terms_of,
)
from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.values import ConceptSection


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("Café, CAFÉ; cafe\u0301!", ["cafe", "cafe", "cafe"]),
        ("snake_case a-b", ["snake", "case", "a", "b"]),
        ("\uff21\uff22 \uff11\uff12", ["ab", "12"]),
        ("Straße", ["strasse"]),
        ("😀 \0", []),
    ],
)
def test_words_are_compared_without_case_width_and_accents(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("restore", "How to restore it", True),
        ("restoring", "It was restored.", True),
        ("restore", "a store", False),
        ("cat", "concatenate", False),
        ("Café", "the CAFE", True),
        ("茶道", "日本の茶道です", True),
        ("茶道", "茶の道", False),
        ("the", "the", True),
        ("", "anything", False),
        ("c++", "C++ templates", True),
        ("c#", "in C# now", True),
        ("***", "a *** b", False),
    ],
)
def test_a_text_matches_if_a_word_or_another_form_of_it_occurs(query: str, text: str, expected: bool) -> None:
    assert ConceptQuery.of(query).matches(text) is expected


def test_a_title_counts_more_than_an_alias_and_that_more_than_a_description() -> None:
    query = ConceptQuery.of("attrition")
    names = [
        ConceptTerms.from_frontmatter("x", {"title": "Attrition"}),
        ConceptTerms.from_frontmatter("x", {"title": "T", "aliases": ["attrition"]}),
        ConceptTerms.from_frontmatter("x", {"title": "T", "description": "On attrition"}),
        ConceptTerms.from_frontmatter("x", {"tags": ["other"]}),
    ]
    assert [query.score(one) for one in names] == [3.0, 2.0, 1.0, 0.0]
    assert ConceptQuery.of("attrition war").score(names[0]) == 1.5
    assert ConceptQuery.of("").score(names[0]) == 0.0


def test_odd_frontmatter_has_no_terms_and_no_failure() -> None:
    names = ConceptTerms.from_frontmatter("id", {"title": ["a"], "tags": {"b": 1}, "aliases": 5, "description": None})
    assert ConceptQuery.of("id").score(names) == 3.0


def section(text: str, heading: str | None = None) -> ConceptSection:
    return ConceptSection("k", heading, text)


def test_the_snippet_comes_from_the_section_with_most_terms() -> None:
    query = ConceptQuery.of("green tea")
    sections = [section("tea alone"), section("Green tea, hot."), section("green green")]
    assert best_snippet(sections, query) == "Green tea, hot."
    assert best_snippet([section("coffee")], query) is None
    assert best_snippet([], query) is None
    assert best_snippet([section("leaves only", "## Tea")], query) == "leaves only"


def test_a_snippet_is_short_and_contains_the_match() -> None:
    found = best_snippet([section("filler " * 500 + "quokka " + "filler " * 500)], ConceptQuery.of("quokka"))
    assert found is not None
    assert "quokka" in found
    assert len(found) < SNIPPET_CHARS * 2
    assert len(first_text([section(""), section("word " * 1_000)])) < SNIPPET_CHARS * 2
    assert first_text([]) == ""


def test_a_suppressed_section_is_never_shown() -> None:
    hidden = ConceptSection("k", "## K", "quokka", override="none")
    assert best_snippet([hidden], ConceptQuery.of("quokka")) is None
    assert first_text([hidden]) == ""


def test_concepts_are_ranked_by_their_words_with_titles_first() -> None:
    texts = {
        "tea": "---\ntitle: Green tea\n---\nA drink.\n",
        "drinks": "---\ntitle: Drinks\n---\nTea and coffee, and more on drinks of the world.\n",
        "other": "---\ntitle: Other\n---\nNothing.\n",
        "茶": "---\ntitle: 茶道\n---\nx\n",
    }
    index = TermIndex(read_concept(identifier, text.encode()) for identifier, text in texts.items())
    assert [identifier for identifier, _ in index.search(ConceptQuery.of("tea"), 10)] == ["tea", "drinks"]
    assert [identifier for identifier, _ in index.search(ConceptQuery.of("茶道"), 10)] == ["茶"]
    assert len(index.search(ConceptQuery.of("tea"), 1)) == 1
    assert index.search(ConceptQuery.of("quokka"), 10) == []
    assert TermIndex([]).search(ConceptQuery.of("tea"), 10) == []
