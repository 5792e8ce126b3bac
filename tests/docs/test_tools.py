"""The page of all tools is the one that the toolsets make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT

COMMAND = [sys.executable, str(ROOT / "tools" / "list_tools.py")]


def test_the_page_of_tools_is_as_the_toolsets_are_and_a_change_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "tools.md"
    page.write_text((ROOT / "docs" / "tools.md").read_text(encoding="utf-8").replace("`kb_get`", "`kb_fetch`"))
    done = subprocess.run([*COMMAND, "--check", "--page", str(page)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tools.md is not as the toolsets are" in done.stderr
    subprocess.run([*COMMAND, "--page", str(page)], check=True)
    assert page.read_bytes() == (ROOT / "docs" / "tools.md").read_bytes()
