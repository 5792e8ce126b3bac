"""Numbers of things in sentences."""

from __future__ import annotations

import pytest

from commonplace.domain.words.amounts import amount


@pytest.mark.parametrize(("count", "told"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (12_345, "12,345 pages")])
def test_one_thing_is_told_in_the_singular(count: int, told: str) -> None:
    assert amount(count, "page") == told
