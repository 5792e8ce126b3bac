"""`commonplace mcp`: what is served, and what is refused before it."""

from __future__ import annotations

import json

import pytest

from commonplace.faces.cli.commands.mcp import McpOptions
from shell import Shell


def test_only_what_is_given_becomes_a_setting() -> None:
    assert set(McpOptions().flags().values()) == {None}
    given_flags = McpOptions(tier="write", port="8090", no_embed=True, adopt=True).flags()
    assert {name: value for name, value in given_flags.items() if value is not None} == {
        "tier": "write",
        "port": "8090",
        "embed": "false",
        "adopt": "true",
    }


def test_a_client_that_goes_ends_the_server(shell: Shell) -> None:
    assert shell.ok("mcp", shell.folder).stdout == b""


def test_a_folder_is_served_from_the_first_message(shell: Shell) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    done = shell.ok("mcp", stdin=json.dumps(hello) + "\n")
    assert json.loads(done.lines[0])["result"]["serverInfo"]["name"] == "commonplace"


@pytest.mark.parametrize(
    ("code", "arguments", "says"),
    [
        (3, ["nowhere"], "nowhere"),
        (3, ["index.md"], "index.md"),
        (2, ["--manifest", "layers.json", "."], "--manifest"),
        (2, ["--manifest", "layers.json", "-C", "."], "--manifest"),
        (2, ["--personal", "."], "--shared"),
        (2, ["--transport", "ftp"], "'ftp'"),
        (2, ["--tier", "owner"], "owner"),
        (2, ["--toolset", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(shell: Shell, code: int, arguments: list[str], says: str) -> None:
    done = shell("mcp", *arguments)
    assert (done.code, done.stdout) == (code, b""), done
    assert says in done.stderr
    assert "Traceback" not in done.stderr
