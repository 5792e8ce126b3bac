"""The pages of tools, commands, settings and errors are those that the code makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT

COMMAND = [sys.executable, str(ROOT / "tools" / "list_tools.py")]
COMMANDS = [sys.executable, str(ROOT / "tools" / "list_commands.py")]
SETTINGS = [sys.executable, str(ROOT / "tools" / "list_settings.py")]


def test_the_page_of_tools_is_as_the_toolsets_are_and_a_change_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "tools.md"
    page.write_text((ROOT / "docs" / "tools.md").read_text(encoding="utf-8").replace("`kb_get`", "`kb_fetch`"))
    done = subprocess.run([*COMMAND, "--check", "--page", str(page)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tools.md is not as the toolsets are" in done.stderr


def test_the_page_of_commands_and_what_shells_complete_are_as_the_commands_are(tmp_path: Path) -> None:
    page, words = tmp_path / "commands.md", tmp_path / "words.py"
    given_texts = ["--page", str(page), "--words", str(words)]
    page.write_text("Out of date")
    done = subprocess.run([*COMMANDS, "--check", *given_texts], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "commands.md is not as the commands are" in done.stderr


def test_the_pages_of_settings_and_errors_are_as_the_code_is(tmp_path: Path) -> None:
    tmp_paths = ["--docs", str(tmp_path)]
    done = subprocess.run([*SETTINGS, "--check", *tmp_paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("is not as the code is")) == (1, 2)
    subprocess.run([*SETTINGS, *tmp_paths], check=True)
    for name in ("settings.md", "errors.md"):
        assert (tmp_path / name).read_bytes() == (ROOT / "docs" / name).read_bytes()
