"""Answers of more than a megabyte: the official client refuses one as an event of a stream."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent import Agent, online, text_of
from commonplace.toolsets.kb.mcp.entries import MAX_BODIES
from serving import served
from support import new_repo
from ways import ERAS

SENTENCE = 'Compost needs air, water and "patience". Überall.\n'
LINES = 500
ENTRIES = 60
LARGE = SENTENCE * 40_000
"""The text of one page; with its escapes about two megabytes."""


@pytest.fixture(scope="module", params=ERAS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    files = {f"e{number:02}.md": f"# Zebra {number}\n\n{SENTENCE * LINES}" for number in range(ENTRIES)}
    repo = new_repo(tmp_path_factory.mktemp("large") / "base", {**files, "large.md": f"# Large\n\n{LARGE}"})
    with served(repo.path, "--toolset", "kb") as server, online(f"{server.url}/mcp", mode=request.param) as agent:
        yield agent


def test_a_large_page_is_read_whole(client: Agent) -> None:
    read = client.run(client.client.read_resource, "commonplace://kbs/base/files/large.md")
    assert LARGE in read.contents[0].text


@pytest.mark.parametrize(
    ("tool", "arguments", "rows"),
    [
        ("kb_search", {"query": "zebra", "limit": 100, "include_body": True}, "results"),
        ("kb_list_entries", {"limit": 200, "fields": ["title", "body"]}, "entries"),
        ("kb_recent", {"limit": 100, "fields": ["body"]}, "entries"),
    ],
)
def test_bodies_of_a_list_share_a_size_and_say_where_to_read_on(
    tool: str, arguments: dict[str, object], rows: str, client: Agent
) -> None:
    answer = client.call(tool, **arguments)
    entries = answer[rows]
    assert len(entries) >= ENTRIES
    assert sum(len(entry["body"].encode()) for entry in entries) <= MAX_BODIES
    assert len(text_of(client.raw(tool, **arguments)).encode()) < 2 * MAX_BODIES
    cut = [entry for entry in entries if entry.get("body_truncated")]
    assert cut
    assert "kb_get and body_offset" in answer["notice"]
    first = cut[0]
    assert (first["body_offset"], first["body_chunk_size"]) == (0, len(first["body"]))
    rest = client.call("kb_get", entry_id=first["id"], body_offset=first["body_chunk_size"], body_limit=50_000)["entry"]
    whole = first["body"] + rest["body"]
    assert len(whole) == min(first["body_length"], first["body_chunk_size"] + 50_000)
    assert SENTENCE * LINES in whole


def test_bodies_that_fit_are_whole(client: Agent) -> None:
    answer = client.call("kb_list_entries", limit=5, sort_by="title", sort_order="desc", fields=["body"])
    assert all(SENTENCE * LINES in entry["body"] and "body_truncated" not in entry for entry in answer["entries"])
    assert "notice" not in answer
