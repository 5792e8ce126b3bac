"""Days, durations and what a search may say."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.snippets import HighlightTerms
from commonplace.toolsets.pages.rules.matched_words import page_excerpt
from commonplace.toolsets.pages.rules.queries import (
    DAY_SECONDS,
    PageFilter,
    PageQuery,
    TimeFilters,
    TimeRange,
    checked,
    parse_duration,
)

NOW = 1_700_000_000


def test_after_and_before_include_the_named_day() -> None:
    bounds = TimeFilters(created_after="2024-02-28", created_before="2024-02-29").created(NOW)
    assert bounds == TimeRange(1_709_078_400, 1_709_078_400 + 2 * DAY_SECONDS)
    assert bounds.holds(1_709_078_400)
    assert bounds.holds(1_709_078_400 + 2 * DAY_SECONDS - 1)
    assert not bounds.holds(1_709_078_400 + 2 * DAY_SECONDS)
    assert not bounds.holds(None)


def test_all_parts_must_hold() -> None:
    bounds = TimeFilters(updated_after="2023-11-01", updated_within="1d").updated(NOW)
    assert bounds == TimeRange(NOW - DAY_SECONDS, None)
    assert TimeFilters(updated_before="2023-11-01", stale="1d").updated(NOW).before == 1_698_883_200
    assert TimeFilters().updated(NOW).holds(None)


@each_case(("text", "days"), [("1d", 1), ("2w", 14), ("6m", 180), ("1y", 365), ("999999y", 364_999_635)])
def test_durations_count_days(text: str, days: int) -> None:
    assert parse_duration(text) == days * DAY_SECONDS


@each_case("text", ["", "d", "0d", "-1d", "1.5d", "1h", "1 d", "1D", "d1", "\u0663d", "1d\n", "1000000d"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(InvalidInputError, match="stale must be a duration such as 30d"):
        TimeFilters(stale=text).updated(NOW)


@each_case(
    "text", ["", "today", "2024-1-1", "20240101", "2024-02-30", "2024-01-01T00:00:00", "\u0662\u0660\u0662\u0664-01-01"]
)
def test_what_is_no_day_is_named(text: str) -> None:
    with pytest.raises(InvalidInputError, match="created_before must be a day such as 2024-05-31"):
        TimeFilters(created_before=text).created(NOW)


def test_a_search_says_something() -> None:
    for query in (
        PageQuery(text="x"),
        PageQuery(text="", sort="created_at"),
        PageQuery(text="", filter=PageFilter(author="a")),
    ):
        assert checked(query) is query
    with pytest.raises(InvalidInputError, match="query is empty"):
        checked(PageQuery(text=" \t"))


def wanted(*words: str) -> HighlightTerms:
    return HighlightTerms({word: frozenset({word}) for word in words})


def test_an_excerpt_is_short_plain_and_round_the_word() -> None:
    content = "# needle in the title\n\n" + "hay " * 20_000 + "a **needle** here " + "hay " * 100
    shown = page_excerpt(content, wanted("needle"))
    assert "a needle here" in shown
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert len(shown) <= 200


def test_an_excerpt_without_the_word_is_the_beginning_of_the_body() -> None:
    assert page_excerpt("# needle\n\nShort body.", wanted("needle")) == "Short body."
    assert page_excerpt("# needle", wanted("needle")) == ""
    long = page_excerpt("# T\n\n" + "hay " * 100, wanted("needle"))
    assert long.startswith("hay hay")
    assert long.endswith("...")
    assert len(long) <= 200
