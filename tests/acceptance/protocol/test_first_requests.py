"""The newer era has no handshake: whatever a client asks for first is answered."""

from __future__ import annotations

import json
from pathlib import Path

from serving import rpc_request
from wire import wire


def first(method: str, **params: object) -> bytes:
    """A request of the newer era, as a line."""
    return json.dumps(rpc_request(method, params)[1]).encode()


def test_a_call_may_come_before_anything_else(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    (tmp_path / "note.md").write_text("# Note\n")
    with wire("mcp", "--toolset", "kb", tmp_path, fresh=True) as server:
        server.send(first("tools/call", name="kb_get", arguments={"entry_id": "note"}))
        answer = server.answer(1)
        assert answer is not None
        assert not answer["result"]["isError"], answer


def test_who_follows_before_anything_else_is_told_of_a_change_at_once(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    (tmp_path / "note.md").write_text("# Note\n")
    with wire("mcp", "--toolset", "kb", tmp_path, fresh=True) as server:
        wanted = {"resourceSubscriptions": [f"pyrite://kbs/{tmp_path.name}/entries/note"]}
        server.send(first("subscriptions/listen", notifications=wanted))
        acknowledged = server.receive()
        assert acknowledged is not None
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        (tmp_path / "note.md").write_text("# Changed\n")
        told = server.receive()
        assert told is not None
        assert told["method"] == "notifications/resources/updated"
