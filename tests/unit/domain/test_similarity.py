"""Modes of a search, and the similarity of ordinary documents."""

from __future__ import annotations

from typing import get_args

from commonplace.domain.similarity import SEARCH_MODES, Background, SearchMode


def test_every_mode_is_listed_once() -> None:
    assert get_args(SearchMode) == SEARCH_MODES


def test_what_stands_out_exceeds_the_median_by_a_deviation() -> None:
    assert Background(0.25, 0.125).threshold == 0.375
    assert Background().threshold == 0.0
