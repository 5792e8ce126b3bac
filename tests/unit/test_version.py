"""The version names the commit that the program was built from, where that is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import commonplace


def test_a_package_that_names_its_commit_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "commit.txt").write_text("0123456789ab\n")
    monkeypatch.setattr(commonplace, "__file__", str(tmp_path / "__init__.py"))
    assert commonplace.build() == f"{commonplace.__version__} (0123456789ab)"


@pytest.mark.parametrize("parent", ["no/such/place", "x" * 300])
def test_a_package_outside_a_checkout_has_its_version_alone(
    parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commonplace, "__file__", str(tmp_path / parent / "src" / "commonplace" / "__init__.py"))
    assert commonplace.build() == commonplace.__version__


def test_a_folder_that_only_looks_like_a_checkout_has_its_version_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(commonplace, "__file__", str(tmp_path / "src" / "commonplace" / "__init__.py"))
    assert commonplace.build() == commonplace.__version__


@pytest.mark.parametrize("program", ["commonplace.main", "commonplace.cn"])
def test_on_windows_the_first_line_says_that_wsl_is_needed(program: str) -> None:
    code = f"import sys; sys.platform = 'win32'; from {program} import main; sys.exit(main(['search', 'tea']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "commonplace runs on Linux and macOS; on Windows install and run it in WSL.\n"
