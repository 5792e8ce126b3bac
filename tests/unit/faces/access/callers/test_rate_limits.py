"""Rate limits of callers."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import RateLimitedError
from commonplace.faces.access.callers import RateLimiter


def test_a_bucket_empties_and_fills_for_each_caller_by_itself() -> None:
    now = [0.0]
    rates = RateLimiter(per_minute=60, clock=lambda: now[0])
    for _ in range(60):
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
    rates = RateLimiter(per_minute=0)
    for _ in range(10_000):
        rates.take("a")


def test_a_request_may_count_as_several_calls() -> None:
    now = [0.0]
    rates = RateLimiter(per_minute=60, clock=lambda: now[0])
    for _ in range(3):
        rates.take("a", 20)
    with pytest.raises(RateLimitedError) as caught:
        rates.take("a", 20)
    assert caught.value.context["retry_after"] == 20
    now[0] = 1.0
    rates.take("a")
    with pytest.raises(RateLimitedError):
        rates.take("a")


def test_what_counts_as_more_calls_than_there_can_be_takes_all_of_them() -> None:
    rates = RateLimiter(per_minute=5, clock=lambda: 0.0)
    rates.take("a", 20)
    with pytest.raises(RateLimitedError) as caught:
        rates.take("a")
    assert caught.value.context["retry_after"] == 12
