"""A real Neovim walks through a folder: goes to a definition, renames a heading, sees a dead link, completes one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forks.preloaded import preloaded

WALK = Path(__file__).with_name("walk.lua")


@pytest.mark.skipif(shutil.which("nvim") is None and not os.environ.get("REQUIRE_TOOLS"), reason="needs Neovim")
def test_a_walk_through_neovim(root: Path, tmp_path: Path) -> None:
    command = [*(preloaded().stand_in(os.environ) or [sys.executable, "-m", "commonplace"]), "lsp"]
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {WALK}"],
        cwd=root,
        env={**os.environ, "WALK_OUT": str(tmp_path / "saw.json"), "WALK_COMMAND": "\n".join(command)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (tmp_path / "saw.json").exists(), done.stderr
    saw = json.loads((tmp_path / "saw.json").read_text())
    assert saw == {
        "definition": "guide.md",
        "diagnostic": "The link to 'nowhere' leads nowhere.",
        "completion": "guide]]",
    }
    assert "## First steps\n" in (root / "guide.md").read_text()
    assert "[[guide#First steps|how]]" in (root / "index.md").read_text()
    assert "(../guide.md#first-steps)" in (root / "notes/deep.md").read_text()
    assert "😀😀 [[guide#First steps]]" in (root / "notes/ключ.md").read_text()
