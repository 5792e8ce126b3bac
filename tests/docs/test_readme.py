"""The README's commands lead from nothing to an agent's answer, and that answer is the one that it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAX_LINES = 120


def block(heading: str, language: str) -> str:
    """The first block of a language below a heading."""
    match = re.search(rf"```{language}\n(.*?)```", README[README.index(heading) :], re.DOTALL)
    assert match
    return match[1]


def test_five_commands_lead_from_nothing_to_an_agents_answer(tmp_path: Path, cache_dir: Path) -> None:
    lines = block("## From nothing", "bash").strip().splitlines()
    setup, *middle, run = (line.partition("   #")[0].strip() for line in lines)
    assert (setup, run) == ("make setup", "make run KB=~/notes"), "what these two run is run here without setting up"
    assert 'run_demo.py "$(KB)"' in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(middle) == 3
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(cache_dir)}
    printed = ""
    for command in (*middle, ".venv/bin/python tools/run_demo.py ~/notes"):
        # `.venv` may lie elsewhere: the programs are those of the interpreter that runs the tests.
        typed = command.replace(".venv/bin", str(Path(sys.executable).parent))
        done = subprocess.run(
            ["bash", "-c", typed], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed += done.stdout
    assert re.sub(r"after \d+ ms", "after 18 ms", block("## From nothing", "text")) in re.sub(
        r"after \d+ ms", "after 18 ms", printed
    )
    assert sorted(path.name for path in (tmp_path / "notes").iterdir()) == [".git", ".mcp.json", "tea.md"]


def test_it_fits_on_two_screens() -> None:
    assert len(README.splitlines()) <= MAX_LINES


def test_its_figures_are_those_of_the_pages_that_it_names() -> None:
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("figures.md", "reliability.md"))
    promises = README[README.index("## What it promises") : README.index("## More")]
    figures = re.findall(r"\d[\d.,]*\d", promises)
    assert len(figures) >= 6
    assert [figure for figure in figures if figure not in pages] == []
