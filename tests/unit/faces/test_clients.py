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
    config_removal,
    entry_names,
    file_format,
    parsed,
    registered_servers,
    server_entry,
    write_config,
)

LAUNCH = LaunchCommand("/opt/commonplace/bin/commonplace", ["mcp", "/srv/Notes ünd more"])


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_is_added_to_a_file_that_is_not_there(client: ClientName, tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.json"
    made = config_change(client, {"notes": LAUNCH}, file)
    assert made.diff.startswith("--- config.json\n+++ config.json\n")
    assert not file.exists()
    write_config(made)
    assert parsed(file.read_text(), file_format(client)) == server_entry(client, {"notes": LAUNCH})
    assert list(file.parent.iterdir()) == [file]
    assert config_change(client, {"notes": LAUNCH}, file).diff == ""


def test_other_servers_settings_order_and_indentation_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    held = {"theme": "dark", "mcpServers": {"z": {"command": "zé"}, "notes": {"command": "old"}}, "last": [1, None]}
    file.write_text(json.dumps(held, indent=4, ensure_ascii=False))
    file.chmod(0o600)
    write_config(config_change("claude-desktop", {"notes": LAUNCH}, file))
    text = file.read_text()
    held["mcpServers"] = {"z": {"command": "zé"}, "notes": {"command": LAUNCH.command, "args": list(LAUNCH.args)}}
    assert text == json.dumps(held, indent=4, ensure_ascii=False)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["[]", "{} {}", '{"mcpServers": []}', "{"])
def test_what_cannot_be_read_whole_is_left_alone(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json cannot be changed"):
        config_change("cursor", {"notes": LAUNCH}, file)
    assert file.read_text() == text


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    made = config_change("cursor", {"notes": LAUNCH}, file)
    file.write_text('{"mcpServers": {"other": {"command": "x"}}}')
    with pytest.raises(ConflictError):
        write_config(made)
    assert "other" in file.read_text()


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("{}")
    link.symlink_to(target)
    write_config(config_change("cursor", {"notes": LAUNCH}, link))
    assert link.is_symlink()
    assert "notes" in target.read_text()


def test_each_client_is_asked_for_its_own_file() -> None:
    names = {client: client_config_file(client, Path("/srv")).name for client in CLIENTS}
    assert names == {
        "claude-code": ".mcp.json",
        "claude-desktop": "claude_desktop_config.json",
        "vscode": "mcp.json",
        "cursor": "mcp.json",
        "codex": "config.toml",
        "gemini": "settings.json",
        "windsurf": "mcp_config.json",
        "zed": "settings.json",
    }


def test_folders_of_the_same_name_get_names_that_differ() -> None:
    folders = [Path("/srv/team one/notes"), Path("/srv/notes"), Path("/srv/home/notes"), Path("/srv/Ünd docs")]
    assert entry_names(folders) == ["team-one-notes", "srv-notes", "home-notes", "nd-docs"]


SETTINGS = """\
// Zed settings
{
  "theme": "One, // Dark", /* kept */
  "context_servers": {
    // the other one
    "other": {"command": "x", "args": ["}", "//"],},
  },
  "vim_mode": true, // last
}
"""


def test_comments_and_layout_of_an_editors_settings_stay(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(SETTINGS)
    write_config(config_change("zed", {"notes": LAUNCH}, file))
    assert [line[0] for line in config_change("zed", {}, file).diff.splitlines()] == []
    text = file.read_text()
    assert set(SETTINGS.splitlines()) <= set(text.splitlines()) | {
        '    "other": {"command": "x", "args": ["}", "//"],},'
    }
    assert set(registered_servers("zed", text)) == {"other", "notes"}
    write_config(config_change("zed", {"notes": LaunchCommand("new", [])}, file))
    assert registered_servers("zed", file.read_text())["notes"] == {"source": "custom", "command": "new", "args": []}
    write_config(config_removal("zed", ["notes"], file))
    assert "notes" not in file.read_text()
    write_config(config_removal("zed", ["other"], file))
    assert registered_servers("zed", file.read_text()) == {}
    assert "// Zed settings" in file.read_text()


CODEX = """\
# my settings
model = "x"

[mcp_servers.notes.env]
A = "1"

[mcp_servers.other] # stays
command = "y"
args = []

[profiles.a]
model = "z"
"""


def test_a_table_of_toml_is_added_replaced_and_removed_and_all_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(CODEX)
    write_config(config_change("codex", {"notes": LAUNCH}, file))
    text = file.read_text()
    assert registered_servers("codex", text)["notes"] == {"command": LAUNCH.command, "args": list(LAUNCH.args)}
    assert text.startswith('# my settings\nmodel = "x"\n\n[mcp_servers.other] # stays\n')
    write_config(config_removal("codex", ["notes"], file))
    assert file.read_text().rstrip() == CODEX.replace('[mcp_servers.notes.env]\nA = "1"\n\n', "").rstrip()


@pytest.mark.parametrize(
    "text", ['mcp_servers = {notes = {command = "x"}}\n', 'mcp_servers.notes.command = "x"\n', "[mcp_servers\n"]
)
def test_toml_that_is_laid_out_otherwise_is_left_to_the_person(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="no TOML that can be edited") as refused:
        config_change("codex", {"notes": LAUNCH}, file)
    assert "by hand" in refused.value.hint
    assert file.read_text() == text
