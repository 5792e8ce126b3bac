"""Differences between layers: sections and values, the newest dissent first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service.cascade import Cascade, Disagreement, conflicts
from commonplace.toolsets.cascade.service.layers import FolderLayer
from indexed import Indexed

LAYERS: Mapping[str, Mapping[str, str]] = {
    "own": {
        "a.md": "---\nowner: me\nsame: 1\n---\n# Limit\n\nTen.\n\n# Same\n\nText.\n",
        "b.md": "# Limit\n\nOne.\n",
        "c.md": "# Alone\n\nx\n",
    },
    "team": {
        "a.md": "---\nowner: them\nsame: 1\n---\n# Limit {updated=2026-01-01}\n\nTwenty.\n\n# Same\n\nText.\n",
        "b.md": "# Limit {updated=2026-05-01}\n\nTwo.\n",
    },
}


@pytest.fixture(scope="module")
def disagreements(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Disagreement]]:
    with ExitStack() as stack:
        layers: list[FolderLayer] = []
        for order, (name, files) in enumerate(LAYERS.items()):
            base = stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files))
            collection = base.collection
            layers.append(FolderLayer(LayerRank(name, 2 - order, order), base.folder, lambda opened=collection: opened))
        yield conflicts(Cascade(layers))


def test_every_difference_is_named_and_nothing_on_which_layers_agree(disagreements: list[Disagreement]) -> None:
    assert {(disagreement.id, disagreement.kind, disagreement.key) for disagreement in disagreements} == {
        ("a", "section", "limit"),
        ("a", "frontmatter", "owner"),
        ("b", "section", "limit"),
    }


def test_a_difference_has_the_effective_value_and_the_others(disagreements: list[Disagreement]) -> None:
    by_key = {(disagreement.id, disagreement.key): disagreement for disagreement in disagreements}
    limit = by_key["a", "limit"]
    assert (limit.winner.layer, limit.winner.value, limit.dissents[0].layer) == ("own", "Ten.", "team")
    assert limit.newest.startswith("2026-01-01")
    owner = by_key["a", "owner"]
    assert (owner.winner.value, [dissent.value for dissent in owner.dissents]) == ("me", ["them"])


def test_the_newest_dissent_comes_first(disagreements: list[Disagreement]) -> None:
    assert [disagreement.id for disagreement in disagreements if disagreement.kind == "section"] == ["b", "a"]
