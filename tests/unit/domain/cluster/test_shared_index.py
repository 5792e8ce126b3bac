"""Differences between a shared index and its base."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import IndexDifferences

ONE = frozenset({Address("a.md")})


def test_an_index_without_differences_is_false() -> None:
    assert not IndexDifferences()


@pytest.mark.parametrize(
    "differences", [IndexDifferences(missing=ONE), IndexDifferences(outdated=ONE), IndexDifferences(surplus=ONE)]
)
def test_any_difference_counts(differences: IndexDifferences) -> None:
    assert differences
