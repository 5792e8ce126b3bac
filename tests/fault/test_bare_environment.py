"""Commands where the environment gives little: no home, one that cannot be written, the locale C, few descriptors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shell import COMMAND
from support import ROOT, MakeRepo

BARE = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C"}
COMMANDS = (
    ["write", "ä", "--append"], ["search", "kangaroo"], ["read", "ä"], ["log", "ä"], ["check"], ["list"],
    ["write", "neu/ö"],
)  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["no home", "a missing home", "a read-only home", "64 descriptors"])
def test_commands_work_in_a_bare_environment(git_repo: MakeRepo, tmp_path: Path, kind: str) -> None:
    repo = git_repo("kb", {"ä.md": "# Ä\n\nkangaroo straße\n"})
    home = tmp_path / "home"
    environment = BARE if kind == "no home" else BARE | {"HOME": str(home)}
    limits = "ulimit -n 64;" if kind == "64 descriptors" else ""
    if kind == "a read-only home":
        home.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", home], check=False).returncode:
            pytest.skip("may not mount a file system here")
    elif kind != "a missing home":
        home.mkdir()
    try:
        for command in COMMANDS:
            done = subprocess.run(
                ["bash", "-c", f'{limits} exec "$@"', "bash", sys.executable, *COMMAND, *command],
                cwd=repo.path, env=environment, input="Zebra.\n", capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (command, done.stderr)
            assert "Traceback" not in done.stderr, command
        assert "Zebra." in (repo.path / "ä.md").read_text(encoding="utf-8")
        assert repo.git("status", "--porcelain") == ""
    finally:
        if kind == "a read-only home":
            subprocess.run(["umount", "--lazy", home], check=False)
