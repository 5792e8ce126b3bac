"""The virtual environment of a checkout, as `make setup` makes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_an_environment_that_was_cut_off_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "setup.py", tmp_path / "tools")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True, timeout=500)
    make = "import setup; setup._make_venv()"
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path / "tools", check=True, timeout=500)
    assert (tmp_path / ".venv" / "bin" / "pip").exists()


def test_an_environment_that_is_a_link_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    checkout = tmp_path / "checkout"
    (checkout / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "setup.py", checkout / "tools")
    for lock in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / lock, checkout)
    (checkout / ".venv").symlink_to(other)
    done = subprocess.run(
        [sys.executable, checkout / "tools" / "setup.py"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "setup: .venv is a link" in done.stderr) == (1, True), done.stderr
    assert [path.name for path in other.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("arguments", "first"), [([], "/opt/python/bin/python3.13"), (["PYTHON=python3.12"], "python3.12")]
)
def test_an_environment_stays_with_its_python_unless_another_is_named(
    tmp_path: Path, arguments: list[str], first: str
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /opt\nexecutable = /opt/python/bin/python3.13\n")
    steps = subprocess.run(
        ["make", "-n", "setup", *arguments], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert f"for python in {first}" in steps.stdout
