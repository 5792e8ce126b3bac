"""Layers while they are served: a manifest that changes is taken up by the next call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent
from layers import write_cascade, write_layer


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_cascade(tmp_path, {"own": (2, {"tea.md": "# Tea\n"}), "team": (1, {"cake.md": "# Cake\n"})})


@pytest.fixture
def client(manifest: Path) -> Iterator[Agent]:
    with agent("mcp", "--manifest", manifest) as connected:
        yield connected


def concepts(client: Agent) -> list[str]:
    return sorted(element["id"] for element in client.call("list_concepts")["result"])


def rewrite(manifest: Path, text: str) -> None:
    beside = manifest.with_suffix(".new")
    beside.write_text(text)
    beside.replace(manifest)


def test_a_layer_that_is_added_and_one_that_is_taken_out_count_at_once(client: Agent, manifest: Path) -> None:
    assert concepts(client) == ["cake", "tea"]
    write_layer(manifest.parent / "third", {"pie.md": "# Pie\n"})
    named = json.loads(manifest.read_text())["layers"]
    rewrite(manifest, json.dumps({"layers": [named[0], {"name": "third", "level": 3, "path": "third"}]}))
    assert concepts(client) == ["pie", "tea"]


def test_a_manifest_that_breaks_leaves_the_layers_and_is_told(client: Agent, manifest: Path) -> None:
    whole = manifest.read_text()
    rewrite(manifest, "{")
    listed = client.call("list_concepts")
    assert sorted(element["id"] for element in listed["result"]) == ["cake", "tea"]
    assert "its manifest has changed and is not used" in json.dumps(listed["layers"])
    rewrite(manifest, whole)
    assert "layers" not in client.call("list_concepts")


def test_a_folder_that_comes_later_is_taken_up(tmp_path: Path) -> None:
    manifest = write_cascade(
        tmp_path, {"own": (1, {"tea.md": "# Tea\n"})}, {"name": "late", "level": 2, "path": "late"}
    )
    with agent("mcp", "--manifest", manifest) as client:
        assert concepts(client) == ["tea"]
        write_layer(tmp_path / "late", {"pie.md": "# Pie\n"})
        assert concepts(client) == ["pie", "tea"]
