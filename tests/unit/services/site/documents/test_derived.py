"""Facts that are computed once for each state of a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.services.collections import Collection
from commonplace.services.site.documents import PerState
from indexed import Indexed


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
