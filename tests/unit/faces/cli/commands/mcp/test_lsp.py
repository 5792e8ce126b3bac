"""`commonplace lsp`: a server for an editor on standard input and output."""

from __future__ import annotations

import json
from typing import Any

from shell import Shell


def framed(*messages: dict[str, Any]) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


def test_an_editor_is_answered_and_ends_the_server(shell: Shell) -> None:
    done = shell(
        "lsp",
        shell.folder,
        stdin=framed(
            {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
            {"method": "initialized", "params": {}},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        ),
    )
    assert done.code == 0, done
    assert b'"definitionProvider"' in done.stdout
    assert done.stdout.startswith(b"Content-Length: ")


def test_a_folder_that_is_not_there_is_refused_in_one_line(shell: Shell) -> None:
    done = shell("lsp", "nowhere")
    assert (done.code, done.stdout) == (3, b"")
    assert "nowhere" in done.stderr
