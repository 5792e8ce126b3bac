"""The tools of the cascade as an agent sees them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from layers import write_cascade

OWN = {"auth.md": "---\ntype: system\n---\n# Auth\n\n## Ports\n\nPort 80. See [[owner]].\n"}
TEAM = {
    "auth.md": "---\ntype: system\n---\n# Auth\n\n## Ports\n\nPort 443.\n\n## Logs\n\nOn disk.\n",
    "owner.md": "---\ntype: person\n---\n# Owner\n\nRuns [auth](auth.md).\n",
}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Agent]:
    manifest = write_cascade(tmp_path, {"own": (2, OWN), "team": (1, TEAM)})
    with agent("mcp", "--manifest", manifest) as connected:
        yield connected


def test_a_list_names_the_layers_of_each_concept_and_takes_a_type(client: Agent) -> None:
    every = client.call("list_concepts")["result"]
    assert {value["id"]: sorted(value["layers"]) for value in every} == {"auth": ["own", "team"], "owner": ["team"]}
    assert [element["id"] for element in client.call("list_concepts", type="person")["result"]] == ["owner"]
    assert client.call("list_concepts", type="nothing")["result"] == []


def test_a_concept_is_read_resolved_or_as_one_layer_has_it(client: Agent) -> None:
    resolved = client.call("read_file", concept_id="auth")
    assert {contributor["layer"] for contributor in resolved["contributors"]} == {"own", "team"}
    assert "On disk." in resolved["markdown"]
    raw = client.call("read_file", concept_id="auth", layer="own")
    assert "443" not in str(raw)


def test_links_are_told_both_ways_with_their_layers(client: Agent) -> None:
    found_value = client.call("get_links", concept_id="auth")
    assert [(element["id"], element["layers"]) for element in found_value["outgoing"]] == [("owner", ["team"])]
    assert [(element["id"], element["layer"]) for element in found_value["incoming"]] == [("owner", "team")]


def test_what_is_not_there_names_the_nearest(client: Agent) -> None:
    for tool in ("read_file", "get_links"):
        with pytest.raises(RefusedError, match=r"Nearest: .*auth"):
            client.call(tool, concept_id="auht")
    with pytest.raises(RefusedError):
        client.call("read_file", concept_id="auth", layer="nobody")


def test_a_layer_that_goes_is_told_in_every_answer(client: Agent, tmp_path: Path) -> None:
    assert len(client.call("list_concepts")["result"]) == 2
    (tmp_path / "team").rename(tmp_path / "away")
    resolved = client.call("read_file", concept_id="auth")
    assert resolved["notAsked"] == ["team"]
    listed = client.call("list_concepts")
    assert [element["id"] for element in listed["result"]] == ["auth"]
    assert [layer["layer"] for layer in listed["layers"] if layer["state"] != "ok"] == ["team"]
