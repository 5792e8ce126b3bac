"""Words and meaning in one ranking: meaning counts where it stands out and is understood."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.query import Background
from commonplace.domain.semantic import (
    CODE_WEIGHT,
    MIN_SAMPLE,
    MIN_WITNESSES,
    WEIGHT,
    agreement,
    background,
    fused,
    weight_of,
)

# Whole hundredths, so that sums are exact enough to compare.
COSINES = st.integers(-100, 100).map(lambda hundredths: hundredths / 100)
SAMPLES = st.lists(COSINES, min_size=MIN_SAMPLE, max_size=60)
BY_WORDS = st.dictionaries(st.integers(0, 20), st.floats(0.1, 50), min_size=1)


@given(by_words=BY_WORDS, cosine=COSINES)
def test_similarities_that_are_all_alike_leave_the_order_to_the_words(
    by_words: dict[int, float], cosine: float
) -> None:
    near = dict.fromkeys(by_words, cosine)
    ordinary = background([cosine] * MIN_SAMPLE).threshold
    expected = sorted(by_words, key=lambda key: -by_words[key])
    assert list(fused(by_words, near, max(by_words.values()), WEIGHT, ordinary)) == expected


@given(sample=SAMPLES, shift=COSINES)
def test_similarities_that_are_all_higher_raise_what_counts_as_ordinary(sample: list[float], shift: float) -> None:
    assert abs(background([value + shift for value in sample]).threshold - background(sample).threshold - shift) < 1e-9


def test_a_document_that_stands_out_does_not_raise_what_counts_as_ordinary() -> None:
    sample = [0.1, 0.12, 0.08, 0.11, 0.09, 0.1, 0.13, 0.07, 0.1]
    assert background([*sample, 0.9]).threshold - background([*sample, 0.2]).threshold < 1e-9
    assert 0.1 < background(sample).threshold < 0.2


def test_among_a_few_documents_every_similarity_counts() -> None:
    assert background([0.9] * (MIN_SAMPLE - 1)) == Background()


def test_the_weight_of_meaning_falls_with_what_the_model_does_not_know() -> None:
    assert weight_of("how does a cat purr") == WEIGHT
    assert weight_of("how does a cat purr", 0.5) == WEIGHT / 4
    assert weight_of("how does a cat purr", 0.0) == 0.0
    assert weight_of("how does a cat purr", 0.24) == 0.0
    assert weight_of("std::vector.push_back()") == CODE_WEIGHT


def test_a_document_without_a_word_is_ranked_by_how_far_it_stands_out() -> None:
    scores = fused({1: 4.0, 2: 2.0}, {1: 0.1, 3: 0.8}, 4.0, WEIGHT, 0.2)
    assert list(scores) == [3, 1, 2]
    assert scores[1] == 1.0


def test_a_document_without_a_vector_gets_the_excess_of_documents_with_its_score() -> None:
    by_words = {1: 4.0, 2: 2.0, 3: 3.0, 4: 1.0}
    scores = fused(by_words, {2: 0.4, 4: 0.3}, 4.0, WEIGHT, 0.2)
    slope = (0.5 * 0.2 + 0.25 * 0.1) / (0.5**2 + 0.25**2)
    assert abs(scores[1] - (1 + WEIGHT * slope)) < 1e-9
    assert abs(scores[3] - (0.75 + WEIGHT * slope * 0.75)) < 1e-9
    assert list(scores) == [1, 3, 2, 4]


@given(by_words=BY_WORDS, cosines=st.lists(COSINES, min_size=21, max_size=21), embedded=st.sets(st.integers(0, 20)))
def test_documents_without_vectors_keep_their_order_by_words(
    by_words: dict[int, float], cosines: list[float], embedded: set[int]
) -> None:
    near = {key: cosines[key] for key in embedded}
    order = [key for key in fused(by_words, near, max(by_words.values()), WEIGHT, 0.1) if key not in near]
    assert order == sorted(order, key=lambda key: -by_words[key])
    assert set(order) == by_words.keys() - near.keys()


def test_a_model_that_finds_the_pages_with_the_words_ordinary_is_not_heard() -> None:
    by_words = {key: 10.0 - key for key in range(9)}
    ordinary = background([0.0, 0.1, 0.2, 0.3] * 4)
    alike = dict.fromkeys(by_words, ordinary.median)
    assert agreement(by_words, alike, ordinary) == 0.0
    assert agreement(by_words, dict.fromkeys(by_words, 0.8), ordinary) == 1.0
    assert 0.0 < agreement(by_words, alike | {0: 0.35, 1: 0.35, 2: 0.35}, ordinary) < 1.0


def test_the_best_pages_by_words_say_most_about_the_model() -> None:
    by_words = {0: 10.0} | dict.fromkeys(range(1, 20), 1.0)
    ordinary = background([0.0, 0.1, 0.2, 0.3] * 4)
    near = dict.fromkeys(by_words, ordinary.median)
    assert agreement(by_words, near | {0: 0.9}, ordinary) == 1.0
    assert agreement(by_words, near | {19: 0.9}, ordinary) == 0.0


def test_too_few_pages_with_the_words_say_nothing_about_the_model() -> None:
    few = dict.fromkeys(range(MIN_WITNESSES - 1), 1.0)
    assert agreement(few, dict.fromkeys(few, 0.0), Background(0.1, 0.1)) == 1.0
    many = dict.fromkeys(range(MIN_WITNESSES), 1.0)
    assert agreement(many, dict.fromkeys(many, 0.0), Background()) == 1.0


def test_a_few_pages_that_are_embedded_first_do_not_outrank_the_others() -> None:
    by_words = {key: 10.0 - key for key in range(9)}
    first_embedded = {20: 0.8, 21: 0.7, 8: 0.9}
    weight = WEIGHT * agreement(by_words, first_embedded, Background())
    assert list(fused(by_words, first_embedded, 10.0, weight))[:9] == list(by_words)


def test_random_similarities_leave_the_first_ten_by_words_as_they_are() -> None:
    chance = random.Random(3)
    overlaps: list[int] = []
    for _ in range(500):
        by_words = {key: 20.0 / (1 + key / 10) for key in range(50)}
        ordinary = background([chance.gauss(0, 0.05) for _ in range(128)])
        near = {key: chance.gauss(0, 0.05) for key in range(100)}
        weight = WEIGHT * agreement(by_words, near, ordinary)
        found_numbers = list(fused(by_words, near, 20.0, weight, ordinary.threshold))
        overlaps.append(len({*found_numbers[:10]} & {*range(10)}))
    assert sum(overlaps) / len(overlaps) > 9.95
