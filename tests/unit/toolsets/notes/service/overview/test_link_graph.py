"""Pages round a page: neighbours, paths, hubs, and pages that are wanted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.toolsets.notes.service.overview import (
    LinkGraph,
    link_graph,
    resolved_titles,
)
from indexed import Indexed

A, B, C, D, E = (Address(f"{name}.md") for name in "abcde")
FILES = {
    "a.md": "---\ntitle: The “Big” Note\naliases: ['文書管理', ab]\n---\n[[b]] [[Not yet]] [[lost.md]]\n",
    "b.md": "# B\n\n[[c]] [[not yet#Part]] [[b]]\n",
    "c.md": "# C\n\nSee the big note, and 文書管理.\n",
    "d.md": "# D\n\nThe quick brown note is big, ab.\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("graph"), FILES) as indexed:
        yield indexed


def test_neighbours_are_counted_in_both_directions_nearest_first() -> None:
    graph = LinkGraph([(B, A), (B, C), (D, C), (A, A)])
    assert graph.neighbours(A, 1) == [(B, 1)]
    assert graph.neighbours(A, 9) == [(B, 1), (C, 2), (D, 3)]
    assert graph.neighbours(A, 0) == graph.neighbours(E, 5) == []


def test_the_shortest_path_tells_the_direction_of_each_step() -> None:
    graph = LinkGraph([(B, A), (B, C), (C, D), (A, E), (E, A)])
    assert [(step.address, step.forward) for step in graph.path(A, D)] == [(A, True), (B, False), (C, True), (D, True)]
    assert [step.address for step in graph.path(A, A)] == [A]
    assert graph.path(A, Address("alone.md")) == []


def test_the_graph_of_a_folder_has_its_resolved_links(base: Indexed) -> None:
    assert [address for address, _ in link_graph(base.collection).neighbours(A, 9)] == [B, C]
    assert resolved_titles(base.collection, [B, E]) == {B: "B"}
