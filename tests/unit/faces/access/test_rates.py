"""How many calls a caller may make."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import RateLimitedError
from commonplace.faces.access.rates import Rates


def test_a_bucket_empties_and_fills_for_each_caller_by_itself() -> None:
    now = [0.0]
    rates = Rates(per_minute=60, burst=2, clock=lambda: now[0])
    for _ in range(2):
        rates.take("a")
    with pytest.raises(RateLimitedError) as caught:
        rates.take("a")
    assert caught.value.context["retry_after"] == 1
    rates.take("b")
    now[0] = 1.0
    rates.take("a")
    with pytest.raises(RateLimitedError):
        rates.take("a")


def test_no_limit_is_no_limit() -> None:
    rates = Rates(per_minute=0, burst=1)
    for _ in range(10_000):
        rates.take("a")
