"""A graph behind a server: what it answers as nodes, and what its failures are called."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.errors import UnavailableError
from commonplace.toolsets.cascade.foreign import StdioGraph
from commonplace.toolsets.cascade.rules.concepts import BROKEN, Fact
from layers import FOREIGN_SERVER, ROOT

BAD = ROOT / "tests" / "helpers" / "bad_graph.py"


def bad(mode: str, *more: str | Path) -> StdioGraph:
    return StdioGraph([sys.executable, str(BAD), mode, *map(str, more)], seconds=20.0)


def test_nodes_are_listed_and_read() -> None:
    with closing(StdioGraph([sys.executable, str(FOREIGN_SERVER)], seconds=20.0)) as graph:
        assert sorted(graph.node_ids(), reverse=True) == ["systems/tide-gauge", "systems/booking"]
        node = graph.node("systems/booking")
        assert node is not None
        assert (node.title, node.kind) == ("Booking", "System")
        assert node.facts == (Fact("Owner", "Harbour office", "2026-09-15"),)
        assert graph.node("none") is None


def test_what_a_server_says_of_odd_types_is_taken_as_far_as_it_makes_sense() -> None:
    with closing(bad("odd")) as graph:
        assert sorted(graph.node_ids(), reverse=True) == ["odd", "../up", ""]
        node = graph.node("odd")
        assert node is not None
        assert (node.title, node.see_also) == ("5", ("x", "5"))
        assert node.facts == (Fact("A\nB", "# no heading\n```", None),)


@pytest.mark.parametrize(
    ("mode", "said", "kind"),
    [("text", "no JSON", BROKEN), ("shape", "no list", BROKEN), ("die", "exit code 1", ""), ("error", "error", "")],
)
def test_a_failure_is_told_and_the_next_request_starts_a_new_server(
    tmp_path: Path, mode: str, said: str, kind: str
) -> None:
    starts = tmp_path / "starts"
    with closing(bad(mode, starts)) as graph:
        for _ in range(2):
            with pytest.raises(UnavailableError, match=said) as failed:
                graph.node_ids()
            assert failed.value.kind == kind
    assert len(starts.read_text().splitlines()) == 2


def test_a_command_that_is_not_there_is_broken() -> None:
    graph = StdioGraph(["/no/such/program"])
    with pytest.raises(UnavailableError) as failed:
        graph.node_ids()
    assert failed.value.kind == BROKEN
    graph.close()
