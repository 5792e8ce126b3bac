"""Vectors are normalized to length 1, or are zeros."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cases import each_case
from commonplace.embed.encoders import normalized


def rows(*values: list[float]) -> np.ndarray:
    return np.array(values, np.float32)


def test_each_row_has_length_one_and_its_direction() -> None:
    made = normalized(rows([3, 4], [0, -2], [1, 1]))
    assert np.allclose(made, [[0.6, 0.8], [0, -1], [math.sqrt(0.5)] * 2])
    assert made.dtype == np.float32


@each_case("size", [1e-38, 1e-30, 1e-3, 1e3, 1e30, 3e38])
def test_the_size_of_the_numbers_does_not_matter(size: float) -> None:
    assert np.allclose(normalized(rows([size, 0], [size, -size])), [[1, 0], [math.sqrt(0.5), -math.sqrt(0.5)]])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_row_with_a_number_that_is_none_is_zeros_and_no_other_row_is(number: float) -> None:
    assert normalized(rows([number, 1], [0, 5])).tolist() == [[0, 0], [0, 1]]


def test_a_row_of_length_zero_stays_and_the_given_array_does_too() -> None:
    array = rows([0, 0], [2, 0])
    assert normalized(array).tolist() == [[0, 0], [1, 0]]
    assert array.tolist() == [[0, 0], [2, 0]]


def test_no_rows_are_no_rows() -> None:
    assert normalized(np.empty((0, 3), np.float32)).shape == (0, 3)
