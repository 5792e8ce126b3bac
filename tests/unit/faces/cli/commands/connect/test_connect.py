"""`commonplace connect`: which entries, in which file, and when it is written."""

from __future__ import annotations

import json
from pathlib import Path

from shell import Shell


def test_nothing_is_written_without_consent_and_nothing_twice(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "clients" / "mcp.json"
    shown = shell.ok("connect", "claude-code", "--file", file, "--json").json
    assert (shown["written"], shown["names"], shown["file"]) == (False, ["notes"], str(file))
    assert shown["diff"]
    assert not file.exists()
    assert shell.ok("connect", "claude-code", "--file", file, "--yes", "--json").json["written"] is True
    before = file.read_bytes()
    again = shell.ok("connect", "claude-code", "--file", file, "--yes", "--json").json
    assert (again["written"], again["diff"]) == (False, "")
    assert file.read_bytes() == before
    assert "has this entry already" in shell.ok("connect", "claude-code", "--file", file).stderr


def test_the_entry_names_the_folder_and_the_options_in_full(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    options = ("--tier", "write", "--commit", "auto", "--toolset", "kb", "--name", "mine", "--yes")
    shell.ok("connect", "claude-code", "--file", file, *options)
    entry = json.loads(file.read_text())["mcpServers"]["mine"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-8:] == [
        "mcp", str(shell.folder), "--toolset", "kb", "--tier", "write", "--commit", "auto",
    ]  # fmt: skip


def test_only_the_named_entry_is_taken_out(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"theirs": {"command": "x"}}, "other": [1]}))
    shell.ok("connect", "claude-code", "--file", file, "--yes")
    gone = shell.ok("connect", "claude-code", "--file", file, "--remove", "--yes", "--json").json
    assert (gone["entry"], gone["written"]) == ({}, True)
    assert json.loads(file.read_text()) == {"mcpServers": {"theirs": {"command": "x"}}, "other": [1]}
    missing = shell.ok("connect", "claude-code", "--file", file, "--remove", "--yes")
    assert "has no such entry" in missing.stderr


def test_what_cannot_be_served_is_refused_and_nothing_is_written(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    for code, arguments in (
        (3, ["-C", "nowhere"]),
        (2, ["--manifest", "nowhere.json"]),
        (2, ["--manifest", "nowhere.json", "--toolset", "kb"]),
        (2, ["--tier", "owner"]),
    ):
        done = shell("connect", "claude-code", "--file", file, "--yes", *arguments)
        assert (done.code, done.text) == (code, ""), done
    assert not file.exists()
    assert shell("connect", "emacs").code == 2
