"""Resources of projects: listed, read and completed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import MCPError

from agent import Agent, agent


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Agent]:
    with agent("mcp", tmp_path / "store", "--toolset", "projects") as connected:
        connected.call("update_project_main", project_id="web shop", content="# Shop\n")
        connected.call(
            "create_knowledge_file",
            project_id="web shop",
            filename="guide",
            title="Guide",
            introduction="All.",
            keywords=["tea"],
            chapters=[{"title": "Start", "content": "Boil."}],
        )
        yield connected


def read(client: Agent, uri: str) -> str:
    (content,) = client.run(client.client.read_resource, uri).contents
    return content.text


def test_every_project_has_its_instructions_and_its_list_of_documents(client: Agent) -> None:
    client.call("create_todo", project_id="bare", description="x")
    listed = client.run(client.client.list_resources).resources
    assert [str(element.uri) for element in listed] == [
        "knowledge://projects/bare/files",
        "knowledge://projects/web%20shop/main",
        "knowledge://projects/web%20shop/files",
    ]
    assert listed[1].size == len("# Shop\n")
    assert read(client, "knowledge://projects/web%20shop/main") == "# Shop\n"
    files = json.loads(read(client, "knowledge://projects/web%20shop/files"))
    assert (files["count"], files["files"][0]["filename"]) == (1, "guide.md")
    chapters = json.loads(read(client, "knowledge://projects/web%20shop/chapters/guide.md"))
    assert (chapters["title"], [chapter["title"] for chapter in chapters["chapters"]]) == ("Guide", ["Start"])


@pytest.mark.parametrize(
    "rest", ["", "web%20shop", "web%20shop/other", "nobody/main", "../main", "web%20shop/chapters/none.md", "a/b/c/d"]
)
def test_what_is_not_there_is_not_found(client: Agent, rest: str) -> None:
    with pytest.raises(MCPError):
        read(client, f"knowledge://projects/{rest}")
