"""The configuration of MCP clients: one entry added, everything else as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError, ConflictError
from commonplace.faces.clients import (
    CLIENTS,
    ClientName,
    LaunchCommand,
    client_config_file,
    config_change,
    server_entry,
    write_config,
)

LAUNCH = LaunchCommand("/opt/commonplace/bin/commonplace", ["mcp", "/srv/Notes ünd more"])


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_is_added_to_a_file_that_is_not_there(client: ClientName, tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.json"
    made = config_change(client, "notes", LAUNCH, file)
    assert made.diff.startswith("--- config.json\n+++ config.json\n")
    assert not file.exists()
    write_config(made)
    assert json.loads(file.read_text()) == server_entry(client, "notes", LAUNCH)
    assert list(file.parent.iterdir()) == [file]
    assert config_change(client, "notes", LAUNCH, file).diff == ""


def test_other_servers_settings_order_and_indentation_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    held = {"theme": "dark", "mcpServers": {"z": {"command": "zé"}, "notes": {"command": "old"}}, "last": [1, None]}
    file.write_text(json.dumps(held, indent=4, ensure_ascii=False))
    file.chmod(0o600)
    write_config(config_change("claude-desktop", "notes", LAUNCH, file))
    text = file.read_text()
    held["mcpServers"] = {"z": {"command": "zé"}, "notes": {"command": LAUNCH.command, "args": list(LAUNCH.args)}}
    assert text == json.dumps(held, indent=4, ensure_ascii=False) + "\n"
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["// a comment\n{}", "[]", '{"mcpServers": []}', "{"])
def test_what_cannot_be_read_whole_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json cannot be changed"):
        config_change("cursor", "notes", LAUNCH, file)
    assert file.read_text() == text


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    made = config_change("cursor", "notes", LAUNCH, file)
    file.write_text('{"mcpServers": {"other": {"command": "x"}}}')
    with pytest.raises(ConflictError):
        write_config(made)
    assert "other" in file.read_text()


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("{}")
    link.symlink_to(target)
    write_config(config_change("cursor", "notes", LAUNCH, link))
    assert link.is_symlink()
    assert "notes" in target.read_text()


def test_each_client_is_asked_for_its_own_file() -> None:
    names = {client: client_config_file(client).name for client in CLIENTS}
    assert names == {
        "claude-code": ".mcp.json",
        "claude-desktop": "claude_desktop_config.json",
        "vscode": "mcp.json",
        "cursor": "mcp.json",
    }
