"""The version names the commit that the program was built from, where that is known."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import commonplace

RUN: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 60}


def build_in(folder: Path) -> str:
    """The build that the package reports if it is imported from this folder."""
    (folder / "commonplace").mkdir(parents=True, exist_ok=True)
    shutil.copy(commonplace.__file__, folder / "commonplace")
    code = "import commonplace; print(commonplace.build())"
    done = subprocess.run([sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(folder)}, check=True, **RUN)
    return done.stdout.strip()


def test_a_package_that_names_its_commit_is_believed(tmp_path: Path) -> None:
    (tmp_path / "commonplace").mkdir()
    (tmp_path / "commonplace/commit.txt").write_text("0123456789ab\n")
    assert build_in(tmp_path) == f"{commonplace.__version__} (0123456789ab)"


@pytest.mark.parametrize("parent", ["no/such/place", "x" * 200])
def test_a_package_outside_a_checkout_has_its_version_alone(parent: str, tmp_path: Path) -> None:
    assert build_in(tmp_path / parent / "src") == commonplace.__version__


def test_a_folder_that_only_looks_like_a_checkout_has_its_version_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert build_in(tmp_path / "src") == commonplace.__version__


@pytest.mark.parametrize("program", ["commonplace.main", "commonplace.cn"])
def test_on_windows_the_first_line_says_that_wsl_is_needed(program: str) -> None:
    code = f"import sys; sys.platform = 'win32'; from {program} import main; sys.exit(main(['search', 'tea']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "commonplace runs on Linux and macOS; on Windows install and run it in WSL.\n"
