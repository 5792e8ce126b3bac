"""Pages of very many headings are written over every face, and a client that goes away leaves no work behind."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest

from agent import agent
from serving import served
from shell import Shell
from site_packages import add_plugin
from support import eventually
from wire import wire

HEADINGS = 12_000
END_SECONDS = 40.0
"""The bound of every wait for a process to end, shorter than a plugin may take; passed only by a failing test."""


def page(word: str) -> str:
    return "".join(
        f"## Heading {n}\n\nSome {word} about subject {n * 7919 % 1000} and n{n}.\n\n" for n in range(HEADINGS)
    )


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "a.md").write_text("# Alpha\n\nThe first. [[large]]\n")
    return folder


@pytest.mark.soak
def test_a_page_of_very_many_headings_is_created_updated_found_listed_and_checked(base: Path) -> None:
    with agent("mcp", "--toolset", "kb", base, "--tier", "write") as writer:
        given_values = {"kb_name": "base", "entry_type": "note", "title": "Large", "body": page("kangaroo")}
        revision = writer.call("kb_create", **given_values)["revision"]
        assert writer.call("kb_search", query="kangaroo")["results"][0]["id"] == "large"
        assert writer.call("kb_search", query="n11999", limit=1)["results"][0]["snippet"]
        changed = writer.call("kb_update", kb_name="base", entry_id="large", body=page("wombat"), revision=revision)
        assert writer.call("kb_search", query="kangaroo")["total"] == 0
        assert writer.call("kb_search", query="wombat")["results"][0]["id"] == "large"
        assert writer.call("kb_get", entry_id="large")["entry"]["revision"] == changed["revision"]
        assert writer.call("kb_backlinks", entry_id="large", kb_name="base")["backlink_count"] == 1
        assert [row["id"] for row in writer.call("kb_list_entries", sort_by="title")["entries"]] == ["a", "large"]
        assert writer.call("kb_qa_validate", kb_name="base", entry_id="large")["count"] == 0


@pytest.mark.soak
def test_such_a_page_is_written_over_rest_and_by_the_command(base: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    with served(base) as server:
        put = server.ask("PUT", f"/api/v1/pages/{quote('put')}", {"content": page("kangaroo")})
        assert put.status == 201, put.body[:200]
        assert [row["path"] for row in server.ask("GET", "/api/v1/search?q=kangaroo").json["results"]] == ["put"]
    shell = Shell(base)
    shown = shell("write", "written", "--json", stdin=page("wombat")).json
    assert shown["action"] == "created"
    assert (base / "written.md").read_text() == page("wombat")
    assert [row["path"] for row in shell.ok("search", "wombat", "--json").json["hits"]] == ["written.md"]


def test_a_process_whose_client_goes_away_in_mid_write_ends_with_the_page_whole(base: Path) -> None:
    with wire("mcp", "--toolset", "kb", base, "--tier", "write") as server:
        server.initialize()
        server.call("kb_list")
        given_values = {"kb_name": "base", "entry_type": "note", "title": "Large", "body": page("kangaroo")}
        server.ask("tools/call", {"name": "kb_create", "arguments": given_values})
        assert server.process.stdin is not None
        server.process.stdin.close()
        eventually(lambda: server.process.poll() is not None, END_SECONDS)
    written = base / "notes" / "large.md"
    assert not written.exists() or written.read_text().endswith(page("kangaroo"))


@pytest.mark.parametrize("tier", ["read", "write"])
def test_a_process_whose_client_goes_away_does_not_wait_for_a_plugin(base: Path, tmp_path: Path, tier: str) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    tool = f"{{'description': '', 'handler': lambda args: open({str(gate)!r}).read()}}"
    tools = f"    def get_mcp_tools(self, tier):\n        return {{'sleep': {tool}}} if tier == {tier!r} else {{}}\n"
    add_plugin(tmp_path / "site", "sleepy", f"class Plugin:\n    name = 'sleepy'\n\n{tools}")
    with wire("mcp", "--toolset", "kb", base, "--tier", "write", env={"PYTHONPATH": str(tmp_path / "site")}) as server:
        server.initialize()
        server.ask("tools/call", {"name": "sleep", "arguments": {}})
        assert server.call("kb_list")
        assert server.process.stdin is not None
        server.process.stdin.close()
        eventually(lambda: server.process.poll() is not None, END_SECONDS)
