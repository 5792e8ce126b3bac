"""The README's first screen: its six commands lead from an empty folder to an answered call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_SCREEN = 50
"""Lines."""


def test_six_commands_lead_from_an_empty_folder_to_an_answered_call(tmp_path: Path, cache_dir: Path) -> None:
    screen = "\n".join(README.splitlines()[:FIRST_SCREEN])
    assert screen.index("It is not") < screen.index("## Install") < screen.index("## From an empty folder")
    block = re.search(r"```bash\n(.*?)```", screen[screen.index("## From an empty folder") :], re.DOTALL)
    assert block
    commands = [line.partition("   #")[0].strip() for line in block[1].strip().splitlines()]
    assert len(commands) == 6
    setup, *middle, run = commands
    assert (setup, run) == ("make setup", "make run KB=~/notes"), "what these two run is run here without setting up"
    assert 'run_demo.py "$(KB)"' in (ROOT / "Makefile").read_text(encoding="utf-8")
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache_dir)}
    said = ""
    for command in (*middle, ".venv/bin/python tools/run_demo.py ~/notes"):
        # `.venv` may lie elsewhere: the programs are those of the interpreter that runs the tests.
        typed = command.replace(".venv/bin", str(Path(sys.executable).parent))
        done = subprocess.run(
            ["bash", "-c", typed], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        said += f"$ {command}\n{done.stdout}"
    assert "Created tea.md" in said
    assert said.count("Green tea wants water of 80 degrees.") >= 2
    assert '+    "notes": {' in said
    assert "[kb_search: " in said
    assert sorted(path.name for path in (tmp_path / "notes").iterdir()) == ["tea.md"]
