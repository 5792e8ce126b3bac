"""`commonplace connect` makes an entry with which a client really reaches the folder."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from shell import Shell


def test_the_entry_that_is_written_starts_a_server_for_the_folder(tmp_path: Path) -> None:
    notes = tmp_path / "my notes"
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nGreen tea wants water of 80 degrees.\n")
    shell = Shell(tmp_path)
    shown = shell.ok("connect", "vscode", "-C", notes)
    assert "+" in shown.text
    assert "Nothing was written" in shown.stderr
    assert f"writes it to {notes / '.vscode' / 'mcp.json'}" in shown.stderr
    assert not (notes / ".vscode").exists()
    done = shell.ok("connect", "vscode", "-C", notes, "--tier", "write", "--yes", "--json").json
    held = json.loads((notes / ".vscode" / "mcp.json").read_text())
    assert done["entry"] == held
    assert done["written"] is True
    server = held["servers"]["my-notes"]
    assert anyio.run(_found, server["command"], server["args"]) == ["tea"]
    assert "The server 'my-notes' serves" in shell.ok("doctor", "-C", notes).text
    again = shell.ok("connect", "vscode", "-C", notes, "--tier", "write", "--yes", "--json").json
    assert (again["diff"], again["written"]) == ("", False)
    assert shell("connect", "vscode", "-C", tmp_path / "nowhere").code == 3


def test_each_of_several_folders_gets_an_entry_of_its_own_which_is_removed_alone(tmp_path: Path) -> None:
    folders = [tmp_path / name / "notes" for name in ("work", "home")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "tea.md").write_text(f"# {folder.parent.name}\n\nGreen tea.\n")
    shell = Shell(tmp_path, {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / "codex")})
    both = [part for folder in folders for part in ("-C", str(folder))]
    made = shell.ok("connect", "codex", *both, "--yes", "--json").json
    assert made["names"] == ["work-notes", "home-notes"]
    file = tmp_path / "codex" / "config.toml"
    servers = tomllib.loads(file.read_text())["mcp_servers"]
    assert made["entry"] == {"mcp_servers": servers}
    for name, folder in zip(made["names"], folders, strict=True):
        assert servers[name]["args"] == ["mcp", str(folder)]
        assert anyio.run(_found, servers[name]["command"], servers[name]["args"]) == ["tea"]
    reported_text = shell.ok("doctor", "-C", folders[0]).text
    assert "The server 'work-notes' serves ~/work/notes." in reported_text
    assert "Nothing was written" in shell.ok("connect", "codex", "--remove", "--name", "work-notes").stderr
    assert shell.ok("connect", "codex", "--remove", "--name", "work-notes", "--yes", "--json").json["written"]
    assert list(tomllib.loads(file.read_text())["mcp_servers"]) == ["home-notes"]
    again = shell.ok("connect", "codex", "--remove", "--name", "work-notes", "--yes")
    assert "has no such entry" in again.stderr
    other_json = shell.ok("connect", "codex", *both, "--name", "all", "--json").json
    assert other_json["entry"]["mcp_servers"]["all"]["args"] == ["mcp", *map(str, folders)]


def test_a_file_that_cannot_be_changed_is_said_to_be_so_and_left_alone(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "deep.json").write_text("[" * 200_000)
    os.mkfifo(tmp_path / "pipe.json")
    for name, reason in {
        "deep": "it is no JSON that can be edited (too deeply nested)",
        "pipe": "it is not a regular file",
    }.items():
        done = shell("connect", "cursor", "--file", f"{name}.json", "--yes", "--json")
        assert (done.code, done.error["code"], reason in done.error["message"]) == (2, "config", True)
    assert (tmp_path / "deep.json").read_text() == "[" * 200_000
    (tmp_path / "pipe.json").unlink()
    os.mkfifo(tmp_path / "layers.json")
    assert shell("resolve", "--manifest", "layers.json", "--concept", "a", "--json").code == 2


async def _found(command: str, args: list[str]) -> list[str]:
    parameters = StdioServerParameters(command=command, args=args)
    async with Client(stdio_client(parameters)) as client:
        answer = await client.call_tool("search", {"query": "green tea"})
    assert isinstance(answer.content[0], TextContent)
    return re.findall(r"(?m)^\[\d+\] (\S+?)\.md", answer.content[0].text)
