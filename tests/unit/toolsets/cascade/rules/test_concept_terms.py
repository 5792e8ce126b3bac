"""Searches for concepts that no index contains."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.toolsets.cascade.rules.concept_terms import (
    SNIPPET_CHARS,
    ConceptQuery,
    ConceptTerms,
    TermIndex,
    best_snippet,
    first_text,
    section_scores,
    terms_of,
)
from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.values import ConceptSection


@each_case(
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


@each_case(
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


def concept(identifier: str, text: str) -> ConceptTerms:
    return ConceptTerms.of(read_concept(identifier, text.encode()))


def test_a_title_counts_more_than_a_description_and_that_more_than_tags_and_text() -> None:
    concepts = [
        concept("a", "---\ntitle: Attrition\n---\n"),
        concept("b", "---\ntitle: T\naliases: [attrition]\n---\n"),
        concept("attrition", "---\ntitle: T\n---\n"),
        concept("d", "---\ntitle: T\ndescription: On attrition\n---\n"),
        concept("e", "---\ntitle: T\ntags: [attrition]\n---\n"),
        concept("f", "---\ntitle: T\n---\nAttrition alone\n"),
        concept("g", "---\ntitle: T\n---\nnothing\n"),
    ]
    scores = section_scores(ConceptQuery.of("attrition"), concepts)
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5
    assert (scores[-2] > 0, scores[-1]) == (True, 0.0)


def test_words_in_one_section_count_more_than_in_several() -> None:
    together = concept("a", "## One\nkiwi and heron\n\n## Two\nother words\n")
    apart = concept("b", "## One\nkiwi and words\n\n## Two\nother heron\n")
    first, second = section_scores(ConceptQuery.of("kiwi heron"), [together, apart])
    assert first > second > 0


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    frequent = [concept(f"f{n}", "kiwi here\n") for n in range(5)]
    scores = section_scores(ConceptQuery.of("kiwi heron"), [*frequent, concept("r", "heron here\n")])
    assert scores[-1] > max(scores[:-1])


@pytest.mark.parametrize("query", ["", "***", "x" * 10_000, " ".join(f"w{n}" for n in range(3_000))])
def test_a_search_without_a_word_of_the_concepts_scores_nothing(query: str) -> None:
    assert section_scores(ConceptQuery.of(query), [concept("a", "kiwi\n"), concept("b", "")]) == [0.0, 0.0]
    assert section_scores(ConceptQuery.of(query), []) == []


def test_grams_count_in_texts_of_any_script() -> None:
    hit, miss = section_scores(ConceptQuery.of("茶道"), [concept("a", "日本の茶道です\n"), concept("b", "茶の道\n")])
    assert hit > miss == 0.0


def test_odd_frontmatter_has_no_terms_and_no_failure() -> None:
    odd = concept("id", "---\ntitle: [a]\ntags: {b: 1}\naliases: 5\ndescription:\n---\n")
    assert section_scores(ConceptQuery.of("id"), [odd]) > [0.0]


def section(text: str, heading: str | None = None) -> ConceptSection:
    return ConceptSection("k", heading, text)


def test_the_snippet_comes_from_the_section_with_most_terms() -> None:
    query = ConceptQuery.of("green tea")
    sections = [section("tea alone"), section("Green tea, hot."), section("green green")]
    assert best_snippet(sections, query) == ("Green tea, hot.", sections[1])
    assert best_snippet([section("coffee")], query) is None
    assert best_snippet([], query) is None
    assert best_snippet([section("leaves only", "## Tea")], query) == ("leaves only", section("leaves only", "## Tea"))


def test_a_snippet_is_short_and_contains_the_match() -> None:
    snippet = best_snippet([section("filler " * 500 + "quokka " + "filler " * 500)], ConceptQuery.of("quokka"))
    assert snippet is not None
    assert "quokka" in snippet[0]
    assert len(snippet[0]) < SNIPPET_CHARS * 2
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
