"""Layers behind foreign servers, good and bad ones, over the real process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import RefusedError, agent, ids
from layers import FOREIGN_SERVER, foreign, write_cascade
from support import eventually, is_running
from wire import wire

BAD_GRAPH = Path(__file__).resolve().parents[1] / "helpers" / "bad_graph.py"
OWN = {
    "a.md": "---\ntitle: Own\n---\n# H\nquay\n",
    "systems/booking.md": "---\nupdated: 2026-01-01\n---\n# Owner\nUs\n",
}


def stack(folder: Path, mode: str) -> Path:
    return write_cascade(folder, {"own": (1, OWN)}, foreign("graph", 2, BAD_GRAPH, mode, folder / "starts"))


def processes(folder: Path) -> list[int]:
    starts = folder / "starts"
    return [int(line) for line in starts.read_text().split()] if starts.exists() else []


def warnings(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if " WARNING " in line and "graph" in line]


def test_nodes_of_a_foreign_graph_are_concepts(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"own": (1, OWN)}, foreign("graph", 2, "./graph/server.py"))
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "server.py").write_bytes(FOREIGN_SERVER.read_bytes())
    with agent("mcp", "--manifest", manifest) as connected:
        shown = connected.call("read_file", concept_id="systems/tide-gauge")
        assert shown["frontmatter"] == {"type": "Device", "title": "Tide gauge", "updated": "2026-08-01"}
        assert shown["sections"] == [
            {
                "key": "location",
                "heading": "## Location {#location}",
                "content": "North quay, behind the crane.",
                "sourceLayer": "graph",
                "sourceUpdated": "2026-03-04",
            },
            {
                "key": "owner",
                "heading": "## Owner {#owner}",
                "content": "Harbour office",
                "sourceLayer": "graph",
                "sourceUpdated": "2026-08-01",
            },
            {
                "key": "related",
                "heading": "## Related {#related}",
                "content": "[[systems/booking]]",
                "sourceLayer": "graph",
                "sourceUpdated": "2026-08-01",
            },
        ]
        booking = connected.call("read_file", concept_id="systems/booking")
        assert [contributor["layer"] for contributor in booking["contributors"]] == ["graph", "own"]
        assert booking["sections"][0]["conflicts"] == [{"layer": "own", "updated": "2026-01-01", "content": "Us"}]
        assert ids(connected.call("list_concepts")["result"]) == ["a", "systems/booking", "systems/tide-gauge"]
        assert set(ids(connected.call("search", query="quay")["result"])) == {"a", "systems/tide-gauge"}
        assert connected.call("search", query="tide gauge")["result"][0]["id"] == "systems/tide-gauge"
        assert connected.call("get_links", concept_id="systems/booking")["incoming"] == [
            {"id": "systems/tide-gauge", "layer": "graph", "raw": "[[systems/booking]]"}
        ]


@pytest.mark.parametrize("mode", ["die", "flood", "error", "text", "nan", "shape"])
@pytest.mark.soak
def test_a_graph_that_fails_costs_one_warning_and_the_others_answer(tmp_path: Path, mode: str) -> None:
    log = tmp_path / "log"
    with agent("mcp", "--manifest", stack(tmp_path, mode), log=log) as connected:
        for _ in range(2):
            assert ids(connected.call("search", query="quay")["result"]) == ["a"]
            assert connected.call("read_file", concept_id="systems/booking")["sections"][0]["content"] == "Us"
        assert len(warnings(log)) == 1
        assert "'graph' is left out for 30 s" in warnings(log)[0]
        assert len(processes(tmp_path)) == 1
        eventually(lambda: not is_running(processes(tmp_path)[0]))


@pytest.mark.parametrize("mode", ["hang", "garbage"])
def test_a_graph_that_does_not_answer_costs_its_time_limit_once(tmp_path: Path, mode: str) -> None:
    log = tmp_path / "log"
    with agent("mcp", "--manifest", stack(tmp_path, mode), log=log) as connected:
        assert ids(connected.call("search", query="quay")["result"]) == ["a"]
        assert connected.call("read_file", concept_id="a")["contributors"][0]["layer"] == "own"
        assert len(warnings(log)) == len(processes(tmp_path)) == 1
        eventually(lambda: not is_running(processes(tmp_path)[0]))


def test_a_graph_killed_in_mid_run_costs_one_warning_and_keeps_what_it_said(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with agent("mcp", "--manifest", stack(tmp_path, "ok"), log=log) as connected:
        assert connected.call("read_file", concept_id="systems/tide-gauge")["frontmatter"]["title"] == "Tide gauge"
        [process] = processes(tmp_path)
        os.kill(process, signal.SIGKILL)
        with pytest.raises(RefusedError, match="There is no concept"):
            connected.call("read_file", concept_id="systems/unknown")
        assert connected.call("read_file", concept_id="systems/tide-gauge")["frontmatter"]["title"] == "Tide gauge"
        assert connected.call("read_file", concept_id="systems/booking")["contributors"][0]["layer"] == "own"
        assert len(warnings(log)) == 1
        assert len(processes(tmp_path)) == 1


def test_a_server_that_ends_takes_its_graphs_with_it(tmp_path: Path) -> None:
    def asked(end: Callable[[], object] | None = None) -> None:
        with agent("mcp", "--manifest", stack(tmp_path, "ok")) as connected:
            connected.call("list_concepts")
            assert is_running(processes(tmp_path)[-1])
            if end:
                end()

    asked()
    eventually(lambda: not is_running(processes(tmp_path)[-1]))


def test_a_signal_that_ends_the_server_ends_its_graphs(tmp_path: Path) -> None:
    with wire("mcp", "--manifest", stack(tmp_path, "ok")) as server:
        server.initialize()
        assert server.call("list_concepts") is not None
        [graph] = processes(tmp_path)
        assert is_running(graph)
        server.process.terminate()
        assert server.process.wait(20) == 0
    eventually(lambda: not is_running(graph))


def test_nothing_but_an_mcp_layer_starts_a_process_and_only_when_it_is_needed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = f"touch {mark}"
    manifest = write_cascade(
        tmp_path,
        {"own": (1, OWN)},
        {"name": "$(touch mark)", "level": 0, "path": f"`{command}`", "command": "touch", "args": [str(mark)]},
        {
            "name": "shell",
            "level": 0,
            "source": "mcp",
            "command": f"{command}; {sys.executable}",
            "args": ["&&", command],
        },
    )
    with agent("mcp", "--manifest", manifest, log=tmp_path / "log") as connected:
        assert connected.tools()
        assert ids(connected.call("list_concepts")["result"]) == ["a", "systems/booking"]
    assert not mark.exists()
    assert "cannot be started" in (tmp_path / "log").read_text()


def test_a_foreign_text_can_begin_no_section_and_odd_nodes_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    with agent("mcp", "--manifest", stack(tmp_path, "odd")) as connected:
        assert ids(connected.call("list_concepts")["result"]) == ["a", "odd", "systems/booking"]
        shown = connected.call("read_file", concept_id="odd")
        assert shown["frontmatter"] == {"type": "concept", "title": "5"}
        assert [section["key"] for section in shown["sections"]] == ["a b", "related"]
        assert shown["sections"][0]["heading"] == "## A B {#a b}"
        assert shown["sections"][0]["content"] == "# no heading\n```"
        assert "\n\\# no heading\n```\n```\n\n" in shown["markdown"]
