"""Excerpts of pages show a wanted word, wherever it stands."""

from __future__ import annotations

from commonplace.domain.snippets import MAX_SOURCE_CHARS, HighlightTerms
from commonplace.toolsets.pages.rules.matched_words import ELLIPSIS, page_excerpt

WALRUS = HighlightTerms({"walrus": frozenset({"walrus"})})
NONE = HighlightTerms({})
FILLER = "some other words of no use. " * 40


def test_a_short_text_is_shown_whole_without_its_title_line_and_its_markup() -> None:
    assert page_excerpt("# Title\n\nA **walrus** swims.", WALRUS) == "A walrus swims."
    assert page_excerpt("# Title", WALRUS) == ""
    assert page_excerpt("", NONE) == ""


def test_a_word_in_the_middle_is_shown_with_marks_at_both_cut_ends() -> None:
    excerpt = page_excerpt(f"{FILLER}The walrus swims. {FILLER}", WALRUS, 100)
    assert "walrus" in excerpt
    assert excerpt.startswith(ELLIPSIS)
    assert excerpt.endswith(ELLIPSIS)
    assert len(excerpt) <= 100


def test_without_the_word_the_beginning_is_shown() -> None:
    excerpt = page_excerpt(f"Begin. {FILLER}", WALRUS, 60)
    assert excerpt.startswith("Begin.")
    assert excerpt.endswith(ELLIPSIS)
    assert len(excerpt) <= 60


def test_the_title_line_is_not_searched() -> None:
    assert page_excerpt(f"# Walrus\n\nBegin. {FILLER}", WALRUS, 60).startswith("Begin.")


def test_a_word_far_down_a_long_page_is_found_and_on_the_border_of_two_windows_too() -> None:
    for at in (MAX_SOURCE_CHARS - 3, 2 * MAX_SOURCE_CHARS):
        body = ("x" * 9 + " ") * (at // 10)
        excerpt = page_excerpt(f"{body[:at]} walrus swims. {FILLER}", WALRUS, 100)
        assert "walrus" in excerpt
        assert excerpt.startswith(ELLIPSIS)
        assert len(excerpt) <= 100
