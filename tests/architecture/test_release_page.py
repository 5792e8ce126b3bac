"""The table in docs/release.md says what the Makefile says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "list_release.py"), *arguments],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_the_page_is_as_the_makefile_is() -> None:
    assert check("--check").returncode == 0


def test_another_description_of_a_target_is_found_and_written(tmp_path: Path) -> None:
    page, makefile = tmp_path / "release.md", tmp_path / "Makefile"
    page.write_text((ROOT / "docs" / "release.md").read_text(encoding="utf-8"), encoding="utf-8")
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    makefile.write_text(text.replace("## the whole suite", "## every test | twice"), encoding="utf-8")
    given_texts = ["--page", str(page), "--makefile", str(makefile)]
    done = check("--check", *given_texts)
    assert done.returncode == 1
    assert "run python tools/list_release.py" in done.stderr
    assert check(*given_texts).returncode == 0
    assert "| `make test` | every test \\| twice |" in page.read_text(encoding="utf-8")
    assert check("--check", *given_texts).returncode == 0


def test_a_target_that_the_makefile_lost_is_named(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    makefile.write_text("test: setup ## the whole suite\n", encoding="utf-8")
    done = check("--check", "--makefile", str(makefile))
    assert done.returncode == 1
    assert "dist" in done.stderr
