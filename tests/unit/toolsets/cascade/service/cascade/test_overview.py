"""The overview of all layers after any changes is the one that is made from nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Index, Store
from commonplace.services.collections import Collection
from commonplace.store import open_store
from commonplace.toolsets.cascade.rules.values import Concept, LayerRank
from commonplace.toolsets.cascade.service import layers
from commonplace.toolsets.cascade.service.cascade import EMPTY_OVERVIEW
from commonplace.toolsets.cascade.service.layers import ConceptSummaries, FolderLayer
from indexed import Indexed

RANKS = (LayerRank("high", 2, 0), LayerRank("low", 1, 1))
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["One", "one", "Two", ""]),
        "aliases": st.lists(st.sampled_from(["one", "Other"]), max_size=2),
        "type": st.sampled_from(["A", "B"]),
        "updated": st.sampled_from(["2026-01-01", "2026-02-02"]),
        "override": st.just("full"),
    },
)


def written(summaries: ConceptSummaries, identifier: str) -> Concept:
    return Concept(identifier, summaries[identifier], ())


CHANGE = st.tuples(st.sampled_from([0, 1]), st.sampled_from("abcd"), st.none() | VALUES)


@given(st.lists(st.lists(CHANGE, max_size=4), max_size=6))
def test_it_follows_every_change(rounds: list[list[tuple[int, str, JsonObject | None]]]) -> None:
    now: list[ConceptSummaries] = [{}, {}]
    overview = EMPTY_OVERVIEW
    for changes in rounds:
        for layer, identifier, values in changes:
            left = {id_: element for id_, element in now[layer].items() if id_ != identifier}
            now[layer] = left if values is None else {**left, identifier: values}
        overview = overview.updated(RANKS, now)
        for name, summaries in zip(("high", "low"), now, strict=True):
            for identifier in summaries:
                overview.terms_in(name, identifier, partial(written, summaries))
        made = EMPTY_OVERVIEW.updated(RANKS, now)
        assert overview == made
        assert list(overview.rows) == sorted(made.rows)
        held: dict[str, ConceptSummaries] = dict(zip(("high", "low"), now, strict=True))
        assert overview.terms == {
            (name, identifier): made.terms_in(name, identifier, partial(written, held[name]))
            for name, identifier in overview.terms
        }


def test_it_is_the_same_object_while_nothing_changes() -> None:
    seen: list[ConceptSummaries] = [{"a": {"title": "A"}}, {}]
    overview = EMPTY_OVERVIEW.updated(RANKS, seen)
    assert overview.updated(RANKS, seen) is overview


@pytest.mark.parametrize("few", [0, 200])
def test_a_layer_reads_anew_only_what_has_changed(tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_CHANGED", few)
    concepts = {f"c{number}.md": f"---\ntitle: T{number}\n---\n# X" for number in range(5)}
    with Indexed(tmp_path, {**concepts, "index.md": "# no concept", "x.markdown": "# neither"}) as base:
        layer = FolderLayer(RANKS[0], base.folder, lambda: opened(base.folder, tmp_path / "state", base.index))
        before = layer.summaries()
        assert {id_: item["title"] for id_, item in before.items()} == {
            f"c{number}": f"T{number}" for number in range(5)
        }
        assert layer.summaries() is before
        (base.folder / "c0.md").unlink()
        base.write("c1.md", "---\ntitle: new\n---\n# X")
        base.write("c9.md", "---\ntitle: T9\n---\n# X")
        base.write("log.md", "# no concept")
        base.index.sync()
        after = layer.summaries()
        titles = {"c1": "new", "c2": "T2", "c3": "T3", "c4": "T4", "c9": "T9"}
        assert {id_: element["title"] for id_, element in after.items()} == titles
        if few:
            assert all(after[id_] is before[id_] for id_ in ("c2", "c3", "c4"))
        base.write("c1.md", "# untitled")
        base.index.sync()
        assert layer.summaries()["c1"] == {}


def opened(folder: Path, state: Path, index: Index) -> Collection:
    store: Store = open_store(folder, commit="manual", state_dir=state)
    return Collection("layer", store, index)
