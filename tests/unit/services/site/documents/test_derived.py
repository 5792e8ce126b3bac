"""Caches of bounded size, and facts that are computed once for each state of a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.services.collections import Collection
from commonplace.services.site.documents import BoundedCache, PerState
from indexed import Indexed


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


def test_a_fact_is_computed_again_only_when_the_collection_has_changed(tmp_path: Path) -> None:
    computed: list[str] = []

    def compute(collection: Collection) -> int:
        computed.append(collection.name)
        return len(collection.index.revisions())

    facts = PerState(compute)
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        collection = Collection("base", base.store, base.index)
        assert [facts.of(collection), facts.of(collection), len(computed)] == [1, 1, 1]
        base.update("b.md", "# B\n")
        assert [facts.of(collection), facts.of(collection), len(computed)] == [2, 2, 2]


def test_a_fact_that_could_not_be_computed_is_tried_again(tmp_path: Path) -> None:
    outcomes = iter([None, 5])

    def compute(_: Collection) -> int:
        value = next(outcomes)
        if value is None:
            raise ValueError
        return value

    facts = PerState(compute)
    with Indexed(tmp_path) as base:
        collection = Collection("base", base.store, base.index)
        with pytest.raises(ValueError, match=r"^$"):
            facts.of(collection)
        assert facts.of(collection) == 5
