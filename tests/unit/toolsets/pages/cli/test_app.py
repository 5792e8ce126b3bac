"""`cn` as a whole: commands, exit codes, and the entry for a client."""

from __future__ import annotations

import json
from pathlib import Path

from spaces.places import cn
from spaces.tree import write_space


def test_a_wrong_command_line_ends_with_6(tmp_path: Path) -> None:
    for arguments in (["serach"], ["search"], ["search", "x", "--limit", "0"], ["mcp", "--print-config", "emacs"]):
        done = cn(tmp_path, *arguments)
        assert (done.code, done.text) == (6, ""), done
        assert done.stderr.startswith("Error: ")


def test_a_folder_that_is_no_space_or_not_there_is_told(tmp_path: Path) -> None:
    assert cn(tmp_path, "search", "x").code == 1
    assert cn(tmp_path, "mcp", "none", "--print-config", "claude-code").code == 11


def test_commands_that_need_a_site_say_what_is_missing(tmp_path: Path) -> None:
    for arguments, code, says in (
        (("clone", "ENG", "--site", "https://acme.example"), 3, "No login for https://acme.example"),
        (("clone", "ENG", "--site", "http://acme.example"), 6, "only sent over https"),
        (("clone", "ENG"), 3, "There is no login"),
        (("login", "https://acme.example"), 6, "Pipe it in, with --token-stdin"),
        (("pull",), 1, "There is no space here"),
        (("push",), 1, "There is no space here"),
    ):
        done = cn(tmp_path, *arguments)
        assert (done.code, done.text) == (code, ""), done
        assert says in done.stderr


def test_the_entry_for_a_client_is_named_after_the_space(tmp_path: Path) -> None:
    root = write_space(tmp_path / "eng").root
    shown = cn(tmp_path, "mcp", "eng", "--engine", "embedded", "--print-config", "claude-code")
    assert shown.code == 0, shown
    ((name, entry),) = json.loads(shown.text)["mcpServers"].items()
    assert name.startswith("confluence-")
    assert entry["args"] == ["mcp", str(root), "--engine", "embedded"]
    assert "Put this into " in shown.stderr


def test_a_word_that_is_also_a_command_can_be_searched_for(tmp_path: Path) -> None:
    root = write_space(tmp_path / "eng").root
    assert cn(root, "search", " index", "--json").json["query"] == " index"
