"""Weights and proximity of words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.ranking import (
    FieldStatistics,
    best_forms,
    best_of,
    bm25,
    near_words,
    phrase_bm25,
    phrase_count,
    shared_beginning,
    typos_between,
)

FIELD = FieldStatistics(documents=1000, average_length=100.0)


def test_rare_words_more_often_in_shorter_texts_are_worth_more() -> None:
    assert bm25(1, 100, 5, FIELD) > bm25(1, 100, 50, FIELD)
    assert bm25(3, 100, 5, FIELD) > bm25(1, 100, 5, FIELD)
    assert bm25(1, 50, 5, FIELD) > bm25(1, 200, 5, FIELD)


def test_bm25_is_the_formula_that_is_published() -> None:
    # N = 1000, n = 10, tf = 2, dl = avgdl: ln(1 + 990.5 / 10.5) * 2.2 * 2 / (2 + 1.2)
    assert bm25(2, 100, 10, FIELD) == pytest.approx(6.2664, abs=1e-3)
    assert phrase_bm25(2, 100, [10, 10], FIELD) == pytest.approx(2 * bm25(2, 100, 10, FIELD))


def test_a_field_without_statistics_gives_a_finite_worth() -> None:
    assert bm25(1, 3, 1, FieldStatistics(0, 0.0)) > 0


def test_the_best_counts_whole_and_the_others_in_part() -> None:
    assert best_of([1.0, 4.0, 2.0], tie=0.5) == 5.5
    assert best_of([]) == 0.0


@each_case(
    ("text", "run", "count"),
    [("a b a b c", "a b", 2), ("a b", "b a", 0), ("a a a", "a a", 2), ("a", "a b", 0), ("", "a", 0)],
)
def test_runs_are_counted_where_all_words_stand_in_order(text: str, run: str, count: int) -> None:
    assert phrase_count(text.split(), run.split()) == count


@each_case(
    ("one", "other", "typos"),
    [("same", "same", 0), ("house", "hose", 1), ("hose", "house", 1), ("form", "from", 1), ("cat", "cut", 1)],
)
def test_one_slip_is_one_typo(one: str, other: str, typos: int) -> None:
    assert typos_between(one, other, 2) == typos


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_typos_are_the_distance_up_to_the_bound(one: str, other: str) -> None:
    distance = _distance(one, other)
    for most in (1, 2):
        assert typos_between(one, other, most) == min(distance, most + 1)


def _distance(text: str, other: str) -> int:
    """The textbook's optimal string alignment, without any shortcut."""
    rows = [[max(a, b) if not a or not b else 0 for b in range(len(other) + 1)] for a in range(len(text) + 1)]
    for a in range(1, len(text) + 1):
        for b in range(1, len(other) + 1):
            rows[a][b] = min(rows[a - 1][b] + 1, rows[a][b - 1] + 1, rows[a - 1][b - 1] + (text[a - 1] != other[b - 1]))
            if a > 1 and b > 1 and text[a - 1] == other[b - 2] and text[a - 2] == other[b - 1]:
                rows[a][b] = min(rows[a][b], rows[a - 2][b - 2] + 1)
    return rows[-1][-1]


def test_the_shared_beginning_is_counted_in_letters() -> None:
    assert shared_beginning("restore", "restart") == 4
    assert shared_beginning("", "x") == 0
    assert shared_beginning("same", "same") == 4


def test_forms_are_kept_by_weight_and_then_by_how_common_they_are() -> None:
    weights = {"a": 0.3, "b": 1.0, "c": 0.3, "d": 0.5}
    assert list(best_forms(weights, {"a": 1, "c": 9}, 3)) == ["b", "d", "c"]


@given(st.text("abc", max_size=6), st.lists(st.text("abcd", max_size=7)), st.integers(1, 2))
def test_near_words_are_those_few_typos_away(word: str, others: list[str], most: int) -> None:
    near = {other: typos_between(word, other, most) for other in others}
    assert near_words(word, others, most) == {other: typos for other, typos in near.items() if typos <= most}
