"""The log has a line for each call, the metrics count who was refused and why, and writes have a log of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serving import RawSession, Server, commonplace, create_key, served
from support import eventually, new_repo

WORD = "unspeakable"
"""A word of contents, paths and queries that no log may have."""


def _lines(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.lines if line.startswith("{")]


def test_a_call_in_a_session_of_the_older_era_is_logged_with_its_tool(tmp_path: Path) -> None:
    work = new_repo(tmp_path / "notes", {"a.md": "# A\n\nwords\n"})
    with served(work.path, "--log-format", "json") as server:
        session = RawSession(server, "notes")
        for number in (1, 2):
            session.ask(number, "tools/call", {"name": "read", "arguments": {"page": "a"}})
        eventually(lambda: [row.get("tool") for row in _lines(server)].count("read") == 2, 30)


@pytest.mark.usefixtures("cache_dir")
def test_every_call_is_logged_and_refusals_are_counted_and_writes_are_kept(tmp_path: Path) -> None:
    work = new_repo(tmp_path / "notes", {"a.md": "# A\n\nwords\n"})
    writer = create_key("Laptop of Kim", "--tier", "write")
    reader = create_key("reader", "--tier", "read")
    with served(work.path, "--commit", "auto", "--log-format", "json") as server:
        assert server.page("GET", "a", key=writer).status == 200
        assert server.ask("GET", f"/api/v1/search?q={WORD}", key=reader).status == 200
        text = {"content": f"# New\n\n{WORD}\n"}
        assert server.page("PUT", f"{WORD}/new", text, key=writer).status == 201
        stale = {"content": "# Other\n", "revision": "0" * 40}
        assert server.page("PUT", f"{WORD}/new", stale, key=writer).status == 409
        assert server.page("PUT", "b", text, key=reader).status == 403
        assert server.page("GET", "a", key="cpk_wrong").status == 401
        edit = {"page": "a", "changes": [{"do": "append", "text": WORD}]}
        assert not server.call("notes", "edit", edit, key=writer).get("isError")
        eventually(lambda: len(_lines(server)) >= 7, 30)

        metrics = server.ask("GET", "/metrics", key=writer).body.decode()
        for status, caller in ((401, "without a key"), (403, "reader"), (409, "Laptop of Kim")):
            assert f'commonplace_refusals_total{{caller="{caller}",reason=' in metrics
            assert f'status="{status}"' in metrics
        assert 'commonplace_writes_total{caller="Laptop of Kim"} 2.0' in metrics
        assert 'commonplace_documents{collection="notes"} 2.0' in metrics

    lines = _lines(server)
    rows = [(row["route"], row.get("tool"), row["status"], row.get("caller")) for row in lines if "route" in row]
    assert ("GET /api/v1", "GET /pages/{path}", 200, "Laptop of Kim") in rows
    assert ("PUT /api/v1", "PUT /pages/{path}", 409, "Laptop of Kim") in rows
    assert ("GET /api/v1", None, 401, None) in rows
    assert ("POST /mcp", "edit", 200, "Laptop of Kim") in rows
    written = next(row for row in lines if row.get("status") == 201)
    assert written["bases"] == ["notes"]
    assert written["address"] == "127.0.0.1"
    assert written["bytes"] > 0
    assert len(written["trace"]) == 32
    assert WORD not in "".join(server.lines[1:])

    assert work.git("log", "-2", "--format=%an").splitlines() == ["Laptop of Kim"] * 2
    told = json.loads(commonplace("audit", "--json", "--caller", "Laptop of Kim").stdout)["writes"]
    assert [(row["tool"], row["base"], row["address"]) for row in told] == [
        ("PUT /pages/{path}", "notes", "127.0.0.1"),
        ("edit", "notes", "127.0.0.1"),
    ]
    assert told[0]["files"] == [f"{WORD}/new.md"]
    assert told[1]["commit"] == work.git("rev-parse", "HEAD")
    assert "Laptop of Kim from 127.0.0.1" in commonplace("audit").stdout
    assert commonplace("audit", "--caller", "reader").stdout == ""
