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
        notifications = {"resourceSubscriptions": [f"pyrite://kbs/{tmp_path.name}/entries/note"]}
        server.send(first("subscriptions/listen", notifications=notifications))
        acknowledged = server.receive()
        assert acknowledged is not None
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        (tmp_path / "note.md").write_text("# Changed\n")
        reported_values = server.receive()
        assert reported_values is not None
        assert reported_values["method"] == "notifications/resources/updated"


def test_lines_that_are_no_message_are_answered_with_their_code(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Note\n")
    deep = b"[" * 100_000 + b"]" * 100_000
    with wire("mcp", "--toolset", "kb", tmp_path) as server:
        for params, code, identifier in (
            (b'{"x":NaN}', -32700, None),
            (b'{"x":-Infinity}', -32700, None),
            (b'{"x":"\xff"}', -32700, None),
            (b'{"x":"\xed\xa0\x80"}', -32700, None),
            (b'{"x":%s}' % deep, -32600, 7),
            (b'{"x":1e999}', -32600, 7),
        ):
            server.send(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":%s}' % params)
            answer = server.receive()
            assert answer is not None
            assert (answer["error"]["code"], answer["id"]) == (code, identifier), params[:20]
        server.send(first("tools/call", name="kb_get", arguments={"entry_id": "note"}))
        assert server.answer(1)
