"""Backlinks are counted as on the page for people, unknown fields are named, and a timeline goes by entries' dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from agent import Agent, agent
from serving import Server, served
from support import new_repo

PAGES: dict[str, str | bytes] = {
    "kb.yaml": "name: base\ntypes: {talk: {fields: {place: {type: text}}}}\n",
    "hub.md": "---\ntitle: Hub\ndate: 2019-05-01\n---\nText.\n",
    "both.md": "---\ntitle: Both\nlinks: [{target: hub, relation: supports}]\nroom: 3\n---\n[[hub]] [h](hub.md)\n",
    "one.md": "---\ntitle: One\nmetadata: {floor: 2}\ndate: 2021-02-03\n---\n[[Hub]]\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_repo(tmp_path_factory.mktemp("counts") / "base", PAGES).path


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Agent]:
    with agent("mcp", folder, "--toolset", "kb", "--no-embed") as running:
        yield running


def page(server: Server, path: str) -> str:
    while (answer := server.ask("GET", path, headers={"Accept": "text/html"})).status == HTTPStatus.SERVICE_UNAVAILABLE:
        pass
    return answer.body.decode()


def test_backlinks_count_entries_and_list_each_relation_once(client: Agent, folder: Path) -> None:
    found_value = client.call("kb_backlinks", entry_id="hub", kb_name="base")
    rows = [(backlink["id"], backlink["relation"]) for backlink in found_value["backlinks"]]
    assert rows == [("both", "supported_by"), ("both", "wikilinked_by"), ("one", "wikilinked_by")]
    assert found_value["backlink_count"] == 2
    entry = client.call("kb_get", entry_id="hub")["entry"]
    assert [(backlink["id"], backlink["relation"]) for backlink in entry["backlinks"]] == rows
    with served(folder) as server:
        assert "Linked from 2 pages" in page(server, "/p/hub")
        dates = page(server, "/timeline")
        assert re.findall(r"<h2>([^<]*)</h2>", dates) == ["2021-02-03", "2019-05-01"]
        assert len(re.findall(r"<h2>", page(server, "/timeline?by=changes"))) == 1


CALLS = {
    "kb_get": {"entry_id": "hub"},
    "kb_list_entries": {},
    "kb_recent": {},
    "kb_search": {"query": "hub"},
    "kb_batch_read": {"entries": [{"entry_id": "hub", "kb_name": "base"}]},
}


@pytest.mark.parametrize("tool", CALLS)
def test_unknown_fields_are_named_with_the_valid_ones(client: Agent, tool: str) -> None:
    fields = ["title", "body", "room", "floor", "place", "snippet"]
    assert "warnings" not in client.call(tool, **CALLS[tool], fields=fields)
    (warning,) = client.call(tool, **CALLS[tool], fields=["title", "titel", "nonsense"])["warnings"]
    assert warning["rule"] == "unknown_field"
    assert warning["message"].startswith("No entry has 'titel', 'nonsense'. Names for fields: id, kb_name, entry_type")
    assert warning["message"].endswith("floor, room.")
