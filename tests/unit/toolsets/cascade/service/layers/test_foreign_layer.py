"""Queries of a foreign graph, the validity of cached nodes, and the back-off after a failure."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.toolsets.cascade.rules.concepts import Fact, ForeignNode
from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service.layers import ForeignLayer


@dataclass
class Graph:
    """A graph in memory that counts how often it is asked."""

    nodes: dict[str, ForeignNode]
    fails: bool = False
    asked: list[str] = field(default_factory=list[str])
    now: float = 0.0

    def node_ids(self) -> list[str]:
        self._ask("*")
        return list(self.nodes)

    def node(self, identifier: str) -> ForeignNode | None:
        self._ask(identifier)
        return self.nodes.get(identifier)

    def close(self) -> None:
        return

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.fails:
            raise UnavailableError("it has ended")


def node(text: str) -> ForeignNode:
    return ForeignNode("Title", "", (Fact("Owner", text, None),), ())


@pytest.fixture
def graph() -> Graph:
    return Graph({"a": node("walrus"), "b": node("kiwi"), "../up": node("x")})


@pytest.fixture
def layer(graph: Graph) -> ForeignLayer:
    return ForeignLayer(LayerRank("graph", 1, 0), graph, clock=lambda: graph.now)


def test_nodes_are_kept_for_a_minute(graph: Graph, layer: ForeignLayer) -> None:
    for graph.now in (0.0, 59.0):
        assert set(layer.summaries()) == {"a", "b"}
        assert layer.concept("a") is not None
        assert layer.concept("none") is None
    assert graph.asked == ["*", "a", "b", "none"]
    graph.now = 60.0
    assert set(layer.summaries()) == {"a", "b"}
    assert graph.asked[4:] == ["*", "a", "b"]


def test_a_failure_is_told_once_and_costs_half_a_minute(
    graph: Graph, layer: ForeignLayer, caplog: pytest.LogCaptureFixture
) -> None:
    assert layer.concept("a") is not None
    graph.fails = True
    with caplog.at_level(logging.WARNING):
        for graph.now in (1.0, 30.0):
            assert layer.concept("b") is None
            assert set(layer.summaries()) == {"a"}, "what was read before is still kept"
            assert layer.concept("a") is not None
    assert [record.message for record in caplog.records] == ["layer 'graph' is left out for 30 s: it has ended"]
    assert graph.asked == ["a", "b"]
    graph.fails, graph.now = False, 32.0
    assert set(layer.summaries()) == {"a", "b"}


def test_nodes_of_a_failed_graph_go_after_their_minute(graph: Graph, layer: ForeignLayer) -> None:
    assert set(layer.summaries()) == {"a", "b"}
    graph.fails, graph.now = True, 61.0
    assert layer.summaries() == {}
    assert layer.concept("a") is None


def test_words_are_ranked_and_one_object_stands_for_no_change(layer: ForeignLayer) -> None:
    assert [match.id for match in layer.search("where is the walrus?", 5)] == ["a"]
    assert layer.search("nothing", 5) == []
    assert layer.summaries() is layer.summaries()
