"""Caches of bounded size."""

from __future__ import annotations

from commonplace.services.bounded_cache import BoundedCache


def test_the_least_recently_used_value_is_forgotten_first() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    for key in "abc":
        assert cache.put(key, key.upper(), 4 if key != "c" else 3) == key.upper()
        cache.get("a")
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]


def test_a_value_that_is_too_large_stays_until_the_next_one() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    cache.put("large", "x", 1_000)
    assert cache.get("large") == "x"
    cache.put("small", "y", 1)
    assert (cache.get("large"), cache.get("small")) == (None, "y")


def test_the_first_value_of_a_key_stays_and_counts_once() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    for _ in range(5):
        cache.put("a", "A", 6)
    cache.put("b", "B", 4)
    assert (cache.get("a"), cache.get("b")) == ("A", "B")
