"""The trace of a value lists the functions of the product that are given it, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT


def trace(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "trace_value.py"), *arguments],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_words_of_a_search_are_followed_to_the_index(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea.\n", encoding="utf-8")
    done = trace("zebrawort", "search", "zebrawort", "-C", str(tmp_path))
    *steps, figures, walk = done.stderr.splitlines()
    assert "services/searches.py: search" in steps
    assert any(step.startswith("index/local.py: ") for step in steps)
    assert not any(step.startswith("store/") for step in steps)
    assert figures.startswith("all: ")
    assert walk.startswith("walk: ")
    of_all, of_walk = (int(line.split()[1]) for line in (figures, walk))
    assert 0 < of_walk < of_all


def test_a_command_without_the_word_passes_it_nowhere(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    (tmp_path / "tea.md").write_text("# Tea\n", encoding="utf-8")
    done = trace("zebrawort", "list", "-C", str(tmp_path))
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "walk: 0 modules in 0 packages, 0 stays; 0 calls upwards"


def test_a_word_without_a_command_is_refused() -> None:
    assert trace("zebrawort").returncode == 2
